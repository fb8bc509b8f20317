// The fixed text of an mma_gemm kernel, in the order in which it is put together.
#pragma once

namespace warpwright::mma_gemm {

extern const char* const kPlacesText;          // who this thread is
extern const char* const kRowsText;            // rows to copy: addresses
extern const char* const kRowCoordinatesText;  // or coordinates, for more than 32 taps
extern const char* const kDestinationsText;    // where copies go
extern const char* const kAsyncCopiesText;     // copy_tile: a format string for the place in K and the copy of a vector
extern const char* const kHeldCopiesText;      // load_tile and store_tile: the same by way of registers
extern const char* const kMultiplyText;        // load_step, multiply_step, multiply_stage
extern const char* const kAsyncLoopText;       // the loops over K; format strings for the unroll factor
extern const char* const kAsyncDoubleLoopText;
extern const char* const kSingleStageLoopText;
extern const char* const kDoubleStageLoopText;
extern const char* const kOtherPadsText;

}  // namespace warpwright::mma_gemm
