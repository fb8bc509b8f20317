// The fixed text of a mma_swapped kernel, in the order in which it is put together.
#pragma once

namespace warpwright::mma_swapped {

extern const char* const kPlacesText;   // who this thread is
extern const char* const kSharedXText;  // x_of(row_tile, step), 16 bytes
extern const char* const kDirectXText;
extern const char* const kMultiplyText;      // multiply_step: one step
extern const char* const kLoopText;          // the loop over K: `depth` steps at a time
extern const char* const kPrefetchLoopText;  // the same, the next weights on their way meanwhile
extern const char* const kCopyText;          // copy_step: one step's weights to this lane's place in the ring
extern const char* const kCopyLoopText;      // the loop over K with the ring
extern const char* const kPartsText;         // the sums of this warp into shared memory
extern const char* const kFinishSplitsText;  // the last CTA of a tile adds what all have left in the workspace

}  // namespace warpwright::mma_swapped
