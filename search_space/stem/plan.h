// The arithmetic of one stem kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright::stem {

inline constexpr char kName[] = "stem";
inline constexpr int kSpaceVersion = 1;

struct Plan {
  Plan(const Workload& workload, const Config& config);

  // knobs
  int64_t channels;                   // output channels of a thread
  int64_t run_w;                      // output pixels of a thread, along the width
  int64_t block_c, block_w, block_h;  // threads of a CTA along channels, columns and rows
  bool direct_weights;                // read from global memory, else from shared
  bool unrolled;                      // the loop over filter rows
  // what follows
  int64_t threads, ctas, c_blocks, w_blocks, h_blocks;
  int64_t tile_channels;         // output channels of a CTA
  int64_t in_cols;               // of the input, under the outputs of a thread
  int64_t word_vector;           // pixels that a thread reads at once: 1 or 4
  int64_t tile_rows, tile_cols;  // of the input in shared memory, padding included
  int64_t tile_bytes, weight_bytes, smem_bytes;
  int64_t covered_lanes;  // output lanes that the outputs' own stores write
  int64_t store_lanes;
  int64_t registers;

  /// Elements of a packed per-channel argument, and the channel at a position or -1.
  int64_t packed_channels() const { return c_blocks * tile_channels; }
  int64_t output_channels;
  int64_t channel_at(int64_t position) const { return position < output_channels ? position : -1; }
};

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Workload& workload, const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::stem
