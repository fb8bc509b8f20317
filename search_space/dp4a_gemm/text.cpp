// The fixed text of a dp4a_gemm kernel.
#include "search_space/dp4a_gemm/text.h"

namespace warpwright::dp4a_gemm {

const char* const kPlacesText = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int slice = warp / (kWarpsM * kWarpsN) * kLanesK + lane % kLanesK;
  const int thread_m = warp % kWarpsM * kLanesM + lane / kLanesK % kLanesM;
  const int thread_n = warp / kWarpsM % kWarpsN * kLanesN + lane / (kLanesK * kLanesM);
  const unsigned copy_column = pinned(threadIdx.x % kRowVectors * kVector), copy_row = threadIdx.x / kRowVectors;
  const int packed_column = (group * kNTiles + n_tile) * kTileN + thread_n * kThreadN;
  const unsigned char* weights_from =
      weights + static_cast<long long>(group * kNTiles + n_tile) * kKTiles * (kTileN * kTileK) +
      (kDirectWeights ? (thread_n * kTileK + slice * 16) : threadIdx.x * 16);
)";

const char* const kMaskText = R"(
  unsigned long long row_at[kXLoads];
  unsigned row_taps[kXLoads];
#pragma unroll
  for (int i = 0; i < kXLoads; ++i) {
    const unsigned m = m_tile * kTileM + copy_row + i * kRowStep;
    const int q = m % kQ, p = m / kQ % kP, n = m / (kP * kQ);
    const int h = p * kStrideH - kPadTop, w = q * kStrideW - kPadLeft;
    const long long pixel = (n * kH + h) * kW + w;
    row_at[i] = global_address(x) + (pixel * kXStride + (kXOffset + group * kGroupChannels));
    unsigned taps = 0xffffffffu >> (32 - kTaps);
    if constexpr (kMayLeaveImage) {
      unsigned across = 0;
#pragma unroll
      for (int s = 0; s < kKernelW; ++s) across |= static_cast<unsigned>(w + s * kDilationW) < kW ? 1u << s : 0u;
      taps = 0;
#pragma unroll
      for (int r = 0; r < kKernelH; ++r) {
        taps |= static_cast<unsigned>(h + r * kDilationH) < kH ? across << (r * kKernelW) : 0u;
      }
    }
    row_taps[i] = m < kRows && (kTileM % kRowStep == 0 || copy_row + i * kRowStep < kTileM) ? taps : 0u;
  }
)";

const char* const kCoordinatesText = R"(
  unsigned long long row_at[kXLoads];
  int row_h[kXLoads], row_w[kXLoads];
#pragma unroll
  for (int i = 0; i < kXLoads; ++i) {
    const unsigned m = m_tile * kTileM + copy_row + i * kRowStep;
    const int q = m % kQ, p = m / kQ % kP, n = m / (kP * kQ);
    const int h = p * kStrideH - kPadTop, w = q * kStrideW - kPadLeft;
    const long long pixel = (n * kH + h) * kW + w;
    row_at[i] = global_address(x) + (pixel * kXStride + (kXOffset + group * kGroupChannels));
    // A row without a pixel lies far outside the image.
    row_h[i] = m < kRows && (kTileM % kRowStep == 0 || copy_row + i * kRowStep < kTileM) ? h : -(1 << 30);
    row_w[i] = w;
  }
)";

const char* const kLoadTileText = R"(
  int x_held[kXLoads][kVectorWords];
  int4 weights_held[kWeightLoads];
  auto load_tile = [&](int k_tile) {
    const unsigned k = k_tile * kTileK + copy_column;
    const unsigned tap = k / kLaneChannels, c = k - tap * kLaneChannels;
    const unsigned r = tap / kKernelW, s = tap - r * kKernelW;
    const TapOffset offset =
        (static_cast<TapOffset>(r) * (kDilationH * kW) + s * kDilationW) * kXStride + c;
#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {
)";

