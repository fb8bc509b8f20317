// The fixed text of an mma_matmul kernel.
#pragma once

namespace warpwright::mma_matmul {

/// Device functions: copies of parts of a chunk, the byte transpose, where a row of shared memory lies in a tile.
extern const char* const kFunctionsText;
extern const char* const kPlacesText;
/// An operand by rows along K; {0} is a or b, {1} A or B, {2} the parameter, {3} the row of the tensor for row `row` of
/// the tile. Then its copies: by cp.async, or held in registers between load and store.
extern const char* const kRowsText;
extern const char* const kRowsAsyncText;
extern const char* const kRowsHeldText;
/// b by rows along N: each thread holds 16 rows of 4 columns and stores them transposed.
extern const char* const kColumnsText;
extern const char* const kMultiplyText;
/// {0}, {1}, {2}: copies by cp.async, loads, stores of one tile to `stage`; {3}, {4}: commit and wait, if any.
extern const char* const kLoopText;
/// {0}: what each sum loses for a zero point.
extern const char* const kZeroPointsText;

}  // namespace warpwright::mma_matmul
