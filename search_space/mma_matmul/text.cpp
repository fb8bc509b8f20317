// The fixed text of an mma_matmul kernel.
#include "search_space/mma_matmul/text.h"

namespace warpwright::mma_matmul {

const char* const kFunctionsText = R"(
template <bool kBytewise, int kWords>
__device__ __forceinline__ void load_part(int (&to)[kWords], unsigned long long from, int bytes) {
#pragma unroll
  for (int j = 0; j < kWords; ++j) to[j] = 0;
  if constexpr (kBytewise) {
#pragma unroll
    for (int j = 0; j < 4 * kWords; ++j) {
      int code = 0;
      load_byte(code, from + j, j < bytes);
      to[j / 4] |= code << (8 * (j % 4));
    }
  } else {
    load_words(to, from, bytes > 0);
#pragma unroll
    for (int j = 0; j < kWords; ++j) {
      const int left = bytes - 4 * j;
      to[j] = left >= 4 ? to[j] : left <= 0 ? 0 : to[j] & ((1 << (8 * left)) - 1);
    }
  }
}
// Words of four rows to words of four columns.
__device__ __forceinline__ void transpose_bytes(int (&to)[4], int r0, int r1, int r2, int r3) {
  const int low01 = __byte_perm(r0, r1, 0x5140), low23 = __byte_perm(r2, r3, 0x5140);
  const int high01 = __byte_perm(r0, r1, 0x7362), high23 = __byte_perm(r2, r3, 0x7362);
  to[0] = __byte_perm(low01, low23, 0x5410), to[1] = __byte_perm(low01, low23, 0x7632);
  to[2] = __byte_perm(high01, high23, 0x5410), to[3] = __byte_perm(high01, high23, 0x7632);
}
// The column of b that row `row` of its tile holds.
template <int kRun>
__device__ __forceinline__ int column_of(int row) {
  const int within = row % (4 * kRun);
  return row - within + within % 8 / 2 * kRun + within / 8 * 2 + within % 2;
}
)";

const char* const kPlacesText = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_m = warp % kWarpsM, warp_n = warp / kWarpsM;
  constexpr int slice = 0;
  const int batch = blockIdx.y, first_pixel = batch * kRows, first_channel = n_tile * kTileN;
  const int packed_column = first_channel;
  const int k_first = blockIdx.z * kSplitTiles;
  const int k_tiles = kKTiles % kSplitTiles == 0 ? kSplitTiles : min(kSplitTiles, kKTiles - k_first);
  int k_tile = k_first;
  const unsigned smem_at = shared_address(smem);
)";

const char* const kRowsText = R"(
  const int {0}_column = threadIdx.x % k{1}RowVectors * k{1}Vector, {0}_row = threadIdx.x / k{1}RowVectors;
  unsigned long long {0}_at[k{1}Loads];
#pragma unroll
  for (int i = 0; i < k{1}Loads; ++i) {{
    // Rows past the last are the last again, and never stored.
    const int row = {0}_row + i * k{1}RowStep;
    {0}_at[i] = global_address({2}) + (static_cast<long long>({3}) * k{1}Stride + (k{1}Offset + {0}_column)) +
                static_cast<long long>(k_first) * kTileK;
  }}
  const unsigned {0}_to =
      smem_at + k{1}Place + place_in_tile<kTileK>({0}_row, {0}_column / 16) + {0}_column % 16;
  auto {0}_target = [&](int i, unsigned stage) {{
    return ({0}_to ^ (swizzle<kTileK>(i * k{1}RowStep) * 16)) + (stage + i * (k{1}RowStep * kTileK));
  }};
  auto {0}_lies_in_tile = [&](int i) {{
    return kTile{4} % k{1}RowStep == 0 || {0}_row + i * k{1}RowStep < kTile{4};
  }};
  auto {0}_bytes = [&]() {{ return min(max(kDepth - k_tile * kTileK - {0}_column, 0), k{1}Vector); }};
)";

const char* const kRowsAsyncText = R"(
  auto copy_{0} = [&](unsigned stage) {{
#pragma unroll
    for (int i = 0; i < k{1}Loads; ++i) {{
      if ({0}_lies_in_tile(i)) {{
        if constexpr (kHasTail) copy_part<k{1}Vector>({0}_target(i, stage), {0}_at[i], {0}_bytes());
        if constexpr (!kHasTail) copy_async<k{1}Vector>({0}_target(i, stage), {0}_at[i]);
      }}
      {0}_at[i] += kTileK;
    }}
  }};
)";

const char* const kRowsHeldText = R"(
  int {0}_held[k{1}Loads][k{1}Vector / 4];
  auto load_{0} = [&]() {{
#pragma unroll
    for (int i = 0; i < k{1}Loads; ++i) {{
      if constexpr (kHasTail) load_part<k{1}Bytewise>({0}_held[i], {0}_at[i], {0}_bytes());
      if constexpr (!kHasTail) load_words({0}_held[i], {0}_at[i], 1);
      {0}_at[i] += kTileK;
    }}
  }};
  auto store_{0} = [&](unsigned stage) {{
#pragma unroll
    for (int i = 0; i < k{1}Loads; ++i) {{
      if ({0}_lies_in_tile(i)) store_words({0}_target(i, stage), {0}_held[i]);
    }}
  }};
)";

