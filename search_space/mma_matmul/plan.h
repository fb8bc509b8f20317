// The arithmetic of one mma_matmul kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include <array>

#include "search_space/kernel_family.h"

namespace warpwright::mma_matmul {

inline constexpr char kName[] = "mma_matmul";
inline constexpr int kSpaceVersion = 1;
inline constexpr int64_t kChunkBytes = 16;  // of K: a row of one ldmatrix
inline constexpr int64_t kStepBytes = 32;   // of K: what one product of fragments takes

/// An operand whose rows are copied along K: a, or b if transposed.
struct RowCopy {
  int64_t vector = 16;    // bytes that one thread copies at once
  bool bytewise = false;  // the last word of a row may not be read beyond K
};

/// The Workload, without any knob.
struct Shape {
  explicit Shape(const Workload& workload);

  int64_t batch, rows, columns, depth;  // M x K by K x N
  int64_t stored_columns = 0;           // N with the pad lanes that the tiles write
  bool transposed = false;              // b has rows along K
  RowCopy a, b;                         // b: if transposed
  bool bytewise_columns = false;        // b not transposed: the last word of its rows may not be read beyond N
  bool has_row_sums = false;            // of a, for b's zero point
  bool has_column_sums = false;         // of b, for a's zero point
  int64_t output_bytes = 1;             // of one output: 1 or 4
  int64_t store_vector = 1;             // outputs that lie aligned, at most 16 bytes
};

struct Knobs {
  int64_t warp_m, warp_n, warps_m, warps_n, tile_k, stages, depth, async, fragment_buffers, staged_epilogue,
      columns_first, raster_group, split_k, ctas_per_sm;
};
Knobs knobs_of(const Config& config);
Config config_of(const Knobs& knobs);

/// A Shape under Knobs.
struct Plan : Knobs {
  Plan(const Shape& shape, const Knobs& knobs);

  const Shape shape;
  int64_t threads, tile_m, tile_n, m_tiles, n_tiles, k_tiles;
  int64_t split_tiles;                // steps of K of a CTA (of the last one the rest)
  int64_t tiles, ctas;                // of the grid without and with split_k
  int64_t steps;                      // products of fragments that a warp takes from a K tile
  int64_t a_row_step, b_row_step;     // rows between the vectors that a thread copies
  int64_t a_loads, b_loads;           // vectors a thread and K tile; b not transposed: 16 words each
  int64_t a_tile_bytes, stage_bytes;  // shared memory of one stage
  int64_t run, store_lanes;           // outputs that a thread owns side by side; stores at once
  int64_t staged_stride, smem_bytes;
  int64_t registers;  // estimate, a thread

  /// Some of the last K tile lies behind K.
  bool has_tail() const { return shape.depth % tile_k != 0; }
  bool a_is_held() const { return async == 0; }
  bool b_is_held() const { return async == 0 || !shape.transposed; }
  int64_t b_units() const { return tile_k / kChunkBytes * (tile_n / 4); }
  /// Elements of a packed per-column argument.
  int64_t packed_columns() const { return n_tiles * tile_n; }
};

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Plan& plan);
std::vector<KernelArgument> arguments_of(const Workload& workload, const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config);
/// Every constant and scalar of arguments_of.
Tensor pack_argument(const Workload& workload, const Plan& plan, const std::string& argument, const Values& values);

/// The dense Workload whose epilogue (bias, requantization, stores) this one has: bias where both zero points are
/// there, the same for all columns.
Workload epilogue_of(const Workload& workload);

}  // namespace warpwright::mma_matmul
