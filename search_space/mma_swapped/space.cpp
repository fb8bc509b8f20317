// The space of mma_swapped: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "search_space/arithmetic.h"
#include "search_space/limits.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma_swapped/plan.h"

namespace warpwright::mma_swapped {

namespace {

std::vector<int64_t> up_to(int64_t most, std::vector<int64_t> values) {
  std::erase_if(values, [most](int64_t value) { return value > most; });
  return values;
}

/// Of a tile.
int64_t most_columns(const few_rows::Shape& shape) {
  return std::max<int64_t>(kTileChannels, power_of_two_above(shape.stored_columns));
}

std::optional<std::string> why_bad_tile(const Plan& plan, const Target& target) {
  const few_rows::Shape& shape = plan.shape;
  const few_rows::Cut& cut = plan.cut;
  if (cut.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", cut.threads, target.max_threads_per_block, target.name);
  }
  if (cut.tile_n > most_columns(shape)) {
    return fmt::format("a tile of {} columns is hopeless for {} columns", cut.tile_n, shape.stored_columns);
  }
  if (plan.warps_k > 1 && plan.warps_k * kStepBytes > power_of_two_above(shape.reduction)) {
    return fmt::format("{} warps along K are hopeless for a reduction of {} bytes", plan.warps_k, shape.reduction);
  }
  if ((plan.splits - 1) * plan.steps >= plan.all_steps) {
    return fmt::format("{} steps along K do not fill {} splits", plan.all_steps, plan.splits);
  }
  if (plan.direct_x && !shape.readable) return "x does not lie in aligned vectors of 16 bytes, row by row";
  if (plan.pipeline == Pipeline::copy_async && target.compute_capability() < 80) {
    return fmt::format("{} has no cp.async", target.name);
  }
  if (plan.depth * plan.warp_tiles * plan.row_tiles * 2 > 256) {
    return fmt::format("{} multiplications a round are too many to unroll",
                       plan.depth * plan.warp_tiles * plan.row_tiles * 2);
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
  if (plan.pipeline != Pipeline::registers && plan.depth == plan.steps) {
    return "all weights are loaded at once: there is nothing to fetch meanwhile";
  }
  if (plan.pipeline == Pipeline::copy_async && plan.depth == 1) return "a ring of one place copies nothing ahead";
  if (plan.ctas_per_sm > 1 && plan.ctas_per_sm > ceil_div(plan.ctas, target.sm_count)) {
    return fmt::format("{} CTAs are less than {} an SM", plan.ctas, plan.ctas_per_sm);
  }
  return std::nullopt;
}

/// The quick check: what most points break.
bool may_be_legal(std::span<const int64_t> values, const few_rows::Shape& shape) {
  const int64_t warp_tiles = values[1], warps_n = values[3], warps_k = values[4], splits = values[5];
  const int64_t depth = values[6], pipeline = values[7];
  const int64_t all_steps = ceil_div(shape.reduction, warps_k * kStepBytes), steps = ceil_div(all_steps, splits);
  return warps_n * warp_tiles * kTileChannels <= most_columns(shape) && (splits - 1) * steps < all_steps &&
         depth + (pipeline != 0 ? 1 : 0) <= steps;
}

}  // namespace

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (auto reason = few_rows::why_unsupported(workload, target, kTileRows)) return reason;
  if (target.compute_capability() < 75) return fmt::format("{} has no tensor cores for 8-bit integers", target.name);
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const few_rows::Shape shape(workload);
  const int64_t row_tiles = ceil_div(shape.rows, kTileRows);
  const int64_t most_steps = ceil_div(shape.reduction, kStepBytes);
  const int64_t column_tiles = most_columns(shape) / kTileChannels;
  std::vector<int64_t> rows = up_to(row_tiles - 1, {1, 2, 4});
  rows.push_back(row_tiles);
  std::vector<int64_t> instructions = {mma::kTuringDepth}, pipelines = {0};
  if (target.compute_capability() >= 80) instructions = {mma::kAmpereDepth, mma::kTuringDepth};
  if (most_steps > 1)
    pipelines = target.compute_capability() >= 80 ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{0, 1};
  const std::vector<int64_t> splits = up_to(most_steps, {1, 2, 3, 4, 6, 8, 12, 16});
  const int64_t most_ctas = row_tiles * ceil_div(shape.stored_columns, kTileChannels) * splits.back();
  std::vector<Knob> knobs = {
      {"instruction", instructions},
      {"warp_tiles", up_to(column_tiles, {1, 2, 4})},
      {"row_tiles", rows},
      {"warps_n", up_to(column_tiles, {1, 2, 4, 8})},
      {"warps_k", up_to(power_of_two_above(most_steps), {1, 2, 4, 8, 16})},
      {"splits", splits},
      {"depth", up_to(most_steps, {1, 2, 3, 4, 6, 8})},
      {"pipeline", pipelines},
      {"direct_x", shape.readable ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"ctas_per_sm", up_to(ceil_div(most_ctas, target.sm_count), {1, 2, 4, 8})},
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

}  // namespace warpwright::mma_swapped