const char* const kLoadTileTailText = R"(
#pragma unroll
      for (int j = 0; j < kVectorWords; ++j) x_held[i][j] = fill;
      const unsigned long long at = row_at[i] + static_cast<long long>(offset);
      if constexpr (kGather) {
        int bytes[4] = {fill & 255, fill & 255, fill & 255, fill & 255};
#pragma unroll
        for (int j = 0; j < 4; ++j) load_byte(bytes[j], at + j, c + j < kGroupChannels ? valid : 0);
        x_held[i][0] = pack_codes(bytes[0], bytes[1], bytes[2], bytes[3]);
      } else {
        load_words(x_held[i], at, valid);
      }
    }
    if constexpr (!kDirectWeights) {
#pragma unroll
      for (int i = 0; i < kWeightLoads; ++i) {
        if (kWeightVectors % kThreads == 0 || threadIdx.x + i * kThreads < kWeightVectors) {
          weights_held[i] = *reinterpret_cast<const int4*>(weights_from + i * (kThreads * 16));
        }
      }
      weights_from += kTileN * kTileK;
    }
  };
)";

const char* const kValidByMaskText = R"(
      int valid = kTaps == 1 ? row_taps[i] : row_taps[i] >> (kReduction % kTileK == 0 ? tap : tap & 31) & 1;
      if constexpr (kReduction % kTileK != 0) valid = k < kReduction ? valid : 0;
)";

const char* const kValidByCoordinatesText = R"(
      int valid = (static_cast<unsigned>(row_h[i] + r * kDilationH) < kH) &
                  (static_cast<unsigned>(row_w[i] + s * kDilationW) < kW);
      if constexpr (kReduction % kTileK != 0) valid = k < kReduction ? valid : 0;
)";

const char* const kStoreTileText = R"(
  const unsigned x_to = pinned(copy_row * kRowBytes + copy_column);
  const unsigned weights_to = pinned(kXTileBytes + threadIdx.x / kRowChunks * kRowBytes + threadIdx.x % kRowChunks * 16);
  auto store_tile = [&](int stage) {
#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {
      if (kTileM % kRowStep == 0 || copy_row + i * kRowStep < kTileM) {
        unsigned char* const to = smem + (stage + x_to) + i * (kRowStep * kRowBytes);
        if constexpr (kVectorWords == 4) {
          *reinterpret_cast<int4*>(to) = make_int4(x_held[i][0], x_held[i][1], x_held[i][2], x_held[i][3]);
        } else if constexpr (kVectorWords == 2) {
          *reinterpret_cast<int2*>(to) = make_int2(x_held[i][0], x_held[i][1]);
        } else {
          *reinterpret_cast<int*>(to) = x_held[i][0];
        }
      }
    }
    if constexpr (!kDirectWeights) {
#pragma unroll
      for (int i = 0; i < kWeightLoads; ++i) {
        if (kWeightVectors % kThreads == 0 || threadIdx.x + i * kThreads < kWeightVectors) {
          *reinterpret_cast<int4*>(smem + (stage + weights_to) + i * (kThreads / kRowChunks * kRowBytes)) =
              weights_held[i];
        }
      }
    }
  };
)";

const char* const kMultiplyText = R"(
  int sums[kThreadM][kThreadN] = {{}};
  int x_sums[kThreadM] = {{}};
  const unsigned x_first = pinned(thread_m * kRowBytes + slice * 16);
  const unsigned weights_first = pinned(kXTileBytes + thread_n * kRowBytes + slice * 16);
  auto multiply = [&](int stage) {{
    const unsigned char* const x_at = smem + (stage + x_first);
    const unsigned char* const weights_at = kDirectWeights ? weights_from : smem + (stage + weights_first);
    constexpr int kColumnStep = kThreadsN * (kDirectWeights ? kTileK : kRowBytes);
#pragma unroll {0}
    for (int chunk = 0; chunk < kChunks; ++chunk) {{
      int4 a[kThreadM];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {{
        a[i] = *reinterpret_cast<const int4*>(x_at + i * (kThreadsM * kRowBytes) + chunk * (kSlices * 16));
      }}
      if constexpr (kWeightZeroPoint) {{
#pragma unroll
        for (int i = 0; i < kThreadM; ++i) {{
          x_sums[i] = sum4(a[i].w, sum4(a[i].z, sum4(a[i].y, sum4(a[i].x, x_sums[i]))));
        }}
      }}
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) {{
        const int4 b = *reinterpret_cast<const int4*>(weights_at + j * kColumnStep + chunk * (kSlices * 16));
#pragma unroll
        for (int i = 0; i < kThreadM; ++i) sums[i][j] = dot4(a[i].x, b.x, sums[i][j]);
#pragma unroll
        for (int i = 0; i < kThreadM; ++i) sums[i][j] = dot4(a[i].y, b.y, sums[i][j]);
#pragma unroll
        for (int i = 0; i < kThreadM; ++i) sums[i][j] = dot4(a[i].z, b.z, sums[i][j]);
#pragma unroll
        for (int i = 0; i < kThreadM; ++i) sums[i][j] = dot4(a[i].w, b.w, sums[i][j]);
      }}
    }}
    if constexpr (kDirectWeights) weights_from += kTileN * kTileK;
  }};
)";

