// The default of stem: the best of its Configs by a compact formula of time.
#include <algorithm>
#include <cmath>

#include "search_space/arithmetic.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"
#include "search_space/stem/plan.h"

namespace warpwright::stem {

namespace {

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Workload& workload, const Plan& plan, const Target& target) {
  const Window& window = workload.window;
  const double warps = std::ceil(static_cast<double>(plan.threads) / 32);
  const double taps = static_cast<double>(window.kernel_h * window.kernel_w);
  const double outputs = static_cast<double>(plan.run_w * plan.channels);
  const double products = taps * outputs;
  const double reads = taps * static_cast<double>(plan.channels) / 4 +
                       static_cast<double>(window.kernel_h * ceil_div(plan.in_cols, plan.word_vector));
  const int64_t weight_copies = plan.direct_weights ? 0 : plan.weight_bytes / 16 / plan.threads * 4;
  const double copies =
      static_cast<double>(ceil_div(plan.tile_bytes / 4, plan.threads) * 16) + static_cast<double>(weight_copies);
  const double issued = products + reads * 1.2 + copies + outputs * 8 + 100;
  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double all_warps = static_cast<double>(ctas_of_sm) * warps;
  const double rounds = static_cast<double>(ceil_div(ctas_of_sm, resident));
  // A rolled loop waits for the shared loads of every filter row.
  const double waits = plan.unrolled ? 1.0 : static_cast<double>(window.kernel_h);
  const double latency = rounds * (issued * 2 + 1550 + 60 * waits);
  const Resources resources = resources_of(workload, plan);
  const double l2 = static_cast<double>(resources.global_load_bytes + resources.global_store_bytes) / target.sm_count /
                    (plan.direct_weights ? 64 : 16);
  double sum = 0;
  for (const double bound : {all_warps * products * 0.5, all_warps * issued * 0.25, all_warps * reads * 2,
                             all_warps * outputs * 2.5, latency, l2}) {
    sum += std::pow(bound, 4);
  }
  return std::pow(sum, 0.25);
}

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const std::optional<Config> best = make_space(workload, target).cheapest([&](const Config& config) {
    return cycles(workload, Plan(workload, config), target);
  });
  if (!best) throw NoLegalConfig("stem", workload, target);
  return *best;
}

}  // namespace warpwright::stem
