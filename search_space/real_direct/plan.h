// The arithmetic of one real_direct kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include <span>
#include <vector>

#include "search_space/kernel_family.h"

namespace warpwright::real_direct {

inline constexpr char kName[] = "real_direct";
inline constexpr int kSpaceVersion = 1;

struct Knobs {
  int64_t threads = 32, thread_k = 1, run_h = 1, run_w = 1, vector = 1, unroll = 1, ctas_per_sm = 1;
};
Knobs knobs_of(const Config& config);
Knobs knobs_of(std::span<const int64_t> values);
Config config_of(const Knobs& knobs);

/// A Workload under Knobs.
struct Plan : Knobs {
  Plan(const Workload& workload, const Knobs& knobs);

  int64_t group_channels, group_outputs, taps;
  int64_t p_blocks, q_blocks, k_blocks, items, ctas;  // an item: the outputs of a thread
  int64_t window_h, window_w;                         // of x, for the outputs of a thread
  int64_t skip;                                       // floats from the first that is loaded to the first of the window
  int64_t store_lanes;
  bool leaves_h, leaves_w;  // some thread's window does not lie inside the image
  int64_t loads_of_body;    // floats of x and weights: the compiler loads them as early as registers let it
  int64_t registers;        // the least, a thread; estimate

  int64_t vectors() const { return (skip + window_w + vector - 1) / vector; }
  int64_t outputs() const { return thread_k * run_h * run_w; }
};

/// Rows of a thread's window, and vectors of a row, that some tap meets.
std::vector<int64_t> used_rows(const Workload& workload, const Plan& plan);
std::vector<int64_t> used_vectors(const Workload& workload, const Plan& plan);

std::optional<std::string> why_unsupported(const Workload& workload);
Space make_space(const Workload& workload, const Target& target);
/// Without text.
bool is_legal(const Workload& workload, const Plan& plan, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
Resources resources_of(const Workload& workload, const Plan& plan, const Target& target);
KernelSource emit_kernel(const Workload& workload, const Config& config);
Tensor pack_argument(const Workload& workload, const Plan& plan, const std::string& argument, const Values& values);

}  // namespace warpwright::real_direct