const char* const kSingleStageText = R"(
  load_tile(0);
#pragma unroll 1
  for (int k_tile = 0; k_tile < kKTiles; ++k_tile) {
    if (k_tile > 0) __syncthreads();
    store_tile(0);
    __syncthreads();
    if (k_tile + 1 < kKTiles) load_tile(k_tile + 1);
    multiply(0);
  }
)";

const char* const kDoubleStageText = R"(
  load_tile(0);
  store_tile(0);
  __syncthreads();
  int stage = 0;
#pragma unroll 1
  for (int k_tile = 1; k_tile < kKTiles; ++k_tile) {
    load_tile(k_tile);
    multiply(stage);
    stage = kStageBytes - stage;
    store_tile(stage);
    __syncthreads();
  }
  multiply(stage);
)";

const char* const kStagedEpilogueText = R"(
  __syncthreads();
  int* const staged = reinterpret_cast<int*>(smem);
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    int* const to = staged + (slice * kTileM + i * kThreadsM + thread_m) * kReduceStride + thread_n * kThreadN;
    if constexpr (kThreadN % 4 == 0) {
#pragma unroll
      for (int j = 0; j < kThreadN; j += 4) {
        *reinterpret_cast<int4*>(to + j) = make_int4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
      }
    } else {
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) to[j] = sums[i][j];
    }
  }
  __syncthreads();
  constexpr int kRowUnits = kTileN / kStoreLanes, kUnits = kTileM * kRowUnits;
#pragma unroll 1
  for (int unit = threadIdx.x; unit < kUnits; unit += kThreads) {
    const int row = unit / kRowUnits, column = unit % kRowUnits * kStoreLanes;
    const int m = m_tile * kTileM + row, n = n_tile * kTileN + column;
    if (m < kRows && n < kStoredColumns) {
      int total[kStoreLanes] = {};
#pragma unroll 4
      for (int s = 0; s < kSlices; ++s) {
        const int* const from = staged + (s * kTileM + row) * kReduceStride + column;
        int part[kStoreLanes];
        load_values(part, from);
#pragma unroll
        for (int i = 0; i < kStoreLanes; ++i) total[i] += part[i];
      }
      const int packed = (group * kNTiles + n_tile) * kTileN + column;
      int bias_of[kStoreLanes];
      float multiplier_of[kStoreLanes];
      load_bias(bias_of, packed);
      load_multipliers(multiplier_of, packed);
      finish(total, bias_of, multiplier_of, m, group * kColumns + n);
    }
  }
)";

const char* const kDirectEpilogueText = R"(
#pragma unroll
  for (int j = 0; j < kThreadN; j += kStoreLanes) {
    const int n = n_tile * kTileN + thread_n * kThreadN + j;
    int bias_of[kStoreLanes];
    float multiplier_of[kStoreLanes];
    load_bias(bias_of, packed_column + j);
    load_multipliers(multiplier_of, packed_column + j);
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
      const int m = m_tile * kTileM + i * kThreadsM + thread_m;
      if (m < kRows && n < kStoredColumns) {
        int total[kStoreLanes];
#pragma unroll
        for (int k = 0; k < kStoreLanes; ++k) total[k] = sums[i][j + k];
        finish(total, bias_of, multiplier_of, m, group * kColumns + n);
      }
    }
  }
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

}  // namespace warpwright::dp4a_gemm
