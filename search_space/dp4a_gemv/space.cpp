// The space of dp4a_gemv: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "search_space/arithmetic.h"
#include "search_space/dp4a_gemv/plan.h"
#include "search_space/limits.h"

namespace warpwright::dp4a_gemv {

namespace {

/// Of a tile; the narrowest warp has eight columns.
int64_t most_columns(const few_rows::Shape& shape) {
  return std::max<int64_t>(8, power_of_two_above(shape.stored_columns));
}

std::optional<std::string> why_bad_tile(const Plan& plan, const Target& target) {
  const few_rows::Shape& shape = plan.shape;
  const few_rows::Cut& cut = plan.cut;
  if (cut.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", cut.threads, target.max_threads_per_block, target.name);
  }
  if (cut.tile_n < 4) return fmt::format("a tile of {} columns fills no 4-byte store", cut.tile_n);
  if (cut.tile_n > most_columns(shape)) {
    return fmt::format("a tile of {} columns is hopeless for {} columns", cut.tile_n, shape.stored_columns);
  }
  const int64_t step_bytes = plan.slices * few_rows::kVectorBytes;
  if (plan.slices > 4 && step_bytes > power_of_two_above(shape.reduction)) {
    return fmt::format("{} slices of 16 bytes are hopeless for a reduction of {} bytes", plan.slices, shape.reduction);
  }
  if (plan.direct_x && !shape.readable) return "x does not lie in aligned vectors of 16 bytes, row by row";
  if (plan.depth * plan.thread_m * plan.thread_n * 4 > 2048) {
    return fmt::format("{} products a round are too many to unroll", plan.depth * plan.thread_m * plan.thread_n * 4);
  }
  return std::nullopt;
}

SmDemand demand_of(const Plan& plan) {
  return {.smem_bytes = plan.smem_bytes,
          .registers = plan.registers,
          .threads = plan.cut.threads,
          .ctas_per_sm = plan.ctas_per_sm};
}

/// Two Configs never mean the same code, and none waits for what another does at once.
std::optional<std::string> why_redundant(const Plan& plan, const Target& target) {
  if (plan.depth > plan.steps) return fmt::format("{} loads in flight are more than {} steps", plan.depth, plan.steps);
  if (plan.prefetch && plan.depth == plan.steps) return "all weights are loaded at once: there is no next to prefetch";
  if (plan.ctas_per_sm > 1 && plan.ctas_per_sm > ceil_div(plan.ctas, target.sm_count)) {
    return fmt::format("{} CTAs are less than {} an SM", plan.ctas, plan.ctas_per_sm);
  }
  return std::nullopt;
}

/// The quick check: what most points break.
bool may_be_legal(std::span<const int64_t> values, const few_rows::Shape& shape) {
  const int64_t thread_n = values[1], lanes_k = values[2], warps_n = values[3], warps_k = values[4];
  const int64_t depth = values[5], prefetch = values[6];
  const int64_t tile_n = warps_n * (32 / lanes_k) * thread_n;
  const int64_t steps = ceil_div(shape.reduction, lanes_k * warps_k * few_rows::kVectorBytes);
  return tile_n >= 4 && tile_n <= most_columns(shape) && depth + prefetch <= steps;
}

}  // namespace

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (auto reason = few_rows::why_unsupported(workload, target, 1)) return reason;
  if (target.compute_capability() < 61) return fmt::format("{} has no dp4a", target.name);
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const few_rows::Shape shape(workload);
  std::vector<int64_t> rows = powers_of_two(1, std::min<int64_t>(16, shape.rows));
  if (shape.rows <= 16 && rows.back() != shape.rows) rows.push_back(shape.rows);
  const int64_t slices = std::max<int64_t>(4, power_of_two_above(shape.reduction) / few_rows::kVectorBytes);
  const int64_t most_lanes_k = std::min<int64_t>(32, slices);
  const int64_t columns = most_columns(shape) * most_lanes_k / 32;  // of the lanes along N
  const int64_t most_steps = ceil_div(shape.reduction, 4 * few_rows::kVectorBytes);
  const int64_t most_ctas = ceil_div(shape.rows * ceil_div(shape.stored_columns, 4), target.sm_count);
  std::vector<int64_t> depths;
  for (const int64_t depth : {1, 2, 3, 4, 6, 8}) {
    if (depth <= most_steps) depths.push_back(depth);
  }
  std::vector<Knob> knobs = {
      {"thread_m", rows},
      {"thread_n", powers_of_two(1, std::clamp<int64_t>(columns, 1, 8))},
      {"lanes_k", powers_of_two(4, most_lanes_k)},
      {"warps_n", powers_of_two(1, std::clamp<int64_t>(columns, 1, 8))},
      {"warps_k", powers_of_two(1, std::clamp<int64_t>(slices / 4, 1, 16))},
      {"depth", depths},
      {"prefetch", most_steps > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"direct_x", shape.readable ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"ctas_per_sm", powers_of_two(1, std::min<int64_t>(8, most_ctas))},
  };
  auto why_illegal = [workload, target](const Config& config) {
    const Plan plan(workload, config);
    auto reason = why_bad_tile(plan, target);
    if (!reason) reason = why_too_much(demand_of(plan), target);
    return reason ? reason : why_redundant(plan, target);
  };
  return Space(kName, kSpaceVersion, std::move(knobs), why_illegal,
               [shape](std::span<const int64_t> values) { return may_be_legal(values, shape); });
}

}  // namespace warpwright::dp4a_gemv
