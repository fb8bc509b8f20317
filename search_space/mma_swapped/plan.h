// The arithmetic of one mma_swapped kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include "search_space/few_rows/few_rows.h"
#include "search_space/kernel_family.h"

namespace warpwright::mma_swapped {

inline constexpr char kName[] = "mma_swapped";
inline constexpr int kSpaceVersion = 1;
inline constexpr int64_t kTileChannels = 16, kTileRows = 8;  // of one multiplication
inline constexpr int64_t kStepBytes = 64;                    // of K a warp and step: two multiplications

/// How weights come, the values of the knob `pipeline`.
enum class Pipeline { registers, prefetch, copy_async };

/// A Shape under a Config.
struct Plan {
  Plan(const Workload& workload, const Config& config);

  few_rows::Shape shape;
  // knobs
  int64_t instruction, warp_tiles, row_tiles, warps_n, warps_k, splits, depth, ctas_per_sm;
  Pipeline pipeline;
  bool direct_x;
  // what follows
  int64_t all_steps;          // of a warp over the whole of K
  int64_t steps;              // of a warp in one split
  int64_t warp_weight_bytes;  // of a warp and step, one linear read
  int64_t ring_bytes;         // of all warps, where weights come by way of shared memory, else 0
  few_rows::Cut cut;
  int64_t tiles, ctas, smem_bytes;
  int64_t registers;  // estimate, a thread

  /// Elements of a packed per-channel argument, and the channel at a position or -1.
  int64_t packed_columns() const { return cut.n_tiles * cut.tile_n; }
  int64_t channel_at(int64_t position) const { return position < shape.columns ? position : -1; }
  int64_t workspace_bytes() const { return splits > 1 ? tiles * splits * cut.tile_m * cut.tile_n * 4 : 0; }
};

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::mma_swapped
