// The fixed text of a dp4a_gemv kernel.
#include "search_space/dp4a_gemv/text.h"

namespace warpwright::dp4a_gemv {

const char* const kFoldLanesText = R"(
// Sums of values[0 .. kValues) over kLanes neighbouring lanes: each lane gives half of what it holds to its partner and
// keeps the rest, from half of the lanes down to the next one. Lane l ends with the values from l * kValues / kLanes on.
template <int kValues, int kLanes, int kSize>
__device__ __forceinline__ void fold_lanes(int (&values)[kSize], int lane) {
  if constexpr (kLanes > 1) {
    constexpr int kDistance = kLanes / 2, kKept = kValues / 2;
    if constexpr (kValues > 1) {
      const bool upper = lane & kDistance;
#pragma unroll
      for (int i = 0; i < kKept; ++i) {
        const int given = upper ? values[i] : values[i + kKept];
        const int kept = upper ? values[i + kKept] : values[i];
        values[i] = kept + __shfl_xor_sync(0xffffffffu, given, kDistance);
      }
      fold_lanes<kKept, kDistance>(values, lane);
    } else {
      values[0] += __shfl_xor_sync(0xffffffffu, values[0], kDistance);
      fold_lanes<1, kDistance>(values, lane);
    }
  }
}
)";

const char* const kPlacesText = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_n = warp / kWarpsK, warp_k = warp % kWarpsK;
  const int first_k = (warp_k * kLanesK + lane % kLanesK) * 16;
  const int thread_column = (warp_n * kLanesN + lane / kLanesK) * kThreadN;
  const unsigned char* const weights_from =
      weights + (static_cast<long long>(n_tile * kWarpsN + warp_n) * kSteps * kWarpsK + warp_k) * kWarpBytes + lane * 16;
)";

const char* const kSharedXText = R"(
  const unsigned char* const x_from = smem + first_k;
  auto x_of = [&](int row, int step) {
    return *reinterpret_cast<const int4*>(x_from + step * kStepBytes + row * kXRowBytes);
  };
)";

const char* const kDirectXText = R"(
  const unsigned char* const x_from =
      x + (static_cast<long long>(m_tile * kTileM) * kXStride + (kXOffset + first_k));
  auto x_of = [&](int row, int step) {
    const unsigned char* const at = x_from + (static_cast<long long>(row) * kXStride + step * kStepBytes);
    if constexpr (kRows % kTileM == 0 && kReduction % kStepBytes == 0) {
      return *reinterpret_cast<const int4*>(at);
    } else {
      int words[4] = {};
      load_words(words, global_address(at),
                 (m_tile * kTileM + row < kRows) & (step * kStepBytes + first_k < kReduction));
      return make_int4(words[0], words[1], words[2], words[3]);
    }
  };
)";

const char* const kMultiplyText = R"(
  int sums[kThreadM * kThreadN] = {};
  int x_sums[kThreadM] = {};
  auto multiply = [&](const int4 (&by)[kDepth][kThreadN], int step) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      if (kSteps % kDepth == 0 || step + d < kSteps) {
#pragma unroll
        for (int i = 0; i < kThreadM; ++i) {
          const int4 a = x_of(i, step + d);
          if constexpr (kWeightZeroPoint) x_sums[i] = sum4(a.w, sum4(a.z, sum4(a.y, sum4(a.x, x_sums[i]))));
#pragma unroll
          for (int j = 0; j < kThreadN; ++j) {
            const int4 b = by[d][j];
            int& sum = sums[i * kThreadN + j];
            sum = dot4(a.w, b.w, dot4(a.z, b.z, dot4(a.y, b.y, dot4(a.x, b.x, sum))));
          }
        }
      }
    }
  };
)";

const char* const kLoopText = R"(
#pragma unroll 1
  for (int step = 0;;) {
    multiply(held, step);
    step += kDepth;
    if (step >= kSteps) break;
    load_weights(held, step);
  }
)";

const char* const kPrefetchLoopText = R"(
#pragma unroll 2
  for (int step = 0; step < kSteps; step += kDepth) {
    int4 next[kDepth][kThreadN];
    if (step + kDepth < kSteps) load_weights(next, step + kDepth);
    multiply(held, step);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) held[d][j] = next[d][j];
    }
  }
)";

const char* const kPartsText = R"(
  int values[kValues] = {};
#pragma unroll
  for (int i = 0; i < kThreadM * kThreadN; ++i) values[i] = sums[i];
  fold_lanes<kValues, kLanesK>(values, lane);
  int* const parts = reinterpret_cast<int*>(smem);
  if constexpr (!kDirectX) __syncthreads();
  constexpr int kHeld = kValues > kLanesK ? kValues / kLanesK : 1, kCopies = kLanesK > kValues ? kLanesK / kValues : 1;
  if (kCopies == 1 || lane % kCopies == 0) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int value = lane % kLanesK / kCopies * kHeld + i, row = value / kThreadN;
      if (kValues == kThreadM * kThreadN || row < kThreadM) {
        parts[(warp_k * kTileM + row) * kReduceStride + thread_column + value % kThreadN] = values[i];
      }
    }
  }
)";

}  // namespace warpwright::dp4a_gemv