const char* const kColumnsText = R"(
  // A unit is 16 rows of 4 columns; neighbouring threads take columns that lie in neighbouring rows of the tile.
  unsigned long long b_at[kBLoads];
  unsigned b_to[kBLoads];
  int b_left[kBLoads], b_columns[kBLoads];
#pragma unroll
  for (int i = 0; i < kBLoads; ++i) {
    const int unit = threadIdx.x + i * kThreads, quad = unit % (kTileN / 4), chunk = unit / (kTileN / 4);
    const int first = quad / kRun * (4 * kRun), within = quad % kRun;
    const int column = min(n_tile * kTileN + first + within % 4 * kRun + within / 4 * 4, (kColumns - 1) / 4 * 4);
    const int k = k_first * kTileK + chunk * 16;
    b_at[i] = global_address(b) + ((static_cast<long long>(batch) * kDepth + k) * kBStride + (kBOffset + column));
    b_to[i] = smem_at + kBPlace + place_in_tile<kTileK>(first + within / 4 * 16 + within % 4 * 2, chunk);
    b_left[i] = kBUnits % kThreads == 0 || unit < kBUnits ? kDepth - k : 0;
    b_columns[i] = min(kColumns - column, 4);
  }
  int b_held[kBLoads][16];
  auto load_b = [&]() {
#pragma unroll
    for (int i = 0; i < kBLoads; ++i) {
#pragma unroll
      for (int r = 0; r < 16; ++r) {
        int word[1];
        const int bytes = r < b_left[i] ? b_columns[i] : 0;
        if constexpr (kBytewiseColumns) load_part<true>(word, b_at[i] + r * kBStride, bytes);
        if constexpr (!kBytewiseColumns) {
          word[0] = 0;
          load_words(word, b_at[i] + r * kBStride, bytes);
        }
        b_held[i][r] = word[0];
      }
      b_at[i] += kTileK * kBStride;
      b_left[i] -= kTileK;
    }
  };
  auto store_b = [&](unsigned stage) {
#pragma unroll
    for (int i = 0; i < kBLoads; ++i) {
      if (kBUnits % kThreads != 0 && threadIdx.x + i * kThreads >= kBUnits) continue;
      int columns[4][4];
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        const int (&rows)[16] = b_held[i];
        int four[4];
        transpose_bytes(four, rows[4 * g], rows[4 * g + 1], rows[4 * g + 2], rows[4 * g + 3]);
#pragma unroll
        for (int c = 0; c < 4; ++c) columns[c][g] = four[c];
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int row = c / 2 * 8 + c % 2;
        store_words((b_to[i] ^ (swizzle<kTileK>(row) * 16)) + (stage + row * kTileK), columns[c]);
      }
    }
  };
)";

const char* const kMultiplyText = R"(
  int sums[kWarpM / 16][kWarpN / 8][4] = {};
  int row_sums[kWarpM / 16][4] = {}, column_sums[kWarpN / 8][4] = {};
  Fragments<kWarpM, kWarpN> fragments[kFragmentBuffers];
  const unsigned a_first = smem_at + kAPlace + a_place<kTileK>(warp_m * kWarpM, 0);
  const unsigned b_first = smem_at + kBPlace + b_place<kTileK>(warp_n * kWarpN, 0);
  auto load_step = [&](unsigned stage, int step) {
    load_fragments<kTileK>(fragments[step % kFragmentBuffers], (a_first + stage) ^ (step * 32),
                           (b_first + stage) ^ (step * 32));
  };
  auto multiply_step = [&](int step) {
    const Fragments<kWarpM, kWarpN>& of = fragments[step % kFragmentBuffers];
    multiply_fragments(sums, of);
    if constexpr (kRowSums) sum_rows(row_sums, of);
    if constexpr (kColumnSums) {
      const unsigned ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
#pragma unroll
      for (int j = 0; j < kWarpN / 8; ++j) multiply(column_sums[j], ones, of.b[j]);
    }
  };
  auto multiply_stage = [&](unsigned stage) {
    load_step(stage, 0);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (kFragmentBuffers == 2 && step + 1 < kSteps) load_step(stage, step + 1);
      if (kFragmentBuffers == 1 && step > 0) load_step(stage, step);
      multiply_step(step);
    }
  };
)";

const char* const kLoopText = R"(
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {{
    if (s < k_tiles) {{
      const unsigned stage = s * kStageBytes;
      {0}{1}{2}
      ++k_tile;
    }}
    {3}
  }}
  unsigned read = 0, write = (kStages - 1) * kStageBytes;
#pragma unroll 1
  for (int t = 0; t < k_tiles; ++t) {{
    {4}
    __syncthreads();
    const bool more = t + (kStages - 1) < k_tiles;
    const unsigned stage = write;
    if (more) {{ {0}{1} }}
    {3}
    multiply_stage(read);
    if (more) {{
      {2}
      ++k_tile;
    }}
    write = read;
    read = read == (kStages - 1) * kStageBytes ? 0 : read + kStageBytes;
  }}
)";

const char* const kZeroPointsText = R"(
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i) {{
#pragma unroll
    for (int j = 0; j < kWarpN / 8; ++j) {{
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i][j][e] -= {};
    }}
  }}
)";

}  // namespace warpwright::mma_matmul
