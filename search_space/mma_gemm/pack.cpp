// Weights of an mma_gemm kernel: [group][n_tile][k_tile][row][tile_k], each K tile one linear, swizzled copy.
#include <algorithm>

#include "search_space/mma/instructions.h"
#include "search_space/mma_gemm/plan.h"
#include "search_space/product_epilogue.h"
#include "src/core/error.h"

namespace warpwright::mma_gemm {

namespace {

/// Tap (behind the last one: padding) and channel of a byte of a K tile.
struct PlaceInK {
  int64_t tap, channel;
};

PlaceInK place_in_k(const Plan& plan, int64_t k_tile, int64_t byte) {
  if (plan.taps_inner != 0) return {k_tile % plan.shape.taps, k_tile / plan.shape.taps * plan.tile_k + byte};
  const int64_t k = k_tile * plan.tile_k + byte;
  return {k / plan.shape.lane_channels, k % plan.shape.lane_channels};
}

}  // namespace

Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values) {
  const auto found = values.find("weights");
  if (found == values.end()) throw InternalError("value 'weights' is missing");
  const std::byte* const weights = found->second.bytes.data();
  const Shape& shape = plan.shape;
  const int64_t length = workload.reduction_size(), tile_bytes = plan.tile_n * plan.tile_k;
  Tensor packed(workload.weight_dtype, {shape.groups * plan.n_tiles * plan.k_tiles * tile_bytes});
  for (int64_t row = 0; row < plan.packed_columns(); ++row) {
    const int64_t channel = plan.channel_of_row(row);
    if (channel < 0) continue;
    const auto pad = static_cast<std::byte>(weight_zero_point_of(workload, values, channel));
    const std::byte* const from = weights + channel * length;
    std::byte* const tiles = packed.bytes.data() + row / plan.tile_n * plan.k_tiles * tile_bytes;
    const int64_t in_tile = row % plan.tile_n, swizzle = mma::swizzle(plan.tile_k, in_tile);
    for (int64_t k_tile = 0; k_tile < plan.k_tiles; ++k_tile) {
      std::byte* const to = tiles + k_tile * tile_bytes + in_tile * plan.tile_k;
      // Four bytes never straddle two taps.
      for (int64_t byte = 0; byte < plan.tile_k; byte += 4) {
        const auto [tap, c] = place_in_k(plan, k_tile, byte);
        const int64_t at = (byte / kChunkBytes ^ swizzle) * kChunkBytes + byte % kChunkBytes;
        for (int64_t i = 0; i < 4; ++i) {
          const bool real = tap < shape.taps && c + i < shape.group_channels;
          to[at + i] = real ? from[tap * shape.group_channels + c + i] : pad;
        }
      }
    }
  }
  return packed;
}

}  // namespace warpwright::mma_gemm
