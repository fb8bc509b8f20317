// The arithmetic of one depthwise kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright::depthwise {

inline constexpr char kName[] = "depthwise";
inline constexpr int kSpaceVersion = 2;

/// Where a thread reads its input from.
enum class Staging : int64_t {
  none = 0,    // global memory, straight into registers
  loads = 1,   // the CTA's tile in shared memory, by loads and stores
  copies = 2,  // the same, by cp.async
};

struct Plan {
  Plan(const Workload& workload, const Config& config);

  // Order of the loops over rows. One output row (run_h 1): the loop over filter rows is rolled (0) or unrolled (1).
  // Several: each input row serves all output rows that it touches (0); each output row is made at once from input
  // rows that are kept (1); each filter row serves all output rows, so that its weights are loaded once (2).
  bool is_unrolled() const { return run_h > 1 || row_order == 1; }
  bool rows_kept() const { return run_h > 1 && row_order == 1; }
  bool filter_rows_first() const { return run_h > 1 && row_order == 2; }
  /// How often a thread loads its constants.
  int64_t constant_loads() const { return run_h == 1 || constants_kept || filter_rows_first() ? 1 : run_h; }

  // knobs
  int64_t channels;                   // input channels of a thread: 4, 8 or 16
  int64_t run_w, run_h;               // output pixels of a thread
  int64_t block_c, block_w, block_h;  // threads of a CTA along channels, columns and rows
  Staging staging;
  bool transposed;
  int64_t row_order;    // see above
  bool constants_kept;  // weights, bias and multipliers stay in registers from output row to output row
  bool rows_first;      // threads side by side: channels, rows, columns; else channels, columns, rows
  bool channels_last;   // CTAs side by side: columns, rows, images, channels; else channels first
  bool roomy;           // registers for half of the CTAs that an SM could hold
  // what follows
  int64_t multiplier;  // output channels an input channel
  int64_t part;        // of these, what one thread makes: all up to 4, else 1
  int64_t parts;       // multiplier / part
  int64_t input_channels, output_channels;
  int64_t covered_lanes;  // output lanes that the outputs' own stores write
  int64_t vectors;        // threads along channels that have work
  int64_t store_lanes;
  int64_t threads, ctas, c_blocks, w_blocks, h_blocks;
  int64_t padded_channels;                      // input channels of all threads
  int64_t in_cols, in_rows;                     // of the input, under the outputs of a thread
  int64_t used_rows;                            // of in_rows, what a filter row meets
  int64_t group, groups;                        // neighbouring outputs that share quads of pixels; of these a thread
  int64_t quads;                                // words of four pixels under a group, a row; untransposed 0
  int64_t tile_cols, tile_rows, tile_channels;  // of the input, under the outputs of a CTA
  int64_t copy_vector;                          // bytes that a thread copies to shared memory at once
  int64_t step_w, step_h;                       // of the input, from thread to thread
  int64_t phase_pitch, row_pitch;               // bytes in shared memory: columns of equal x % step_w lie together
  int64_t smem_bytes;
  int64_t row_vectors;  // vectors of packed weights of a filter row for `channels` channels and `part` outputs
  int64_t registers;
  int64_t products;  // dp4a and byte permutations of a thread

  /// As many CTAs must find registers on an SM.
  int64_t ctas_per_sm(const Target& target) const;
  /// Ways of the worst bank conflict when a warp reads the tile.
  int64_t tile_conflicts() const;
  int64_t packed_channels() const { return padded_channels * multiplier; }
  /// The output channel at a position of a packed per-channel argument, or -1.
  int64_t channel_at(int64_t position) const;

 private:
  void cover(const Workload& workload);
  void lay_out_tile(const Workload& workload);
  void count(const Workload& workload);
};

/// Input channels of threads that have work: those of x, and where the lanes behind the outputs' channels need more.
int64_t channels_with_pads(const Workload& workload);

/// Bytes of x that lie aligned in every pixel: the most channels of a thread.
int64_t widest_vector(const Workload& workload);

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
/// nullopt for a legal plan; `plan` is that of a Config from the space's knobs.
std::optional<std::string> why_illegal(const Workload& workload, const Plan& plan, const Target& target);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Workload& workload, const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::depthwise
