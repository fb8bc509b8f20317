// Weights of a dp4a_gemm kernel: [group][n_tile][k_tile][row][tile_k], each K tile one linear copy.
#include "search_space/arithmetic.h"
#include "search_space/dp4a_gemm/plan.h"
#include "search_space/product_epilogue.h"
#include "src/core/error.h"

namespace warpwright::dp4a_gemm {

Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values) {
  const auto found = values.find("weights");
  if (found == values.end()) throw InternalError("value 'weights' is missing");
  const std::byte* const weights = found->second.bytes.data();
  const int64_t length = workload.reduction_size(), channels = plan.shape.group_channels;
  const int64_t tile_bytes = plan.tile_n * plan.tile_k;
  Tensor packed(workload.weight_dtype, {plan.shape.groups * plan.n_tiles * plan.k_tiles * tile_bytes});
  for (int64_t position = 0; position < plan.packed_columns(); ++position) {
    const int64_t channel = plan.channel_at(position);
    if (channel < 0) continue;
    const auto pad = static_cast<std::byte>(weight_zero_point_of(workload, values, channel));
    const int64_t column = position % plan.tile_n;
    // A thread's columns are neighbours in the output, and threads_n rows apart in the tile.
    const int64_t row = column % plan.thread_n * plan.threads_n + column / plan.thread_n;
    std::byte* const tiles = packed.bytes.data() + position / plan.tile_n * plan.k_tiles * tile_bytes;
    for (int64_t k = 0; k < plan.k_tiles * plan.tile_k; ++k) {
      const int64_t tap = k / plan.lane_channels, c = k % plan.lane_channels;
      const bool real = tap < plan.shape.taps && c < channels;
      tiles[k / plan.tile_k * tile_bytes + row * plan.tile_k + k % plan.tile_k] =
          real ? weights[channel * length + tap * channels + c] : pad;
    }
  }
  return packed;
}

}  // namespace warpwright::dp4a_gemm
