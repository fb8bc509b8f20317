// The fixed text of a depthwise kernel: who a thread is, what it reads, in which order it works.
#include "search_space/depthwise/text.h"

namespace warpwright::depthwise {

const char* const kHelpersText = R"(
template <int kCount>
__device__ __forceinline__ void copy_words(int (&to)[kCount], const void* from) {
  if constexpr (kCount == 4) {
    const int4 four = *static_cast<const int4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  } else if constexpr (kCount == 2) {
    const int2 two = *static_cast<const int2*>(from);
    to[0] = two.x, to[1] = two.y;
  } else {
    to[0] = *static_cast<const int*>(from);
  }
}
// Loads that are never kept for a later use of the same address.
__device__ __forceinline__ void read_words(int (&to)[4], const void* from) {
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "l"(global_address(from)));
}
__device__ __forceinline__ void read_words(int (&to)[2], const void* from) {
  asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(global_address(from)));
}
__device__ __forceinline__ void read_words(int (&to)[1], const void* from) {
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(to[0]) : "l"(global_address(from)));
}
// Loads that the compiler does not join to wider ones, over bytes between columns that nothing wrote.
__device__ __forceinline__ void read_tile(int (&to)[4], unsigned from) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}
__device__ __forceinline__ void read_tile(int (&to)[2], unsigned from) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(from));
}
__device__ __forceinline__ void read_tile(int (&to)[1], unsigned from) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(to[0]) : "r"(from));
}
template <int kCount>
__device__ __forceinline__ void load_constants(int (&to)[kCount], const void* from) {
  if constexpr (kConstantsKept) {
    copy_words(to, from);
  } else {
    read_words(to, from);
  }
}
// One 4-byte constant for each of kStoreLanes lanes.
__device__ __forceinline__ void load_lanes(int (&to)[kStoreLanes], const void* from) {
  constexpr int kCount = kStoreLanes < 4 ? 1 : 4;
#pragma unroll
  for (int i = 0; i < kStoreLanes; i += kCount) {
    int some[kCount];
    load_constants(some, static_cast<const int*>(from) + i);
#pragma unroll
    for (int j = 0; j < kCount; ++j) to[i + j] = some[j];
  }
}
// Whether a filter row meets an input row `offset` rows below the output's first.
__device__ __forceinline__ constexpr bool is_tap_row(int offset) {
  return offset >= 0 && offset % kDilationH == 0 && offset / kDilationH < kKernelH;
}
__device__ __forceinline__ constexpr bool is_used_row(int row) {
  for (int h = 0; h < kRunH; ++h) {
    if (is_tap_row(row - h * kStrideH)) return true;
  }
  return false;
}
// Whether no filter row before `r` meets it.
__device__ __forceinline__ constexpr bool is_new_row(int row, int r) {
  for (int before = 0; before < r; ++before) {
    const int offset = row - before * kDilationH;
    if (offset >= 0 && offset % kStrideH == 0 && offset / kStrideH < kRunH) return false;
  }
  return true;
}
__device__ __forceinline__ constexpr bool is_used_column(int column) {
  for (int w = 0; w < kRunW; ++w) {
    const int offset = column - w * kStrideW;
    if (offset >= 0 && offset % kDilationW == 0 && offset / kDilationW < kKernelW) return true;
  }
  return false;
}
// The sums of one output row; those of x for a group of pixels that share them.
struct Sums {
  int of[kRunW][kLanes];
  int x[kGroups][kChannels];
};
)";

const char* const kPlacesText = R"(
  const unsigned block = blockIdx.x, thread = threadIdx.x;
  const int c_block = block / kCBlockStep % kCBlocks, w_block = block / kWBlockStep % kWBlocks;
  const int h_block = block / kHBlockStep % kHBlocks, image = block / kImageStep % kImages;
  const int part = block / (kCBlocks * kWBlocks * kHBlocks * kImages);
  const int thread_c = thread % kBlockC, thread_w = thread / kThreadWStep % kBlockW;
  const int thread_h = thread / kThreadHStep % kBlockH;
  const int c = c_block * kTileChannels + thread_c * kChannels;
  const int p_first = (h_block * kBlockH + thread_h) * kRunH, q_first = (w_block * kBlockW + thread_w) * kRunW;
  // This thread's first lane in packed constants.
  const int position = (part * kPaddedChannels + c) * kPart;
)";

