// The arithmetic of one mma_gemm kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include <array>
#include <span>

#include "search_space/kernel_family.h"

namespace warpwright::mma_gemm {

inline constexpr char kName[] = "mma_gemm";
inline constexpr int kSpaceVersion = 1;
inline constexpr int64_t kChunkBytes = 16;  // of K: a row of one ldmatrix
inline constexpr int64_t kStepBytes = 32;   // of K: what one product of fragments takes

/// The Workload as a matrix product, without any knob.
struct Shape {
  explicit Shape(const Workload& workload);

  int64_t rows = 0;            // M: output pixels
  int64_t columns = 0;         // N: output channels of a group
  int64_t stored_columns = 0;  // N with the pad lanes that the tiles write
  int64_t groups = 1;
  int64_t group_channels = 0;  // inputs of a group
  int64_t taps = 1;
  int64_t vector = 16;        // bytes of x that lie aligned for every group; below 4 none
  int64_t lane_channels = 0;  // group_channels padded to the vector
  int64_t reduction = 0;      // bytes of K: taps * lane_channels
  int64_t store_vector = 16;  // outputs that lie aligned for every group, at most 16 bytes
  int64_t output_bytes = 1;   // of one output: 1 or 4
  bool tiles_write_pads = false;
  bool may_leave_image = false;
  bool fills = false;         // positions outside the image hold x's zero point, which is not zero
  bool has_row_sums = false;  // of x, for the weights' zero points
  bool has_residual = false;
};

struct Knobs {
  int64_t warp_m = 16, warp_n = 16, warps_m = 1, warps_n = 1, warps_k = 1;
  int64_t tile_k = 32, stages = 2, depth = 16, async = 0, fragment_buffers = 1, unroll = 1, staged_epilogue = 0;
  int64_t taps_inner = 0, columns_first = 0, raster_group = 1, split_k = 1, ctas_per_sm = 1;
};
Knobs knobs_of(const Config& config);
Knobs knobs_of(std::span<const int64_t> values);
Config config_of(const Knobs& knobs);

/// A Shape under Knobs.
struct Plan : Knobs {
  Plan(const Shape& shape, const Knobs& knobs);

  const Shape shape;
  int64_t threads, tile_m, tile_n, m_tiles, n_tiles, k_tiles;
  int64_t split_tiles;                // steps of K of a CTA (of the last one the rest)
  int64_t tiles, ctas;                // of the grid without and with split_k
  int64_t steps;                      // products of fragments that a warp takes from a K tile
  int64_t row_step, x_loads;          // rows between a thread's vectors of x, and how many it copies a K tile
  int64_t weight_loads;               // chunks
  int64_t x_tile_bytes, stage_bytes;  // shared memory of one stage
  int64_t run, store_lanes;           // outputs that a thread owns side by side; stores at once
  int64_t staged_stride, smem_bytes;
  int64_t registers;  // estimate, a thread

  /// Each K tile lies within one tap.
  bool whole_taps() const { return shape.lane_channels % tile_k == 0; }
  /// Some bytes of the last K tile lie behind the reduction.
  bool has_tail() const { return shape.reduction % tile_k != 0; }
  /// Columns of all tiles of all groups; the channel of one of them, or -1.
  int64_t packed_columns() const { return shape.groups * n_tiles * tile_n; }
  int64_t channel_at(int64_t column) const;
  /// The same for a row of packed weights and for an element of a packed constant.
  int64_t channel_of_row(int64_t row) const;
  int64_t channel_of_constant(int64_t position) const;
};

/// What keeps a Plan from being legal, without text; `legal` is none.
enum class Flaw {
  legal,
  threads,
  tile,
  depth,
  stages_without_async,
  one_async_stage,
  step,
  shared_memory,
  registers,
  resident,
  copies,
  code_size,
  rows,
  columns,
  k_tile,
  stages,
  double_buffer,
  unroll,
  staged_output,
  direct_slices,
  taps_inner,
  columns_first,
  raster,
  split,
  grid
};
Flaw flaw_of(const Plan& plan, const Target& target);
std::string sentence(Flaw flaw, const Plan& plan, const Target& target);

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
std::vector<Config> choose_seeds(const Workload& workload, const Target& target);
Resources resources_of(const Plan& plan);
std::vector<KernelArgument> arguments_of(const Workload& workload, const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::mma_gemm
