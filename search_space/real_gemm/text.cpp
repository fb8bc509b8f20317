// The fixed text of a real_gemm kernel.
#include "search_space/real_gemm/text.h"

namespace warpwright::real_gemm {

const char* const kFunctionsText = R"(
template <int kLanes>
__device__ __forceinline__ void load_floats(float* to, const float* from) {
  if constexpr (kLanes == 4) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  } else if constexpr (kLanes == 2) {
    const float2 two = *reinterpret_cast<const float2*>(from);
    to[0] = two.x, to[1] = two.y;
  } else {
    to[0] = *from;
  }
}
template <int kLanes>
__device__ __forceinline__ void store_floats(float* to, const float (&from)[kLanes]) {
  if constexpr (kLanes == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
  } else if constexpr (kLanes == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(from[0], from[1]);
  } else {
    *to = from[0];
  }
}
// Where (k, row) of an operand's tile lies.
template <int kStride>
__device__ __forceinline__ constexpr int float_at(int k, int row) {
  return (k / kRunK * kStride + row) * kRunK + k % kRunK;
}
)";

const char* const kMultiplyText = R"(
template <int kSteps>
__device__ __forceinline__ void multiply(float (&sums)[kThreadM][kThreadN], const float* a, const float* b) {{
#pragma unroll {0}
  for (int k = 0; k < kSteps; ++k) {{
    float a_of[kThreadM], b_of[kThreadN];
#pragma unroll
    for (int i = 0; i < kThreadM; i += kRunM) load_floats<kRunM>(a_of + i, a + k * kAStride + i * kThreadsM);
#pragma unroll
    for (int j = 0; j < kThreadN; j += kRunN) load_floats<kRunN>(b_of + j, b + k * kBStride + j * kThreadsN);
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {{
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) sums[i][j] = __fmaf_rn(a_of[i], b_of[j], sums[i][j]);
    }}
  }}
}}
)";

const char* const kMultiplyRunsText = R"(
template <int kSteps>
__device__ __forceinline__ void multiply(float (&sums)[kThreadM][kThreadN], const float* a, const float* b) {{
#pragma unroll {0}
  for (int k = 0; k < kSteps; k += kRunK) {{
    float b_of[kThreadN][kRunK];
#pragma unroll
    for (int j = 0; j < kThreadN; ++j) load_floats<kRunK>(b_of[j], b + float_at<kBStride>(k, j * kThreadsN));
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {{
      float a_of[kRunK];
      load_floats<kRunK>(a_of, a + float_at<kAStride>(k, i * kThreadsM));
#pragma unroll
      for (int step = 0; step < kRunK; ++step) {{
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) {{
          if (k + step < kSteps) sums[i][j] = __fmaf_rn(a_of[step], b_of[j][step], sums[i][j]);
        }}
      }}
    }}
  }}
}}
)";

const char* const kPlacesText = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int thread_m = warp % kWarpsM * kLanesM + lane / kLanesN;
  const int thread_n = warp / kWarpsM * kLanesN + lane % kLanesN;
  const unsigned smem_at = shared_address(smem);
  const float* const a_first = reinterpret_cast<const float*>(smem) + thread_m * (kRunM * kRunK);
  const float* const b_first = reinterpret_cast<const float*>(smem + kATileBytes) + thread_n * (kRunN * kRunK);
  float sums[kThreadM][kThreadN] = {};
  int k_tile = 0;
)";

const char* const kPackedText = R"(
  unsigned long long {0}_at = global_address(weights) + static_cast<long long>(matrix * k{2}Tiles + {3}_tile) *
                                  kKTiles * k{1}TileBytes + threadIdx.x * 16;
  const unsigned {0}_to = smem_at + k{1}Place + threadIdx.x * 16;
)";

const char* const kRowsText = R"(
  const int {0}_k = threadIdx.x % k{1}Lanes * k{1}Words, {0}_row = threadIdx.x / k{1}Lanes;
  const unsigned {0}_to = smem_at + k{1}Place + float_at<k{1}Stride>({0}_k, {0}_row) * 4;
  unsigned long long {0}_at[k{1}Loads];
#pragma unroll
  for (int r = 0; r < k{1}Loads; ++r) {{
    // Rows past the last are the last again, and never stored.
    const int row = min({3}_tile * kTile{4} + {0}_row + r * k{1}Step, {5} - 1);
    {0}_at[r] = global_address({2}) + (static_cast<long long>(matrix * {5} + row) * kDepth + {0}_k) * 4;
  }}
)";

const char* const kMatrixColumnsText = R"(
  const unsigned b_column = threadIdx.x % kBLanes, b_k = threadIdx.x / kBLanes;
  const unsigned b_to = smem_at + kBPlace + float_at<kBStride>(b_k, b_column * kBWords) * 4;
  unsigned long long b_at[kBUnitLoads];
