// The default of mma_swapped: the best of a short list of Configs by a compact formula of time.
#include <algorithm>
#include <array>

#include "search_space/arithmetic.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma_swapped/plan.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"

namespace warpwright::mma_swapped {

namespace {

/// Cycles of the busiest streaming multiprocessor, roughly: what it issues and fetches, and what nothing hides.
double cycles(const Plan& plan, const Target& target) {
  const int64_t batches = ceil_div(plan.steps, plan.depth);
  const double steps = static_cast<double>(plan.steps);
  const double multiplications = static_cast<double>(plan.warp_tiles * plan.row_tiles * 2);
  const double fetches = static_cast<double>(2 * plan.warp_tiles + plan.row_tiles * (plan.direct_x ? 5 : 1));
  const int64_t vectors = plan.cut.tile_m * plan.cut.x_bytes / few_rows::kVectorBytes;
  const double staged_vectors = static_cast<double>(vectors) / static_cast<double>(plan.cut.threads);
  const double sums = static_cast<double>(plan.warp_tiles * plan.row_tiles * 4);
  const double units = static_cast<double>(ceil_div(plan.cut.tile_m * plan.cut.tile_n, plan.cut.threads));
  const double outputs = std::max(units, static_cast<double>(plan.cut.store_lanes));
  const double issued = 150 + steps * (multiplications + fetches) + staged_vectors * 25 + sums * 2 +
                        outputs * static_cast<double>(12 + plan.warps_k + (plan.splits > 1 ? plan.splits + 8 : 0));

  const int64_t resident = resident_ctas(plan.registers, plan.cut.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double rounds = static_cast<double>(ceil_div(ctas_of_sm, resident));
  const double warps = static_cast<double>(ctas_of_sm * plan.cut.threads) / 32;
  // 1024 products a cycle: a multiplication of 16 x 8 x 32 takes 4 cycles of the SM, with the smaller one twice that.
  const double tensor = warps * steps * multiplications * (plan.instruction == mma::kAmpereDepth ? 4 : 8);
  const double issue = warps * issued * 0.25;

  const double bytes_a_cycle = target.memory_gb_per_s * 1e3 / target.sm_clock_mhz / target.sm_count;
  const Resources resources = resources_of(plan);
  const double weights =
      static_cast<double>(plan.packed_columns() * plan.splits * plan.steps * plan.warps_k) * kStepBytes;
  const double dram = weights / target.sm_count / bytes_a_cycle;
  const double bytes = static_cast<double>(resources.global_load_bytes + resources.global_store_bytes);
  // Of the whole card, and of the SM with most CTAs alone.
  const double l2 = std::max(bytes / target.sm_count / 16,
                             bytes / static_cast<double>(plan.ctas) * static_cast<double>(ctas_of_sm) / 40);
  const double waits = static_cast<double>(plan.pipeline == Pipeline::registers ? batches : (batches + 1) / 2) * 600;
  const double split_latency = plan.splits > 1 ? 1500 : 0;
  const double latency =
      rounds * (issued * 2 + waits + (plan.direct_x ? 0 : staged_vectors / 4 * 150 + 100) + 300) + split_latency;
  // Weights may lie in L2 or not: a Config should be good at both.
  return std::max({issue, tensor, l2}) + std::max({issue, tensor, l2, dram}) + 2 * latency;
}

constexpr std::array<std::array<int64_t, 2>, 11> kWarps = {
    {{1, 1}, {1, 2}, {1, 4}, {1, 8}, {1, 16}, {2, 1}, {2, 2}, {2, 4}, {2, 8}, {4, 1}, {4, 2}}};

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const Space space = make_space(workload, target);
  const int64_t instruction = space.knobs().front().values.front();
  const std::vector<int64_t>& rows = space.knobs().at(2).values;
  std::optional<Config> best;
  double best_cycles = 0;
  auto look_at = [&](const Config& config) {
    if (space.why_illegal(config)) return;
    const double time = cycles(Plan(workload, config), target);
    if (!best || time < best_cycles) best = config, best_cycles = time;
  };
  for (const int64_t row_tiles : rows) {
    for (const int64_t warp_tiles : {1, 2}) {
      for (const auto& [warps_n, warps_k] : kWarps) {
        for (const int64_t splits : {1, 2, 4, 8}) {
          for (const int64_t depth : {1, 2, 4, 8}) {
            for (const int64_t direct_x : {0, 1}) {
              look_at({kName,
                       kSpaceVersion,
                       {{"instruction", instruction},
                        {"warp_tiles", warp_tiles},
                        {"row_tiles", row_tiles},
                        {"warps_n", warps_n},
                        {"warps_k", warps_k},
                        {"splits", splits},
                        {"depth", depth},
                        {"pipeline", 0},
                        {"direct_x", direct_x},
                        {"ctas_per_sm", 1}}});
            }
          }
        }
      }
    }
  }
  if (!best) throw NoLegalConfig("mma_swapped", workload, target);
  return *best;
}

}  // namespace warpwright::mma_swapped
