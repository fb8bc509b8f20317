// The arithmetic of one dp4a_gemm kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright::dp4a_gemm {

inline constexpr char kName[] = "dp4a_gemm";
inline constexpr int kSpaceVersion = 1;
inline constexpr int64_t kChunkBytes = 16;  // of K: what a thread reads of a row at once

/// The Workload as a matrix product, without any knob.
struct Shape {
  explicit Shape(const Workload& workload);

  int64_t rows = 0;            // M: output pixels
  int64_t columns = 0;         // N: output channels of a group
  int64_t stored_columns = 0;  // N with the pad lanes that the tiles write
  int64_t groups = 1;
  int64_t group_channels = 0;  // inputs of a group
  int64_t taps = 1;
  int64_t widest_vector = 16;     // bytes of x that lie aligned for every group; 1: byte by byte
  bool tiles_write_pads = false;  // the pad lanes follow the channels, so that tiles cover them
  bool may_leave_image = false;
};

/// A Shape under a Config.
struct Plan {
  Plan(const Workload& workload, const Config& config);

  Shape shape;
  // knobs
  int64_t thread_m, thread_n, lanes_m, lanes_n, lanes_k, warps_m, warps_n, warps_k;
  int64_t tile_k, vector, stages, unroll;
  bool direct_weights, staged_epilogue, columns_first, padded_rows;
  // what follows
  int64_t word_vector;    // bytes that one thread copies at once: vector, at least 4
  int64_t lane_channels;  // group_channels padded to word_vector
  int64_t reduction;      // bytes of K: taps * lane_channels
  int64_t threads, threads_m, threads_n, slices;
  int64_t tile_m, tile_n, m_tiles, n_tiles, k_tiles, ctas;
  int64_t chunks;                           // of 16 bytes a thread multiplies a step
  int64_t row_bytes;                        // of shared memory, padding included
  int64_t x_loads, weight_loads;            // vectors that a thread copies a step
  int64_t x_tile_bytes, weight_tile_bytes;  // shared memory of one stage
  int64_t reduce_stride;                    // int32 words from row to row of the staged accumulators
  int64_t smem_bytes;
  int64_t store_lanes;  // output channels that a thread stores at once
  int64_t registers;    // estimate, a thread

  /// Elements of a packed per-channel argument, and the channel at a position or -1.
  int64_t packed_columns() const { return shape.groups * n_tiles * tile_n; }
  int64_t channel_at(int64_t position) const;
};

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
Space make_space(const Workload& workload, const Target& target);
std::optional<std::string> why_illegal(const Workload& workload, const Plan& plan, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::dp4a_gemm
