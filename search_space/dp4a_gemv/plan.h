// The arithmetic of one dp4a_gemv kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include "search_space/few_rows/few_rows.h"
#include "search_space/kernel_family.h"

namespace warpwright::dp4a_gemv {

inline constexpr char kName[] = "dp4a_gemv";
inline constexpr int kSpaceVersion = 1;

/// A Shape under a Config.
struct Plan {
  Plan(const Workload& workload, const Config& config);

  few_rows::Shape shape;
  // knobs
  int64_t thread_m, thread_n, lanes_k, warps_n, warps_k, depth, ctas_per_sm;
  bool prefetch, direct_x;
  // what follows
  int64_t lanes_n, slices;    // lanes along N, parts of K
  int64_t steps;              // in which a thread multiplies 16 bytes of each row and column
  int64_t warp_weight_bytes;  // of a warp and step, one linear read
  few_rows::Cut cut;
  int64_t ctas, smem_bytes;
  int64_t registers;  // estimate, a thread

  /// Elements of a packed per-channel argument, and the channel at a position or -1.
  int64_t packed_columns() const { return cut.n_tiles * cut.tile_n; }
  int64_t channel_at(int64_t position) const { return position < shape.columns ? position : -1; }
};

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::dp4a_gemv
