// The fixed text of a depthwise kernel.
#include "search_space/depthwise/text.h"

namespace warpwright::depthwise {

const char* const kHelpersText = R"(
// Four words of four channels each, of four pixels, become four words of four pixels each.
__device__ __forceinline__ void transpose(int (&to)[4], int a, int b, int c, int d) {
  const int low = __byte_perm(a, b, 0x5140), low2 = __byte_perm(c, d, 0x5140);
  const int high = __byte_perm(a, b, 0x7362), high2 = __byte_perm(c, d, 0x7362);
  to[0] = __byte_perm(low, low2, 0x5410);
  to[1] = __byte_perm(low, low2, 0x7632);
  to[2] = __byte_perm(high, high2, 0x5410);
  to[3] = __byte_perm(high, high2, 0x7632);
}
template <int kCount>
__device__ __forceinline__ void copy_words(int (&to)[kCount], const unsigned char* from) {
  if constexpr (kCount == 4) {
    const int4 four = *reinterpret_cast<const int4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  } else if constexpr (kCount == 2) {
    const int2 two = *reinterpret_cast<const int2*>(from);
    to[0] = two.x, to[1] = two.y;
  } else {
    to[0] = *reinterpret_cast<const int*>(from);
  }
}
// Whether filter row `r` = offset / kDilationH meets an input row `offset` rows below the output's first.
__device__ __forceinline__ constexpr bool is_tap_row(int offset) {
  return offset >= 0 && offset % kDilationH == 0 && offset / kDilationH < kKernelH;
}
__device__ __forceinline__ constexpr bool is_used_row(int row) {
  for (int h = 0; h < kRunH; ++h) {
    if (is_tap_row(row - h * kStrideH)) return true;
  }
  return false;
}
__device__ __forceinline__ constexpr bool is_used_column(int column) {
  for (int w = 0; w < kRunW; ++w) {
    const int offset = column - w * kStrideW;
    if (offset >= 0 && offset % kDilationW == 0 && offset / kDilationW < kKernelW) return true;
  }
  return false;
}
)";

const char* const kPlacesText = R"(
  const unsigned block = blockIdx.x;
  const int c_block = block % kCBlocks, w_block = block / kCBlocks % kWBlocks;
  const int h_block = block / (kCBlocks * kWBlocks) % kHBlocks;
  const int image = block / (kCBlocks * kWBlocks * kHBlocks) % kImages;
  const int part = block / (kCBlocks * kWBlocks * kHBlocks * kImages);
  const int thread_c = threadIdx.x % kBlockC, thread_w = threadIdx.x / kBlockC % kBlockW;
  const int thread_h = threadIdx.x / (kBlockC * kBlockW);
  const int c = c_block * kTileChannels + thread_c * kChannels;
  const int p_first = (h_block * kBlockH + thread_h) * kRunH, q_first = (w_block * kBlockW + thread_w) * kRunW;
  int sums[kRunH][kRunW][kChannels][kPart] = {};
  int x_sums[kRunH][kRunW / kGroup][kChannels] = {};
  const int4* const weights_at = reinterpret_cast<const int4*>(weights) + c / 4 * kWeightVectors + part;
)";

const char* const kCopyTileText = R"(
  {
    const int h = h_block * (kBlockH * kRunH * kStrideH) - kPadTop, w = w_block * (kBlockW * kRunW * kStrideW) - kPadLeft;
    constexpr int kPixelVectors = kTileChannels / kCopyVector, kVectors = kTileRows * kTileCols * kPixelVectors;
#pragma unroll 4
    for (int vector = threadIdx.x; vector < kVectors; vector += kThreads) {
      const int lane = c_block * kTileChannels + vector % kPixelVectors * kCopyVector;
      const int column = w + vector / kPixelVectors % kTileCols, row = h + vector / (kPixelVectors * kTileCols);
      const long long pixel = (image * kH + row) * kW + column;
      int words[kCopyVector / 4];
#pragma unroll
      for (int i = 0; i < kCopyVector / 4; ++i) words[i] = fill;
      load_words(words, global_address(x) + (pixel * kXStride + (kXOffset + lane)),
                 (static_cast<unsigned>(row) < kH) & (static_cast<unsigned>(column) < kW) & (lane < kC));
      unsigned char* const to = smem + vector * kCopyVector;
      if constexpr (kCopyVector == 16) {
        *reinterpret_cast<int4*>(to) = make_int4(words[0], words[1], words[2], words[3]);
      } else if constexpr (kCopyVector == 8) {
        *reinterpret_cast<int2*>(to) = make_int2(words[0], words[1]);
      } else {
        *reinterpret_cast<int*>(to) = words[0];
      }
    }
  }
  __syncthreads();
)";

