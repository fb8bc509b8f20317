// The fixed text of a stem kernel.
#include "search_space/stem/text.h"

namespace warpwright::stem {

const char* const kPlacesText = R"(
  const unsigned block = blockIdx.x;
  const int c_block = block % kCBlocks, w_block = block / kCBlocks % kWBlocks;
  const int h_block = block / (kCBlocks * kWBlocks) % kHBlocks, image = block / (kCBlocks * kWBlocks * kHBlocks);
  const int thread_c = threadIdx.x % kBlockC, thread_w = threadIdx.x / kBlockC % kBlockW;
  const int thread_h = threadIdx.x / (kBlockC * kBlockW);
  const int k_first = c_block * kTileChannels + thread_c * kChannels;
  const int p = h_block * kBlockH + thread_h, q_first = (w_block * kBlockW + thread_w) * kRunW;
)";

const char* const kCopyTileText = R"(
  {
    const int h = h_block * (kBlockH * kStrideH) - kPadTop, w = w_block * (kBlockW * kRunW * kStrideW) - kPadLeft;
#pragma unroll 4
    for (int pixel = threadIdx.x; pixel < kTileRows * kTileCols; pixel += kThreads) {
      const int row = h + pixel / kTileCols, column = w + pixel % kTileCols;
      const int at = (image * kH + row) * kW + column;
      int word[1] = {fill};
      load_words(word, global_address(x) + static_cast<long long>(at) * 4,
                 (static_cast<unsigned>(row) < kH) & (static_cast<unsigned>(column) < kW));
      reinterpret_cast<int*>(smem)[pixel] = word[0];
    }
  }
)";

const char* const kCopyWeightsText = R"(
#pragma unroll 4
  for (int vector = threadIdx.x; vector < kWeightBytes / 16; vector += kThreads) {
    reinterpret_cast<int4*>(smem + kTileBytes)[vector] =
        reinterpret_cast<const int4*>(weights)[c_block * (kWeightBytes / 16) + vector];
  }
)";

const char* const kSharedWeightsText = R"(
  const int* const weights_at = reinterpret_cast<const int*>(smem + kTileBytes) + thread_c * kChannels;
)";

const char* const kDirectWeightsText = R"(
  const int* const weights_at =
      reinterpret_cast<const int*>(weights) + c_block * (kWeightBytes / 4) + thread_c * kChannels;
)";

const char* const kRowLoopText = R"(
  int sums[kRunW][kChannels] = {{}};
  int x_sums[kRunW] = {{}};
  const int* const pixels_at =
      reinterpret_cast<const int*>(smem) + thread_h * (kStrideH * kTileCols) + thread_w * (kRunW * kStrideW);
#pragma unroll {0}
  for (int r = 0; r < kKernelH; ++r) {{
    int words[kInCols];
    if constexpr (kWordVector == 4) {{
      load_values(words, pixels_at + r * (kDilationH * kTileCols));
    }} else {{
#pragma unroll
      for (int i = 0; i < kInCols; ++i) words[i] = pixels_at[r * (kDilationH * kTileCols) + i];
    }}
#pragma unroll
    for (int s = 0; s < kKernelW; ++s) {{
      if constexpr (kWeightZeroPoint) {{
#pragma unroll
        for (int w = 0; w < kRunW; ++w) x_sums[w] = sum4(words[w * kStrideW + s * kDilationW], x_sums[w]);
      }}
#pragma unroll
      for (int c = 0; c < kChannels; c += 4) {{
        int tap[4];
        load_values(tap, weights_at + (r * kKernelW + s) * kTileChannels + c);
#pragma unroll
        for (int w = 0; w < kRunW; ++w) {{
#pragma unroll
          for (int i = 0; i < 4; ++i) {{
            sums[w][c + i] = dot4(words[w * kStrideW + s * kDilationW], tap[i], sums[w][c + i]);
          }}
        }}
      }}
    }}
  }}
)";

const char* const kEpilogueText = R"(
#pragma unroll
  for (int c = 0; c < kChannels; c += kStoreLanes) {
    const int k = k_first + c;
    if (k < kCoveredLanes && p < kP) {
      int bias_of[kStoreLanes], zero_point_of[kStoreLanes] = {};
      float multiplier_of[kStoreLanes];
      load_bias(bias_of, k);
      load_multipliers(multiplier_of, k);
      load_zero_points(zero_point_of, k);
#pragma unroll
      for (int w = 0; w < kRunW; ++w) {
        if (q_first + w < kQ) {
          int total[kStoreLanes];
#pragma unroll
          for (int i = 0; i < kStoreLanes; ++i) total[i] = sums[w][c + i] - zero_point_of[i] * x_sums[w];
          finish(total, bias_of, multiplier_of, (image * kP + p) * kQ + q_first + w, k);
        }
      }
    }
  }
)";

}  // namespace warpwright::stem