#pragma unroll
  for (int i = 0; i < kBUnitLoads; ++i) {
    // Columns past the last are the last again, and never stored.
    const int column = min(n_tile * kTileN + (static_cast<int>(b_column) + i * kBLanes) * kBWords, kColumns - kBWords);
    b_at[i] = global_address(residual) + (static_cast<long long>(matrix) * kDepth * kColumns + column) * 4;
  }
)";

const char* const kPixelColumnsText = R"(
  const unsigned b_column = threadIdx.x % kBLanes, b_k = threadIdx.x / kBLanes;
  const unsigned b_to = smem_at + kBPlace + float_at<kBStride>(b_k, b_column * kBWords) * 4;
  unsigned long long b_at[kBUnitLoads];
#pragma unroll
  for (int i = 0; i < kBUnitLoads; ++i) {
    // Pixels past the last are the last again, and never stored.
    const int pixel = min(n_tile * kTileN + (static_cast<int>(b_column) + i * kBLanes) * kBWords, kColumns - kBWords);
    const int q = pixel % kQ, p = pixel / kQ % kP, n = pixel / (kP * kQ);
    const int h = p * kStrideH - kPadTop, w = q * kStrideW - kPadLeft;
    const long long channel = n * (kMatrices * kGroupChannels) + matrix * kGroupChannels;
    b_at[i] = global_address(x) + (channel * (kH * kW) + (h * kW + w)) * 4;
)";

const char* const kPixelCoordinatesText = R"(
    column_h[i] = h, column_w[i] = w;
)";

const char* const kCopiesText = R"(
#pragma unroll
    for (int r = 0; r < k{0}Loads; ++r) {{
{1}#pragma unroll
      for (int i = 0; i < k{0}UnitLoads; ++i) {{
        if ({2}) {{
          {3}
        }}
      }}
    }}
)";

const char* const kAsyncLoopText = R"(
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < kKTiles) copy_tile(s * kStageBytes);
    commit_copies();
  }
  int read = 0, write = (kStages - 1) * kStageBytes;
#pragma unroll 1
  for (int t = 0; t < kFullTiles; ++t) {
    wait_copies<kStages - 2>();
    __syncthreads();
    if (t + (kStages - 1) < kKTiles) copy_tile(write);
    commit_copies();
    multiply<kTileK>(sums, a_first + read / 4, b_first + read / 4);
    write = read;
    read = read == (kStages - 1) * kStageBytes ? 0 : read + kStageBytes;
  }
  if constexpr (kTail > 0) {
    wait_copies<kStages - 2>();
    __syncthreads();
    multiply<kTail>(sums, a_first + read / 4, b_first + read / 4);
  }
)";

const char* const kSingleStageLoopText = R"(
  load_tile();
#pragma unroll 1
  for (int t = 0; t < kFullTiles; ++t) {
    if (t > 0) __syncthreads();
    store_tile(0);
    __syncthreads();
    if (t + 1 < kKTiles) load_tile();
    multiply<kTileK>(sums, a_first, b_first);
  }
  if constexpr (kTail > 0) {
    if constexpr (kFullTiles > 0) __syncthreads();
    store_tile(0);
    __syncthreads();
    multiply<kTail>(sums, a_first, b_first);
  }
)";

const char* const kDoubleStageLoopText = R"(
  load_tile();
  store_tile(0);
  __syncthreads();
  int stage = 0;
#pragma unroll 1
  for (int t = 0; t < kFullTiles; ++t) {
    if (t + 1 < kKTiles) load_tile();
    multiply<kTileK>(sums, a_first + stage / 4, b_first + stage / 4);
    if (t + 1 < kKTiles) {
      stage = kStageBytes - stage;
      store_tile(stage);
      __syncthreads();
    }
  }
  if constexpr (kTail > 0) multiply<kTail>(sums, a_first + stage / 4, b_first + stage / 4);
)";

const char* const kEpilogueText = R"(
  float* const outputs = reinterpret_cast<float*>(y);
{0}#pragma unroll
  for (int j = 0; j < kThreadN; j += kStoreLanes) {{
    const int column = n_tile * kTileN + (j / kRunN * kThreadsN + thread_n) * kRunN + j % kRunN;
    if (kColumns % kTileN == 0 || column < kColumns) {{
      const int block = column / kBlockColumns;
      const int first = (block * kMatrices + matrix) * (kRows * kBlockColumns) + column % kBlockColumns;
{1}#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {{
        const int row = m_tile * kTileM + (i / kRunM * kThreadsM + thread_m) * kRunM + i % kRunM;
        if (kRows % kTileM == 0 || row < kRows) {{
          float output[kStoreLanes];
#pragma unroll
          for (int l = 0; l < kStoreLanes; ++l) output[l] = {2};
          store_floats(outputs + (first + row * kBlockColumns), output);
        }}
      }}
    }}
  }}
)";

}  // namespace warpwright::real_gemm
