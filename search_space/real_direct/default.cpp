// The default of real_direct: enough threads to fill the card, and then as much reuse of what a thread has loaded as
// registers allow.
#include <algorithm>
#include <cmath>
#include <optional>

#include "search_space/arithmetic.h"
#include "search_space/no_legal_config.h"
#include "search_space/real_direct/plan.h"

namespace warpwright::real_direct {

namespace {

/// Cycles of an SM, roughly: what all its warps issue, and what the last of them waits for.
double cycles(const Workload& workload, const Plan& plan, const Target& target) {
  const Resources resources = resources_of(workload, plan, target);
  const auto value = [](int64_t number) { return static_cast<double>(number); };
  const double ctas = value(plan.ctas), per_sm = std::ceil(ctas / target.sm_count);
  const double warps = value(plan.threads) / 32;
  const double lanes = target.compute_capability() <= 80 ? 64 : 128;
  const double products = value(resources.inner_products) / 32 / ctas / warps;
  const double others = value(resources.other_instructions) / ctas / warps;
  const double stores = value(plan.outputs()) * (2 + 4 / value(plan.store_lanes));
  const double issue = per_sm * warps * std::max(products * 32 / lanes, (products + others + stores) / 4);
  const double waits = value(plan.group_channels) * (plan.unroll > 1 ? 200 : 400);
  const double alone = 2 * (products + others + stores) + waits + 1000;
  const double bytes = per_sm * value(resources.global_load_bytes + resources.global_store_bytes) / ctas;
  const double resident =
      std::clamp(value(target.registers_per_sm) / (value(round_up(resources.registers, 8) * plan.threads)), 1.0,
                 1536 / (32 * warps));
  const double rounds = std::max(1.0, per_sm / std::floor(resident));
  return std::max(issue, bytes / 16) + rounds * alone;
}

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  std::optional<Knobs> best;
  double least = 0;
  const auto consider = [&](const Knobs& knobs) {
    const Plan plan(workload, knobs);
    if (!is_legal(workload, plan, target)) return;
    const double now = cycles(workload, plan, target);
    if (!best || now < least) best = knobs, least = now;
  };
  for (const int64_t threads : {32, 64, 128}) {
    for (const int64_t thread_k : {1, 2, 4, 8}) {
      for (const int64_t run_h : powers_of_two(1, power_of_two_above(std::min<int64_t>(8, workload.output.h)))) {
        for (const int64_t run_w : powers_of_two(1, power_of_two_above(std::min<int64_t>(8, workload.output.w)))) {
          for (const int64_t vector : {1, 2, 4}) consider({threads, thread_k, run_h, run_w, vector});
        }
      }
    }
  }
  if (!best) throw NoLegalConfig("real_direct", workload, target);
  return config_of(*best);
}

}  // namespace warpwright::real_direct
