// The default of depthwise: the best of its Configs by a compact formula of time.
#include <algorithm>
#include <cmath>

#include "search_space/arithmetic.h"
#include "search_space/depthwise/plan.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::depthwise {

namespace {

constexpr int64_t kSectorBytes = 32;

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Workload& workload, const Plan& plan, const Target& target) {
  const double warps = std::ceil(static_cast<double>(plan.threads) / 32);
  const double outputs = static_cast<double>(plan.run_w * plan.run_h * plan.channels * plan.part);
  const double words = static_cast<double>(plan.channels) / 4;
  const int64_t vectors_a_part = plan.weight_vectors / plan.parts;
  const double loads =
      static_cast<double>(plan.in_cols * plan.in_rows) * 3 + static_cast<double>(vectors_a_part) * words;
  const double copies = plan.shared_tile ? static_cast<double>(plan.tile_cols * plan.tile_rows * plan.tile_channels) /
                                               static_cast<double>(plan.copy_vector * plan.threads) * 20
                                         : 0;
  const double issued = static_cast<double>(plan.products) + loads + copies + outputs * 8 + 80;
  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double all_warps = static_cast<double>(ctas_of_sm) * warps;
  const double rounds = static_cast<double>(ceil_div(ctas_of_sm, resident));
  const double dot = all_warps * static_cast<double>(plan.products) * 0.5;
  const double conversion = all_warps * outputs * 2.5;
  // A rolled loop waits for the loads of every filter row.
  const double waits = plan.unrolled ? 1.0 : static_cast<double>(workload.window.kernel_h);
  const double latency = rounds * (issued * 2 + (plan.shared_tile ? 1300 : 600 + 450 * waits));
  // Lanes side by side read neighbouring channels; memory moves whole sectors.
  const int64_t side_by_side = std::min<int64_t>(32, plan.block_c) * plan.channels;
  const double waste = static_cast<double>(round_up(side_by_side, kSectorBytes)) / static_cast<double>(side_by_side);
  const Resources resources = resources_of(workload, plan);
  const double l1 = static_cast<double>(resources.global_load_bytes) * waste / target.sm_count / 128;
  const int64_t tile_bytes = plan.tile_rows * plan.tile_cols * round_up(plan.tile_channels, kSectorBytes);
  const int64_t weight_bytes = plan.weight_vectors * plan.tile_channels * 4;
  const double l2 = (static_cast<double>(plan.ctas * (tile_bytes + weight_bytes)) +
                     static_cast<double>(resources.global_store_bytes) * waste) /
                    target.sm_count / 16;
  double sum = 0;
  for (const double bound : {dot, all_warps * issued * 0.25, conversion, latency, l1, l2}) sum += std::pow(bound, 4);
  return std::pow(sum, 0.25);
}

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const std::optional<Config> best = make_space(workload, target).cheapest([&](const Config& config) {
    return cycles(workload, Plan(workload, config), target);
  });
  if (!best) throw InternalError("no default of depthwise for " + workload.summary());
  return *best;
}

}  // namespace warpwright::depthwise
