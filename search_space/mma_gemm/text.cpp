// The fixed text of an mma_gemm kernel.
#include "search_space/mma_gemm/text.h"

namespace warpwright::mma_gemm {

const char* const kPlacesText = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_m = warp % kWarpsM, warp_n = warp / kWarpsM % kWarpsN, slice = warp / (kWarpsM * kWarpsN);
  const int group = blockIdx.y, first_pixel = 0, first_channel = group * kColumns + n_tile * kTileN;
  const int packed_column = (group * kNTiles + n_tile) * kTileN;
  const int k_first = blockIdx.z * kSplitTiles;
  const int k_tiles = kKTiles % kSplitTiles == 0 ? kSplitTiles : min(kSplitTiles, kKTiles - k_first);
  const unsigned smem_at = shared_address(smem);
  const unsigned copy_column = threadIdx.x % kRowVectors * kVector, copy_row = threadIdx.x / kRowVectors;
  unsigned long long weights_from =
      global_address(weights) +
      (static_cast<long long>((group * kNTiles + n_tile) * kKTiles + k_first) * (kTileN * kTileK) + threadIdx.x * 16);
)";

const char* const kRowsText = R"(
  unsigned long long row_at[kXLoads];
#pragma unroll
  for (int i = 0; i < kXLoads; ++i) {
    // Rows past the last are the last again, and never stored.
    const unsigned m = min(m_tile * kTileM + copy_row + i * kRowStep, kRows - 1u);
    const int q = m % kQ, p = m / kQ % kP, n = m / (kP * kQ);
    const int h = p * kStrideH - kPadTop, w = q * kStrideW - kPadLeft;
    const long long pixel = (n * kH + h) * kW + w;
    row_at[i] = global_address(x) + (pixel * kXStride + (kXOffset + group * kGroupChannels));
    if constexpr (kWholeTaps) row_at[i] += copy_column;
)";

const char* const kRowCoordinatesText = R"(
    row_h[i] = h, row_w[i] = w;
)";

const char* const kDestinationsText = R"(
  const unsigned x_to = smem_at + place_in_tile<kTileK>(copy_row, copy_column / 16) + copy_column % 16;
  const unsigned weights_to = smem_at + kXTileBytes + threadIdx.x * 16;
  int k_tile = k_first;
)";

const char* const kAsyncCopiesText = R"(
  auto copy_tile = [&](unsigned stage) {{
{}#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {{
      if (kTileM % kRowStep == 0 || copy_row + i * kRowStep < kTileM) {{
        const unsigned to = (x_to ^ (swizzle<kTileK>(i * kRowStep) * 16)) + (stage + i * (kRowStep * kTileK));
        {}
      }}
    }}
#pragma unroll
    for (int i = 0; i < kWeightLoads; ++i) {{
      if (kWeightChunks % kThreads == 0 || threadIdx.x + i * kThreads < kWeightChunks) {{
        copy_async<16>(weights_to + stage + i * (kThreads * 16), weights_from + i * (kThreads * 16));
      }}
    }}
    weights_from += kTileN * kTileK;
    ++k_tile;
  }};
)";

const char* const kHeldCopiesText = R"(
  int x_held[kXLoads][kVector / 4], weights_held[kWeightLoads][4];
  auto load_tile = [&]() {{
{}#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {{
#pragma unroll
      for (int j = 0; j < kVector / 4; ++j) x_held[i][j] = fill;
      {}
    }}
#pragma unroll
    for (int i = 0; i < kWeightLoads; ++i) {{
      load_words(weights_held[i], weights_from + i * (kThreads * 16),
                 kWeightChunks % kThreads == 0 || threadIdx.x + i * kThreads < kWeightChunks);
    }}
    weights_from += kTileN * kTileK;
    ++k_tile;
  }};
  auto store_tile = [&](unsigned stage) {{
#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {{
      if (kTileM % kRowStep == 0 || copy_row + i * kRowStep < kTileM) {{
        store_words((x_to ^ (swizzle<kTileK>(i * kRowStep) * 16)) + (stage + i * (kRowStep * kTileK)), x_held[i]);
      }}
    }}
#pragma unroll
    for (int i = 0; i < kWeightLoads; ++i) {{
      if (kWeightChunks % kThreads == 0 || threadIdx.x + i * kThreads < kWeightChunks) {{
        store_words(weights_to + stage + i * (kThreads * 16), weights_held[i]);
      }}
    }}
  }};
)";

