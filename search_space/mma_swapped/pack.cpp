// Weights of a mma_swapped kernel: [n_tile][warp_n][split][step][warp_k][8 channels][lane][16 bytes of K]: what a lane
// holds of both halves of each 16 channels, so that each load of a warp is one linear read.
#include "search_space/mma_swapped/plan.h"

namespace warpwright::mma_swapped {

Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values) {
  const int64_t slices = plan.splits * plan.steps * plan.warps_k;
  Tensor packed(workload.weight_dtype, {plan.packed_columns() * slices * kStepBytes});
  std::byte* to = packed.bytes.data();
  for (int64_t warp = 0; warp < plan.cut.n_tiles * plan.warps_n; ++warp) {
    for (int64_t slice = 0; slice < slices; ++slice) {
      for (int64_t half = 0; half < 2 * plan.warp_tiles; ++half) {
        for (int64_t lane = 0; lane < 32; ++lane, to += few_rows::kVectorBytes) {
          const int64_t position = (warp * 2 * plan.warp_tiles + half) * (kTileChannels / 2) + lane / 4;
          const int64_t k = slice * kStepBytes + lane % 4 * few_rows::kVectorBytes;
          few_rows::copy_weights(workload, plan.shape, values, plan.channel_at(position), k, to);
        }
      }
    }
  }
  return packed;
}

}  // namespace warpwright::mma_swapped
