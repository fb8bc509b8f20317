// The tile of a warp: fragments and products.
#include "search_space/mma/warp_tile.h"

namespace warpwright::mma {

std::string_view warp_tile_source() {
  return R"(
template <int kWarpM, int kWarpN>
struct Fragments {
  unsigned a[kWarpM / 16][4];
  unsigned b[kWarpN / 8][2];
};
template <int kRowBytes>
__device__ __forceinline__ unsigned place_in_tile(unsigned row, unsigned chunk) {
  return row * kRowBytes + (chunk ^ swizzle<kRowBytes>(row)) * 16;
}
template <int kRowBytes>
__device__ __forceinline__ unsigned a_place(unsigned first_row, unsigned step) {
  const unsigned lane = threadIdx.x % 32;
  return place_in_tile<kRowBytes>(first_row + lane % 16, step * 2 + lane / 16);
}
template <int kRowBytes>
__device__ __forceinline__ unsigned b_place(unsigned first_row, unsigned step) {
  const unsigned lane = threadIdx.x % 32;
  return place_in_tile<kRowBytes>(first_row + lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2);
}
template <int kRowBytes, int kWarpM, int kWarpN>
__device__ __forceinline__ void load_fragments(Fragments<kWarpM, kWarpN>& to, unsigned a_at, unsigned b_at) {
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i) load_matrices(to.a[i], a_at + i * (16 * kRowBytes));
#pragma unroll
  for (int j = 0; j < kWarpN / 16; ++j) {
    unsigned four[4];
    load_matrices(four, b_at + j * (16 * kRowBytes));
    to.b[2 * j][0] = four[0], to.b[2 * j][1] = four[1], to.b[2 * j + 1][0] = four[2], to.b[2 * j + 1][1] = four[3];
  }
  if constexpr (kWarpN % 16 != 0) load_matrices(to.b[kWarpN / 8 - 1], b_at + kWarpN / 16 * (16 * kRowBytes));
}
template <typename Value, int kRun, typename Load>
__device__ __forceinline__ void load_run(Value (&to)[kRun], const Load& load, int position) {
#pragma unroll
  for (int q = 0; q < kRun; q += 4) {
    Value four[4];
    load(four, position + q * 4);
#pragma unroll
    for (int k = 0; k < 4; ++k) to[q + k] = four[k];
  }
}
template <int kWarpM, int kWarpN>
__device__ __forceinline__ void multiply_fragments(int (&sums)[kWarpM / 16][kWarpN / 8][4],
                                                   const Fragments<kWarpM, kWarpN>& fragments) {
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kWarpN / 8; ++j) multiply(sums[i][j], fragments.a[i], fragments.b[j]);
  }
}
template <int kWarpM, int kWarpN>
__device__ __forceinline__ void sum_rows(int (&row_sums)[kWarpM / 16][4], const Fragments<kWarpM, kWarpN>& fragments) {
  const unsigned ones[2] = {0x01010101u, 0x01010101u};
#pragma unroll
  for (int i = 0; i < kWarpM / 16; ++i) multiply(row_sums[i], fragments.a[i], ones);
}
)";
}

}  // namespace warpwright::mma