const char* const kMultiplyText = R"(
  int sums[kWarpM / 16][kWarpN / 8][4] = {};
  int row_sums[kWarpM / 16][4] = {};
  Fragments<kWarpM, kWarpN> fragments[kFragmentBuffers];
  const unsigned a_first = smem_at + a_place<kTileK>(warp_m * kWarpM, slice * kSteps);
  const unsigned b_first = smem_at + kXTileBytes + b_place<kTileK>(warp_n * kWarpN, slice * kSteps);
  auto load_step = [&](unsigned stage, int step) {
    load_fragments<kTileK>(fragments[step % kFragmentBuffers], (a_first + stage) ^ (step * 32),
                           (b_first + stage) ^ (step * 32));
  };
  auto multiply_step = [&](int step) {
    multiply_fragments(sums, fragments[step % kFragmentBuffers]);
    if constexpr (kRowSums) sum_rows(row_sums, fragments[step % kFragmentBuffers]);
  };
  // All steps of a stage; its first fragments are there already.
  auto multiply_stage = [&](unsigned stage) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (kFragmentBuffers == 2 && step + 1 < kSteps) load_step(stage, step + 1);
      if (kFragmentBuffers == 1 && step > 0) load_step(stage, step);
      multiply_step(step);
    }
  };
)";

const char* const kAsyncLoopText = R"(
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {{
    if (s < k_tiles) copy_tile(s * kStageBytes);
    commit_copies();
  }}
  unsigned read = 0, write = (kStages - 1) * kStageBytes;
#pragma unroll {0}
  for (int t = 0; t < k_tiles; ++t) {{
    wait_copies<kStages - 2>();
    __syncthreads();
    load_step(read, 0);
    if (t + (kStages - 1) < k_tiles) copy_tile(write);
    commit_copies();
    multiply_stage(read);
    write = read;
    read = read == (kStages - 1) * kStageBytes ? 0 : read + kStageBytes;
  }}
)";

const char* const kAsyncDoubleLoopText = R"(
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {{
    if (s < k_tiles) copy_tile(s * kStageBytes);
    commit_copies();
  }}
  unsigned read = 0, write = (kStages - 1) * kStageBytes;
  wait_copies<kStages - 2>();
  __syncthreads();
  load_step(read, 0);
#pragma unroll {0}
  for (int t = 0; t < k_tiles; ++t) {{
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {{
      if (step + 1 < kSteps) load_step(read, step + 1);
      if (step == 0) {{
        if (t + (kStages - 1) < k_tiles) copy_tile(write);
        commit_copies();
      }}
      if (step + 1 == kSteps) {{
        write = read;
        read = read == (kStages - 1) * kStageBytes ? 0 : read + kStageBytes;
        if (t + 1 < k_tiles) {{
          wait_copies<kStages - 2>();
          __syncthreads();
          load_step(read, 0);
        }}
      }}
      multiply_step(step);
    }}
  }}
)";

const char* const kSingleStageLoopText = R"(
  load_tile();
#pragma unroll {0}
  for (int t = 0; t < k_tiles; ++t) {{
    if (t > 0) __syncthreads();
    store_tile(0);
    __syncthreads();
    if (t + 1 < k_tiles) load_tile();
    load_step(0, 0);
    multiply_stage(0);
  }}
)";

const char* const kDoubleStageLoopText = R"(
  load_tile();
  store_tile(0);
  __syncthreads();
  unsigned stage = 0;
#pragma unroll {0}
  for (int t = 1; t < k_tiles; ++t) {{
    load_tile();
    load_step(stage, 0);
    multiply_stage(stage);
    stage = kStageBytes - stage;
    store_tile(stage);
    __syncthreads();
  }}
  load_step(stage, 0);
  multiply_stage(stage);
)";

const char* const kOtherPadsText = R"(
  if (group == 0 && n_tile == 0) {
#pragma unroll 1
    for (int unit = threadIdx.x; unit < kTileM * kOtherPads; unit += kThreads) {
      const int m = m_tile * kTileM + unit / kOtherPads;
      if (m < kRows) *output_at(m, kK + unit % kOtherPads) = pad_code;
    }
  }
)";

}  // namespace warpwright::mma_gemm