const char* const kGlobalSourceText = R"(
  const int h_first = p_first * kStrideH - kPadTop, w_first = q_first * kStrideW - kPadLeft;
  unsigned columns = 0;
#pragma unroll
  for (int i = 0; i < kInCols; ++i) columns |= static_cast<unsigned>(w_first + i) < kW ? 1u << i : 0u;
  if (c >= kC) columns = 0;
  const long long first_pixel = (image * kH + h_first) * kW + w_first;
  const unsigned long long x_at = global_address(x) + (first_pixel * kXStride + (kXOffset + c));
  auto load_row = [&](int (&words)[kInCols][kWords], int row) {
    const unsigned valid = static_cast<unsigned>(h_first + row) < kH ? columns : 0u;
    const unsigned long long row_at = x_at + row * static_cast<long long>(kW * kXStride);
#pragma unroll
    for (int i = 0; i < kInCols; ++i) {
#pragma unroll
      for (int j = 0; j < kWords; ++j) words[i][j] = fill;
      if (is_used_column(i)) load_words(words[i], row_at + i * kXStride, valid & (1u << i));
    }
  };
)";

const char* const kSharedSourceText = R"(
  const unsigned char* const tile_at =
      smem + ((thread_h * (kRunH * kStrideH) * kTileCols + thread_w * (kRunW * kStrideW)) * kTileChannels +
              thread_c * kChannels);
  auto load_row = [&](int (&words)[kInCols][kWords], int row) {
#pragma unroll
    for (int i = 0; i < kInCols; ++i) copy_words(words[i], tile_at + (row * kTileCols + i) * kTileChannels);
  };
)";

const char* const kMaskedTapsText = R"(
  auto multiply_row = [&](const int (&words)[kInCols][kWords], int h, int r) {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
#pragma unroll
      for (int s = 0; s < kKernelW; ++s) {
#pragma unroll
        for (int m = 0; m < kPart; ++m) {
          const int4 tap = weights_at[word * kWeightVectors + (r * kKernelW + s) * kMultiplier + m];
          const int of_channel[4] = {tap.x, tap.y, tap.z, tap.w};
#pragma unroll
          for (int w = 0; w < kRunW; ++w) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              int& sum = sums[h][w][word * 4 + i][m];
              sum = dot4(words[w * kStrideW + s * kDilationW][word], of_channel[i], sum);
            }
          }
        }
        if constexpr (kWeightZeroPoint) {
#pragma unroll
          for (int w = 0; w < kRunW; ++w) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              int& sum = x_sums[h][w][word * 4 + i];
              sum = sum_lanes(words[w * kStrideW + s * kDilationW][word], 1 << (8 * i), sum);
            }
          }
        }
      }
    }
  };
)";

const char* const kTransposedTapsText = R"(
  int quads_of[kRunW / kGroup][kQuads][kWords][4];
  auto transpose_row = [&](const int (&words)[kInCols][kWords]) {
#pragma unroll
    for (int g = 0; g < kRunW / kGroup; ++g) {
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
#pragma unroll
        for (int word = 0; word < kWords; ++word) {
          const int first = g * kGroup * kStrideW + quad * 4 * kDilationW;
          int lanes[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int column = first + i * kDilationW;
            const bool used = column < kInCols && is_used_column(column);
            lanes[i] = words[used ? column : first][word];
          }
          transpose(quads_of[g][quad][word], lanes[0], lanes[1], lanes[2], lanes[3]);
        }
      }
    }
  };
  auto multiply_quads = [&](int h, int r) {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
#pragma unroll
        for (int w = 0; w < kGroup; ++w) {
#pragma unroll
          for (int m = 0; m < kPart; ++m) {
            const int4 taps = weights_at[word * kWeightVectors + ((r * kGroup + w) * kQuads + quad) * kMultiplier + m];
            const int of_channel[4] = {taps.x, taps.y, taps.z, taps.w};
#pragma unroll
            for (int g = 0; g < kRunW / kGroup; ++g) {
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                int& sum = sums[h][g * kGroup + w][word * 4 + i][m];
                sum = dot4(quads_of[g][quad][word][i], of_channel[i], sum);
              }
            }
          }
        }
        if constexpr (kWeightZeroPoint) {
#pragma unroll
          for (int g = 0; g < kRunW / kGroup; ++g) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              int& sum = x_sums[h][g][word * 4 + i];
              sum = sum4(quads_of[g][quad][word][i], sum);
            }
          }
        }
      }
    }
  };
)";