const char* const kCopyTileText = R"(
  {
    const int h = h_block * (kBlockH * kStepH) - kPadTop, w = w_block * (kBlockW * kStepW) - kPadLeft;
    constexpr int kPixelVectors = kTileChannels / kCopyVector, kVectors = kTileRows * kTileCols * kPixelVectors;
#pragma unroll 4
    for (unsigned vector = thread; vector < kVectors; vector += kThreads) {
      const int at = vector % kPixelVectors * kCopyVector, lane = c_block * kTileChannels + at;
      const int i = vector / kPixelVectors % kTileCols, j = vector / (kPixelVectors * kTileCols);
      const int column = w + i, row = h + j;
      const long long pixel = (image * kH + row) * kW + column;
      const bool valid =
          (static_cast<unsigned>(row) < kH) & (static_cast<unsigned>(column) < kW) & (lane < kC);
      const unsigned long long from = global_address(x) + (pixel * kXStride + (kXOffset + lane));
      unsigned char* const to = smem + (j * kRowPitch + i % kStepW * kPhasePitch + i / kStepW * kTileChannels + at);
)";

const char* const kLoadTileText = R"(      int words[kCopyVector / 4];
#pragma unroll
      for (int k = 0; k < kCopyVector / 4; ++k) words[k] = fill;
      load_words(words, from, valid);
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

const char* const kCopyAsyncText = R"(      copy_or_fill<kCopyVector>(shared_address(to), from, valid, fill);
    }
  }
  commit_copies();
  wait_copies<0>();
  __syncthreads();
)";

const char* const kIdleThreadsText = R"(
  if (c >= kUsedChannels || p_first >= kP || q_first >= kQ) return;
)";

const char* const kGlobalSourceText = R"(
  const int h_first = p_first * kStrideH - kPadTop, w_first = q_first * kStrideW - kPadLeft;
  unsigned columns = 0;
#pragma unroll
  for (int i = 0; i < kInCols; ++i) columns |= static_cast<unsigned>(w_first + i) < kW ? 1u << i : 0u;
  if (c >= kC) columns = 0;
  const long long first_pixel = (image * kH + h_first) * kW + w_first;
  const unsigned long long x_at = global_address(x) + (first_pixel * kXStride + (kXOffset + c));
  auto read_row = [&](int (&words)[kInCols][kWords], int row) {
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
  const unsigned tile_at = static_cast<unsigned>(__cvta_generic_to_shared(smem)) +
                           (thread_h * (kStepH * kRowPitch) + thread_w * kTileChannels + thread_c * kChannels);
  auto read_row = [&](int (&words)[kInCols][kWords], int row) {
#pragma unroll
    for (int i = 0; i < kInCols; ++i) {
      read_tile(words[i], tile_at + (row * kRowPitch + i % kStepW * kPhasePitch + i / kStepW * kTileChannels));
    }
  };
)";

const char* const kKeptConstantsText = R"(
  int multiplier_of[kLanes], first_sums[kLanes];
#pragma unroll
  for (int lane = 0; lane < kLanes; lane += kStoreLanes) {
    int some[kStoreLanes] = {};
    if constexpr (kHasBias) load_lanes(some, bias_at + lane);
#pragma unroll
    for (int i = 0; i < kStoreLanes; ++i) first_sums[lane + i] = some[i];
    if constexpr (kHasMultiplier) load_lanes(some, multiplier_at + lane);
#pragma unroll
    for (int i = 0; i < kStoreLanes; ++i) multiplier_of[lane + i] = some[i];
  }
  WeightRow kept_weights[kKernelH];
#pragma unroll
  for (int r = 0; r < kKernelH; ++r) load_weights(kept_weights[r], r);
  auto multiply = [&](Sums& sums, const Row& row, int r) { multiply_row(sums, row, kept_weights[r]); };
  auto begin_lanes = [&](int (&to)[kStoreLanes], int lane) {
#pragma unroll
    for (int i = 0; i < kStoreLanes; ++i) to[i] = first_sums[lane + i];
  };
  auto scale_lanes = [&](int (&to)[kStoreLanes], int lane) {
#pragma unroll
    for (int i = 0; i < kStoreLanes; ++i) to[i] = multiplier_of[lane + i];
  };
)";

const char* const kReadConstantsText = R"(
  auto multiply = [&](Sums& sums, const Row& row, int r) {
    WeightRow weights_now;
    load_weights(weights_now, r);
    multiply_row(sums, row, weights_now);
  };
  auto begin_lanes = [&](int (&to)[kStoreLanes], int lane) {
    if constexpr (kHasBias) load_lanes(to, bias_at + lane);
  };
  auto scale_lanes = [&](int (&to)[kStoreLanes], int lane) {
    if constexpr (kHasMultiplier) load_lanes(to, multiplier_at + lane);
  };
)";

