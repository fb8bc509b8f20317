// The default of dp4a_gemv: the best of a short list of Configs by a compact formula of time.
#include <algorithm>
#include <array>

#include "search_space/arithmetic.h"
#include "search_space/dp4a_gemv/plan.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"

namespace warpwright::dp4a_gemv {

namespace {

/// Cycles of the busiest streaming multiprocessor, roughly: what it issues and fetches, and what nothing hides.
double cycles(const Plan& plan, const Target& target) {
  const int64_t batches = ceil_div(plan.steps, plan.depth);
  const double steps = static_cast<double>(plan.steps);
  const double products = static_cast<double>(plan.thread_m * plan.thread_n * 4);
  const double fetches = static_cast<double>(plan.thread_n + plan.thread_m * (plan.direct_x ? 5 : 1));
  const int64_t vectors = plan.cut.tile_m * plan.cut.x_bytes / few_rows::kVectorBytes;
  const double staged_vectors = static_cast<double>(vectors) / static_cast<double>(plan.cut.threads);
  const double sums = static_cast<double>(power_of_two_above(plan.thread_m * plan.thread_n));
  const double issued = 150 + steps * (products + fetches) + staged_vectors * 25 + sums * 4 +
                        static_cast<double>(plan.cut.store_lanes * (12 + plan.warps_k));

  const int64_t resident = resident_ctas(plan.registers, plan.cut.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double rounds = static_cast<double>(ceil_div(ctas_of_sm, resident));
  const double warps = static_cast<double>(ctas_of_sm * plan.cut.threads) / 32;
  const double issue = warps * (issued + steps * products * 0.5) * 0.25;  // half as many dp4a a cycle as others

  const double bytes_a_cycle = target.memory_gb_per_s * 1e3 / target.sm_clock_mhz / target.sm_count;
  const Resources resources = resources_of(plan);
  const double weights = static_cast<double>(plan.packed_columns() * plan.steps * plan.slices) * few_rows::kVectorBytes;
  const double dram = weights / target.sm_count / bytes_a_cycle;
  const double bytes = static_cast<double>(resources.global_load_bytes);
  // Of the whole card, and of the SM with most CTAs alone.
  const double l2 = std::max(bytes / target.sm_count / 16,
                             bytes / static_cast<double>(plan.ctas) * static_cast<double>(ctas_of_sm) / 40);
  const double waits = static_cast<double>(plan.prefetch ? (batches + 1) / 2 : batches) * 600;
  const double latency = rounds * (issued * 2 + waits + (plan.direct_x ? 0 : staged_vectors / 4 * 150 + 100) + 300);
  // Weights may lie in L2 or not: a Config should be good at both.
  return std::max({issue, l2}) + std::max({issue, l2, dram}) + 2 * latency;
}

constexpr std::array<std::array<int64_t, 2>, 12> kWarps = {
    {{1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}}};

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const Space space = make_space(workload, target);
  const few_rows::Shape shape(workload);
  std::optional<Config> best;
  double best_cycles = 0;
  auto look_at = [&](const Config& config) {
    if (space.why_illegal(config)) return;
    const double time = cycles(Plan(workload, config), target);
    if (!best || time < best_cycles) best = config, best_cycles = time;
  };
  std::vector<int64_t> rows = space.knobs().front().values;
  std::reverse(rows.begin(), rows.end());
  for (const int64_t thread_m : rows) {
    // Few rows at once read the weights often: only where long rows leave no choice.
    if (best && thread_m < std::min<int64_t>(shape.rows, 4)) break;
    for (const int64_t thread_n : {1, 2, 4}) {
      for (const auto& [warps_n, warps_k] : kWarps) {
        for (const int64_t lanes_k : {32, 16, 8, 4}) {
          for (const int64_t depth : {1, 2, 4, 8}) {
            for (const int64_t direct_x : {0, 1}) {
              look_at({kName,
                       kSpaceVersion,
                       {{"thread_m", thread_m},
                        {"thread_n", thread_n},
                        {"lanes_k", lanes_k},
                        {"warps_n", warps_n},
                        {"warps_k", warps_k},
                        {"depth", depth},
                        {"prefetch", 0},
                        {"direct_x", direct_x},
                        {"ctas_per_sm", 1}}});
            }
          }
        }
      }
    }
  }
  if (!best) throw NoLegalConfig("dp4a_gemv", workload, target);
  return *best;
}

}  // namespace warpwright::dp4a_gemv
