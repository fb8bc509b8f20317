// The fixed text of a real_gemm kernel, in the order in which it is put together.
#pragma once

namespace warpwright::real_gemm {

extern const char* const kFunctionsText;      // vectors of floats, places in a tile
extern const char* const kMultiplyText;       // the products of a tile of K; format strings for the unroll factor
extern const char* const kMultiplyRunsText;   // the same for run_k > 1
extern const char* const kPlacesText;         // who this thread is
extern const char* const kPackedText;         // where an operand is copied from and to; format strings for its letter
extern const char* const kRowsText;           // the same: matrix, pointer, rows and first row follow
extern const char* const kMatrixColumnsText;  // the same of columns of a matrix, and of pixels
extern const char* const kPixelColumnsText;
extern const char* const kPixelCoordinatesText;
extern const char* const kCopiesText;     // a format string: letter, statements of a row of copies, guard, the copy
extern const char* const kAsyncLoopText;  // the loops over K
extern const char* const kSingleStageLoopText;
extern const char* const kDoubleStageLoopText;
extern const char* const kEpilogueText;  // a format string: bias of rows, of columns, of an output

}  // namespace warpwright::real_gemm
