// The fixed text of a mma_swapped kernel.
#include "search_space/mma_swapped/text.h"

namespace warpwright::mma_swapped {

const char* const kPlacesText = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_n = warp / kWarpsK, warp_k = warp % kWarpsK;
  const int first_k = warp_k * 64 + lane % 4 * 16;
  const int split_k = kSplits > 1 ? static_cast<int>(blockIdx.z) * kSplitBytes : 0;
  const unsigned char* const weights_from =
      weights +
      (static_cast<long long>((n_tile * kWarpsN + warp_n) * kSplits + static_cast<int>(blockIdx.z)) * (kSteps * kWarpsK) +
       warp_k) * kWarpBytes +
      lane * 16;
)";

const char* const kSharedXText = R"(
  const unsigned char* const x_from = smem + kRingBytes + lane / 4 * kXRowBytes + first_k;
  auto x_of = [&](int row_tile, int step) {
    return *reinterpret_cast<const int4*>(x_from + step * kStepBytes + row_tile * (8 * kXRowBytes));
  };
)";

const char* const kDirectXText = R"(
  const unsigned char* const x_from =
      x + (static_cast<long long>(m_tile * kTileM + lane / 4) * kXStride + (kXOffset + split_k + first_k));
  auto x_of = [&](int row_tile, int step) {
    const unsigned char* const at = x_from + (static_cast<long long>(row_tile * 8) * kXStride + step * kStepBytes);
    if constexpr (kRows % kTileM == 0 && kReduction % (kSplits * kSplitBytes) == 0) {
      return *reinterpret_cast<const int4*>(at);
    } else {
      int words[4] = {};
      load_words(words, global_address(at),
                 (m_tile * kTileM + row_tile * 8 + lane / 4 < kRows) &
                     (split_k + step * kStepBytes + first_k < kReduction));
      return make_int4(words[0], words[1], words[2], words[3]);
    }
  };
)";

const char* const kMultiplyText = R"(
  int sums[kWarpTiles][kRowTiles][4] = {};
  int x_sums[kRowTiles][4] = {};
  auto multiply_step = [&](const int4 (&by)[kHalves], int step) {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      const int4 codes = x_of(r, step);
      const unsigned first[2] = {static_cast<unsigned>(codes.x), static_cast<unsigned>(codes.y)};
      const unsigned second[2] = {static_cast<unsigned>(codes.z), static_cast<unsigned>(codes.w)};
      if constexpr (kWeightZeroPoint) {
        const unsigned ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
        multiply(x_sums[r], ones, first);
        multiply(x_sums[r], ones, second);
      }
#pragma unroll
      for (int i = 0; i < kWarpTiles; ++i) {
        const int4 low = by[2 * i], high = by[2 * i + 1];
        const unsigned one[4] = {static_cast<unsigned>(low.x), static_cast<unsigned>(high.x),
                                 static_cast<unsigned>(low.y), static_cast<unsigned>(high.y)};
        const unsigned two[4] = {static_cast<unsigned>(low.z), static_cast<unsigned>(high.z),
                                 static_cast<unsigned>(low.w), static_cast<unsigned>(high.w)};
        multiply(sums[i][r], one, first);
        multiply(sums[i][r], two, second);
      }
    }
  };
)";

const char* const kLoopText = R"(
#pragma unroll 1
  for (int step = 0;;) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      if (kSteps % kDepth == 0 || step + d < kSteps) multiply_step(held[d], step + d);
    }
    step += kDepth;
    if (step >= kSteps) break;
    load_weights(held, step);
  }
)";

const char* const kPrefetchLoopText = R"(
#pragma unroll 2
  for (int step = 0; step < kSteps; step += kDepth) {
    int4 next[kDepth][kHalves];
    if (step + kDepth < kSteps) load_weights(next, step + kDepth);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      if (kSteps % kDepth == 0 || step + d < kSteps) multiply_step(held[d], step + d);
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
#pragma unroll
      for (int j = 0; j < kHalves; ++j) held[d][j] = next[d][j];
    }
  }
)";

const char* const kCopyText = R"(
  unsigned char* const ring = smem + warp * kWarpBytes + lane * 16;
  const unsigned ring_at = static_cast<unsigned>(__cvta_generic_to_shared(ring));
  const unsigned long long copied_from = global_address(weights_from);
  // A group of its own for each step, also past the last one, so that groups can be counted.
  auto copy_step = [&](int step, int place) {
    if (step < kSteps) {
#pragma unroll
      for (int j = 0; j < kHalves; ++j) {
        copy_async<16>(ring_at + place * (kWarps * kWarpBytes) + j * 512,
                       copied_from + static_cast<WeightOffset>(step) * (kWarpsK * kWarpBytes) + j * 512);
      }
    }
    commit_copies();
  };
#pragma unroll
  for (int d = 0; d < kDepth; ++d) copy_step(d, d);
)";

const char* const kCopyLoopText = R"(
  int place = 0;
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
    wait_copies<kDepth - 1>();
    int4 held[kHalves];
#pragma unroll
    for (int j = 0; j < kHalves; ++j) {
      held[j] = *reinterpret_cast<const int4*>(ring + place * (kWarps * kWarpBytes) + j * 512);
    }
    multiply_step(held, step);
    copy_step(step + kDepth, place);
    place = place == kDepth - 1 ? 0 : place + 1;
  }
)";

const char* const kPartsText = R"(
  int* const parts = reinterpret_cast<int*>(smem);
  if constexpr (!kDirectX || kRingBytes > 0) __syncthreads();
#pragma unroll
  for (int i = 0; i < kWarpTiles; ++i) {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = r * 8 + lane % 4 * 2 + e % 2, column = warp_n * kHalves * 8 + i * 16 + e / 2 * 8 + lane / 4;
        parts[(warp_k * kTileM + row) * kReduceStride + column] = sums[i][r][e];
      }
    }
  }
)";

const char* const kFinishSplitsText = R"(
  const long long tile_at = static_cast<long long>(blockIdx.x) * kSplits;
  for_each_unit([&](int row, int column) {
    int total[kStoreLanes] = {};
    sum_of_parts(total, row, column);
    store_values(workspace + ((tile_at + blockIdx.z) * kTileM + row) * kTileN + column, total);
  });
  if (!comes_last(counters + blockIdx.x, kSplits, smem)) return;
  for_each_unit([&](int row, int column) {
    int total[kStoreLanes] = {};
#pragma unroll 4
    for (int split = 0; split < kSplits; ++split) {
      int some[kStoreLanes];
      load_volatile(some, workspace + ((tile_at + split) * kTileM + row) * kTileN + column);
#pragma unroll
      for (int i = 0; i < kStoreLanes; ++i) total[i] += some[i];
    }
    finish_unit(total, row, column);
  });
)";

}  // namespace warpwright::mma_swapped
