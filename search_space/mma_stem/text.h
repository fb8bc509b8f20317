// The fixed text of an mma_stem kernel, in the order in which it is put together.
#pragma once

namespace warpwright::mma_stem {

extern const char* const kPlacesText;         // who this thread is
extern const char* const kTapsText;           // where its taps lie in the input of a tile
extern const char* const kPatchPlacesText;    // for_patch(tile, what): the vectors that this thread copies
extern const char* const kAsyncPatchText;     // begin_patch(tile, stage), end_patch(stage), await_patch()
extern const char* const kHeldPatchText;      // the same through registers
extern const char* const kAsyncWeightsText;   // weights to shared memory
extern const char* const kCopyWeightsText;    // the same through registers
extern const char* const kSharedWeightsText;  // weights_at(), told anew to each pass, lest the compiler hold them
extern const char* const kGlobalWeightsText;
extern const char* const kReadWeightsText;  // read_b(to, from, step)
extern const char* const kHeldWeightsText;  // load_b(to, from, step), from registers
extern const char* const kMultiplyText;     // multiply_pass(sums, x_sums, pixels_at)
extern const char* const kStoreText;        // store_pass(sums, x_sums, tile, unit)
extern const char* const kTilesText;        // the loop over tiles

}  // namespace warpwright::mma_stem
