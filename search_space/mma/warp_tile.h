// The tile of a warp: its fragments from swizzled shared memory, their products, and what becomes of the sums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpwright::mma {

/// Needs multiply_source and load_matrices_source in front. Rows of both operands lie in shared memory with kRowBytes
/// (32, 64, 128) bytes of K each, swizzled; kWarpM is a multiple of 16, kWarpN of 8 (multiples of 16 load faster).
///   `Fragments<kWarpM, kWarpN>`: 32 bytes of K of all rows
///   `a_place<kRowBytes>(first_row, step)`, `b_place<kRowBytes>(first_row, step)`: where this lane reads in a tile that
///     starts at 0; first_row a multiple of 8 (a: 16), step counts 32 bytes of K. The place of step s + d, d below a
///     power of two that divides s, is place(s) ^ 32 d: also after a multiple of 128 has been added to it.
///   `load_fragments<kRowBytes>(fragments, a_at, b_at)`
///   `multiply_fragments(int (&sums)[kWarpM / 16][kWarpN / 8][4], fragments)`
///   `load_run(to[run], load, position)`: what the lambda `load(to[4], position)` reads of packed constants for a run
///   `sum_rows(int (&row_sums)[kWarpM / 16][4], fragments)`: adds the codes of a's rows: [0] row g, [2] row g + 8
std::string_view warp_tile_source();

/// Columns of a warp's tile are handed out so that each thread owns runs of `run` neighbours of the output (4, 8 or 16;
/// 4 * run divides warp_n): the column, within the tile of a warp, that row `row` of b must hold. Thread t of a
/// quad has in block i of 4 * run columns those from 4 * run * i + run * t on; sum e of them is
/// sums[..][i * run / 2 + e / 2][e % 2 (row g) or 2 + e % 2 (row g + 8)].
constexpr int64_t column_of(int64_t row, int64_t run) {
  const int64_t block = row / (4 * run), within = row % (4 * run);
  return block * 4 * run + within % 8 / 2 * run + within / 8 * 2 + within % 2;
}

/// Constants of the columns (bias, multipliers, zero points) are packed so that a quad reads neighbouring vectors of 4:
/// the column, within the tile of a warp, of a packed position.
constexpr int64_t column_of_constant(int64_t position, int64_t run) {
  const int64_t block = position / (4 * run), within = position % (4 * run);
  return block * 4 * run + within % 16 / 4 * run + within / 16 * 4 + within % 4;
}

/// Bytes from row to row of the staged outputs of a tile: for its column count (bytes) and the run.
constexpr int64_t staged_stride(int64_t tile_n, int64_t run) {
  int64_t stride = tile_n;
  while (stride % 128 != 4 * run % 128) stride += 16;
  return stride;
}

/// Shared memory that the sums of all slices of K but the first need.
constexpr int64_t slice_bytes(int64_t tile_m, int64_t tile_n, int64_t slices) {
  return (slices - 1) * tile_m * tile_n * 4;
}

/// What follows the loop over K, as statements of the kernel's body, on `sums`; constants kWarpM, kWarpN, kWarpsM,
/// kWarpsN, kSlices (warps along K), kThreads, kTileM, kTileN, kRun, kRows (M), kStoredColumns, those of
/// output_constants, and the variables smem (free for use after a barrier), lane, warp_m, warp_n, slice, m_tile,
/// n_tile. Where sums are complete, `slice` is 0. In this order:
///   subtract_zero_points, after zero_points_source of product_epilogue: the weights' zero points times row_sums
///   add_slices: the sums of all slices; none with one slice
///   add_splits, with split_sums_source in front of the kernel: the sums of all gridDim.z = kSplits CTAs of a tile, in
///   workspace and counters; all CTAs but the last
///     return; `tile_index` counts tiles of the grid without z, kTiles of them
///   one of the epilogues, after finish_source of product_epilogue: `packed_column`, `first_channel` are the positions
///     of the CTA's first column in the packed constants and in the output, `first_pixel` that of row 0 of M
/// direct: each thread stores its runs; staged: codes by way of shared memory (kTileM * kStagedStride bytes), rows
/// of the tile by kStoreLanes.
std::string_view subtract_zero_points_source();
std::string_view add_slices_source();
std::string_view add_splits_source();
std::string_view direct_epilogue_source();
std::string staged_epilogue_source(bool has_residual);

/// Bytes of the arguments `workspace` and `counters` of add_splits.
constexpr int64_t workspace_bytes(int64_t tiles, int64_t splits, int64_t tile_m, int64_t tile_n) {
  return tiles * splits * tile_m * tile_n * 4;
}
constexpr int64_t counter_bytes(int64_t tiles) { return tiles * 4; }

}  // namespace warpwright::mma
