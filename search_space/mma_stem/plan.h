// The arithmetic of one mma_stem kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright::mma_stem {

inline constexpr char kName[] = "mma_stem";
inline constexpr int kSpaceVersion = 1;
/// Taps of one word of each of the four lanes of a row, and of one step of K.
inline constexpr int64_t kGroupTaps = 4, kStepTaps = 8;

enum class WeightsIn { shared = 0, global = 1, registers = 2 };

struct Plan {
  Plan(const Workload& workload, const Config& config);

  // knobs
  int64_t instruction;       // depth of mma: 16 or 32
  int64_t tile_h, tile_w;    // output pixels of a tile
  int64_t warps_m, warps_n;  // warps of a CTA along pixels and channels
  int64_t warp_m, warp_n;    // pixels and channels that a warp multiplies at once
  bool flat_taps;            // taps one behind the other, else each filter row filled up to a group
  WeightsIn weights_in;
  bool async;           // the input travels by cp.async, else through registers
  int64_t tiles;        // of a CTA, one after the other; the next one's input is on its way meanwhile
  int64_t ctas_per_sm;  // for which the compiler must find registers
  // what follows
  int64_t threads, ctas, c_blocks, w_blocks, h_blocks, all_tiles;
  int64_t tile_n;  // channels of a CTA
  int64_t passes;  // of a warp over its pixels of a tile
  int64_t row_taps, groups, steps;
  int64_t vector;                          // pixels that a thread copies at once: 1, 2 or 4
  int64_t lead;                            // columns in front of the first tap, for aligned vectors
  int64_t patch_rows, row_vectors, pitch;  // of the input in shared memory, padding included; pitch in pixels
  int64_t patch_vectors, patch_loads;      // of a tile; of a thread
  int64_t patch_bytes, weight_bytes;       // of a tile; of a CTA
  int64_t smem_weights_at, smem_bytes;
  int64_t covered_lanes;     // output lanes that the outputs' own stores write
  int64_t run, store_lanes;  // neighbouring channels of a lane; stored at once
  int64_t registers;
  int64_t output_channels;

  int64_t column_tiles() const { return warp_n / 8; }
  /// Elements of a packed per-channel argument, and the channel at a position or -1.
  int64_t packed_channels() const { return c_blocks * tile_n; }
  int64_t channel_at(int64_t position) const { return position < output_channels ? position : -1; }
};

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target);
std::optional<std::string> why_illegal(const Workload& workload, const Plan& plan, const Target& target);
/// By tile_h, tile_w, warps_m, warps_n, warp_m and warp_n alone.
QuickCheck quick_check(const Workload& workload);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Workload& workload, const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target);
Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values);

}  // namespace warpwright::mma_stem
