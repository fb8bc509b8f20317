// The arithmetic of one depthwise kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright::depthwise {

inline constexpr char kName[] = "depthwise";
inline constexpr int kSpaceVersion = 1;

struct Plan {
  Plan(const Workload& workload, const Config& config);

  // knobs
  int64_t channels;                   // input channels of a thread: 4, 8 or 16
  int64_t run_w, run_h;               // output pixels of a thread
  int64_t block_c, block_w, block_h;  // threads of a CTA along channels, columns and rows
  bool shared_tile, transposed, unrolled;
  // what follows
  int64_t multiplier;  // output channels an input channel
  int64_t part;        // of these, what one thread makes: all up to 4, else 1
  int64_t parts;       // multiplier / part
  int64_t input_channels, output_channels;
  int64_t threads, ctas, c_blocks, w_blocks, h_blocks;
  int64_t in_cols, in_rows;                     // of the input, under the outputs of a thread
  int64_t group;                                // transposed: neighbouring outputs that share quads of pixels
  int64_t quads;                                // transposed: words of four pixels under a group, a row
  int64_t tile_cols, tile_rows, tile_channels;  // of the input, under the outputs of a CTA
  int64_t copy_vector;                          // bytes that a thread copies to shared memory at once
  int64_t smem_bytes;
  int64_t weight_vectors;  // groups of 4 words of packed weights for 4 channels
  int64_t covered_lanes;   // output lanes that the outputs' own stores write
  int64_t store_lanes;
  int64_t registers;
  int64_t products;  // dp4a of a thread

  /// Elements of a packed per-channel argument, and the channel at a position or -1.
  int64_t packed_channels() const { return c_blocks * tile_channels * multiplier; }
  int64_t channel_at(int64_t position) const { return position < output_channels ? position : -1; }
};

/// Bytes of x that lie aligned in every pixel: the most channels of a thread.
int64_t widest_vector(const Workload& workload);

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Workload& workload, const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::depthwise