const char* const kEndRowText = R"(
  auto begin_row = [&](Sums& sums) {
    sums = {};
#pragma unroll
    for (int lane = 0; lane < kLanes; lane += kStoreLanes) {
      int first[kStoreLanes] = {};
      begin_lanes(first, lane);
#pragma unroll
      for (int w = 0; w < kRunW; ++w) {
#pragma unroll
        for (int i = 0; i < kStoreLanes; ++i) sums.of[w][lane + i] = first[i];
      }
    }
  };
  auto end_row = [&](const Sums& sums, int h) {
    const int p = p_first + h;
    if (kP % kRunH != 0 && p >= kP) return;
#pragma unroll
    for (int lane = 0; lane < kLanes; lane += kStoreLanes) {
      // A thread makes kPart neighbours of each of its input channels.
      const int k = kPart == kMultiplier ? c * kPart + lane : (c + lane) * kMultiplier + part;
      if (kCoveredLanes % (kChannels * kMultiplier) != 0 && k >= kCoveredLanes) continue;
      int multiplier_bits[kStoreLanes] = {}, zero_point_of[kStoreLanes] = {};
      scale_lanes(multiplier_bits, lane);
      load_zero_points(zero_point_of, position + lane);
      float multipliers[kStoreLanes];
#pragma unroll
      for (int i = 0; i < kStoreLanes; ++i) multipliers[i] = __int_as_float(multiplier_bits[i]);
#pragma unroll
      for (int w = 0; w < kRunW; ++w) {
        const int q = q_first + w;
        if (kQ % kRunW == 0 || q < kQ) {
          int total[kStoreLanes];
          constexpr int kNoBias[kStoreLanes] = {};
#pragma unroll
          for (int i = 0; i < kStoreLanes; ++i) {
            total[i] = sums.of[w][lane + i] - zero_point_of[i] * sums.x[w / kGroup][(lane + i) / kPart];
          }
          finish(total, kNoBias, multipliers, (image * kP + p) * kQ + q, k);
        }
      }
    }
  };
)";

const char* const kFilterRowsText = R"(
  Sums sums;
  begin_row(sums);
#pragma unroll {}
  for (int r = 0; r < kKernelH; ++r) {{
    Row row;
    load_row(row, r * kDilationH);
    multiply(sums, row, r);
  }}
  end_row(sums, 0);
)";

const char* const kRowsKeptText = R"(
  Row rows[kInRows];
#pragma unroll
  for (int step = 0; step < kInRows; ++step) {
    if (is_used_row(step)) load_row(rows[step], step);
    const int first = step - (kKernelH - 1) * kDilationH;
    if (first >= 0 && first % kStrideH == 0) {
      Sums sums;
      begin_row(sums);
#pragma unroll
      for (int r = 0; r < kKernelH; ++r) multiply(sums, rows[first + r * kDilationH], r);
      end_row(sums, first / kStrideH);
    }
  }
)";

const char* const kSumsKeptText = R"(
  Sums sums[kRunH];
#pragma unroll
  for (int step = 0; step < kInRows; ++step) {
    if (!is_used_row(step)) continue;
    Row row;
    load_row(row, step);
#pragma unroll
    for (int h = 0; h < kRunH; ++h) {
      const int offset = step - h * kStrideH;
      if (!is_tap_row(offset)) continue;
      if (offset == 0) begin_row(sums[h]);
      multiply(sums[h], row, offset / kDilationH);
      if (offset == (kKernelH - 1) * kDilationH) end_row(sums[h], h);
    }
  }
)";

const char* const kFilterRowsFirstText = R"(
  Row rows[kInRows];
  Sums sums[kRunH];
#pragma unroll
  for (int h = 0; h < kRunH; ++h) begin_row(sums[h]);
#pragma unroll
  for (int r = 0; r < kKernelH; ++r) {
    WeightRow of;
    load_weights(of, r);
#pragma unroll
    for (int h = 0; h < kRunH; ++h) {
      const int at = h * kStrideH + r * kDilationH;
      if (is_new_row(at, r)) load_row(rows[at], at);
      multiply_row(sums[h], rows[at], of);
    }
  }
#pragma unroll
  for (int h = 0; h < kRunH; ++h) end_row(sums[h], h);
)";

const char* const kOtherPadsText = R"(
  if (c_block == 0 && part == 0) {
    constexpr int kColumns = kBlockW * kRunW, kPixels = kBlockH * kRunH * kColumns;
#pragma unroll 1
    for (unsigned unit = thread; unit < kPixels * kOtherPads; unit += kThreads) {
      const int at = kCoveredLanes + unit % kOtherPads;
      const int q = w_block * kColumns + unit / kOtherPads % kColumns;
      const int p = h_block * (kBlockH * kRunH) + unit / (kOtherPads * kColumns);
      if (p < kP && q < kQ) {
        *output_at((image * kP + p) * kQ + q, at) = pad_code;
      }
    }
  }
)";

}  // namespace warpwright::depthwise