const char* const kRowLoopText = R"(
  // One output row a thread: a loop over filter rows. Several: a loop over input rows, each serving all that touch it.
  constexpr int kSteps = kRunH == 1 ? kKernelH : kInRows;
#pragma unroll {0}
  for (int step = 0; step < kSteps; ++step) {{
    const int row = kRunH == 1 ? step * kDilationH : step;
    if (kRunH > 1 && !is_used_row(row)) continue;
    int words[kInCols][kWords];
    load_row(words, row);
    {1}
#pragma unroll
    for (int h = 0; h < kRunH; ++h) {{
      if (kRunH == 1) {{
        {2}h, step);
      }} else if (is_tap_row(row - h * kStrideH)) {{
        {2}h, (row - h * kStrideH) / kDilationH);
      }}
    }}
  }}
)";

const char* const kEpilogueText = R"(
#pragma unroll
  for (int lane = 0; lane < kChannels * kPart; lane += kStoreLanes) {
    const int k = c * kPart + lane;
    if (k < kCoveredLanes) {
      int bias_of[kStoreLanes];
      float multiplier_of[kStoreLanes];
      load_bias(bias_of, k);
      load_values(multiplier_of, multiplier + k);
      int zero_point_of[kStoreLanes] = {};
      load_zero_points(zero_point_of, k);
#pragma unroll
      for (int h = 0; h < kRunH; ++h) {
#pragma unroll
        for (int w = 0; w < kRunW; ++w) {
          const int p = p_first + h, q = q_first + w;
          if (p < kP && q < kQ) {
            int total[kStoreLanes];
#pragma unroll
            for (int i = 0; i < kStoreLanes; ++i) {
              const int channel = (lane + i) / kPart;
              total[i] = sums[h][w][channel][(lane + i) % kPart] - zero_point_of[i] * x_sums[h][w / kGroup][channel];
            }
            finish(total, bias_of, multiplier_of, (image * kP + p) * kQ + q, k);
          }
        }
      }
    }
  }
)";

const char* const kPartEpilogueText = R"(
#pragma unroll
  for (int channel = 0; channel < kChannels; ++channel) {
    const int k = (c + channel) * kMultiplier + part;
    if (c + channel < kC) {
      int bias_of[1], zero_point_of[1] = {};
      float multiplier_of[1];
      load_bias(bias_of, k);
      load_values(multiplier_of, multiplier + k);
      load_zero_points(zero_point_of, k);
#pragma unroll
      for (int h = 0; h < kRunH; ++h) {
#pragma unroll
        for (int w = 0; w < kRunW; ++w) {
          const int p = p_first + h, q = q_first + w;
          if (p < kP && q < kQ) {
            const int total[1] = {sums[h][w][channel][0] - zero_point_of[0] * x_sums[h][w / kGroup][channel]};
            finish(total, bias_of, multiplier_of, (image * kP + p) * kQ + q, k);
          }
        }
      }
    }
  }
)";

const char* const kOtherPadsText = R"(
  if (c_block == 0 && part == 0) {
    constexpr int kColumns = kBlockW * kRunW, kPixels = kBlockH * kRunH * kColumns;
#pragma unroll 1
    for (int unit = threadIdx.x; unit < kPixels * kOtherPads; unit += kThreads) {
      const int at = kCoveredLanes + unit % kOtherPads;
      const int q = w_block * kColumns + unit / kOtherPads % kColumns;
      const int p = h_block * (kBlockH * kRunH) + unit / (kOtherPads * kColumns);
      if (p < kP && q < kQ) {
        y[static_cast<long long>((image * kP + p) * kQ + q) * kYStride + at] = static_cast<unsigned char>(pad_code);
      }
    }
  }
)";

}  // namespace warpwright::depthwise
