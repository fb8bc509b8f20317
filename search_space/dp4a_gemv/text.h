// The fixed text of a dp4a_gemv kernel, in the order in which it is put together.
#pragma once

namespace warpwright::dp4a_gemv {

extern const char* const kFoldLanesText;  // before the kernel: fold_lanes, the sum over the lanes that share K
extern const char* const kPlacesText;     // who this thread is
extern const char* const kSharedXText;    // x_of(row, step), 16 bytes
extern const char* const kDirectXText;
extern const char* const kMultiplyText;      // multiply: what load_weights brought
extern const char* const kLoopText;          // the loop over K
extern const char* const kPrefetchLoopText;  // the same, the next weights on their way meanwhile
extern const char* const kPartsText;         // the sums of this warp into shared memory

}  // namespace warpwright::dp4a_gemv
