// The space of real_gemm: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/limits.h"
#include "search_space/real_gemm/plan.h"
#include "src/core/error.h"

namespace warpwright::real_gemm {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostThreads = 512, kMostTile = 256, kMostOutputs = 128, kMostCopies = 32, kMostProducts = 2048;
constexpr int64_t kMostElements = kMostIndex - 2 * kMostTile;  // tiles reach beyond the last row and column
constexpr int64_t kMostPadding = int64_t{1} << 30;

/// What needs neither Plan nor Shape: most points fall here.
Flaw flaw_of(const Knobs& knobs) {
  const int64_t outputs = knobs.thread_m * knobs.thread_n, lanes_n = 32 / knobs.lanes_m;
  if (knobs.warps_m * knobs.warps_n * 32 > kMostThreads) return Flaw::threads;
  if (outputs > kMostOutputs) return Flaw::outputs;
  if (knobs.thread_m * knobs.lanes_m * knobs.warps_m > kMostTile) return Flaw::tile;
  if (knobs.thread_n * lanes_n * knobs.warps_n > kMostTile) return Flaw::tile;
  if (knobs.run_n > knobs.thread_n || knobs.run_n * knobs.run_k > 4) return Flaw::run;
  if (knobs.async != 0 ? knobs.stages < 2 : knobs.stages > 2) return Flaw::stages;
  if (knobs.unroll > knobs.tile_k) return Flaw::unroll;
  if (knobs.unroll * outputs > kMostProducts) return Flaw::code_size;
  return Flaw::legal;
}

SmDemand demand_of(const Plan& plan) { return {plan.smem_bytes, plan.registers, plan.threads, plan.ctas_per_sm}; }

/// Hopeless for the shape, or the same as another Config.
Flaw shape_flaw(const Plan& plan) {
  const Shape& shape = plan.shape;
  if (plan.tile_m > power_of_two_above(shape.rows)) return Flaw::rows;
  if (plan.tile_n > std::max<int64_t>(32, power_of_two_above(shape.columns))) return Flaw::columns;
  if (plan.tile_k > std::max<int64_t>(4, power_of_two_above(shape.depth))) return Flaw::k_tile;
  if (plan.stages > (plan.async != 0 ? std::max<int64_t>(2, plan.k_tiles + 1) : plan.k_tiles)) return Flaw::stages;
  if (plan.columns_first != 0 && (plan.m_tiles == 1 || plan.n_tiles == 1)) return Flaw::columns_first;
  return Flaw::legal;
}

std::string sentence(Flaw flaw, const Plan& plan, const Target& target) {
  const Shape& shape = plan.shape;
  switch (flaw) {
    case Flaw::threads:
      return fmt::format("{} threads a CTA are more than {}", plan.threads, kMostThreads);
    case Flaw::tile:
      return fmt::format("a tile of {} x {} is beyond {}", plan.tile_m, plan.tile_n, kMostTile);
    case Flaw::outputs:
      return fmt::format("{} x {} outputs a thread are more than {}", plan.thread_m, plan.thread_n, kMostOutputs);
    case Flaw::run:
      return fmt::format("{} columns of a thread hold no {} side by side that are read at once with {} of K",
                         plan.thread_n, plan.run_n, plan.run_k);
    case Flaw::stages:
      return fmt::format("{} stages do not go with {} copies of {} K tile(s)", plan.stages,
                         plan.async != 0 ? "asynchronous" : "held", plan.k_tiles);
    case Flaw::unroll:
      return fmt::format("cannot unroll {} of {} steps of K", plan.unroll, plan.tile_k);
    case Flaw::limits:
      return why_too_much(demand_of(plan), target).value_or("");
    case Flaw::copies:
      return fmt::format("{} + {} copies a thread and K tile are too many", plan.a.copies(), plan.b.copies());
    case Flaw::code_size:
      return fmt::format("{} products in the body of the loop are too many",
                         plan.unroll * plan.thread_m * plan.thread_n);
    case Flaw::rows:
      return fmt::format("a tile of {} rows is hopeless for {} rows", plan.tile_m, shape.rows);
    case Flaw::columns:
      return fmt::format("a tile of {} columns is hopeless for {} columns", plan.tile_n, shape.columns);
    case Flaw::k_tile:
      return fmt::format("tile_k {} is hopeless for sums of {}", plan.tile_k, shape.depth);
    case Flaw::columns_first:
      return "with one tile along an axis the order of tiles is no choice";
    case Flaw::grid:
      return fmt::format("{} tiles exceed the grid", plan.ctas);
    case Flaw::legal:
      break;
  }
  throw InternalError("no flaw of a Plan");
}

}  // namespace

Flaw flaw_of(const Plan& plan, const Target& target) {
  if (const Flaw flaw = flaw_of(static_cast<const Knobs&>(plan)); flaw != Flaw::legal) return flaw;
  if (const Flaw flaw = shape_flaw(plan); flaw != Flaw::legal) return flaw;
  if (plan.a.copies() > kMostCopies || plan.b.copies() > kMostCopies) return Flaw::copies;
  if (plan.ctas > kMostIndex) return Flaw::grid;
  if (why_too_much(demand_of(plan), target)) return Flaw::limits;
  return Flaw::legal;
}

std::optional<std::string> why_unsupported(const Workload& workload) {
  if (workload.kind != OpKind::real_conv2d && workload.kind != OpKind::real_matmul) {
    return "it is no real_conv2d or real_matmul";
  }
  const auto why_large = [](const char* tensor, int64_t elements) {
    return fmt::format("{} has {} elements, more than {}", tensor, elements, kMostElements);
  };
  for (const TensorForm& input : workload.inputs) {
    if (input.buffer_elements() > kMostElements) return why_large("an input", input.buffer_elements());
  }
  if (workload.output.buffer_elements() > kMostElements) return why_large("y", workload.output.buffer_elements());
  const Shape shape(workload);
  const int64_t weights = shape.matrices * shape.depth *
                          (shape.convolution             ? shape.rows
                           : workload.inputs.size() == 1 ? shape.columns
                                                         : 0);
  if (weights > kMostElements) return why_large("weights", weights);
  const Window& window = workload.window;
  const TensorForm& x = workload.inputs[0];
  if (x.h + window.pad_top + window.pad_bottom > kMostPadding ||
      x.w + window.pad_left + window.pad_right > kMostPadding) {
    return fmt::format("with its padding the image is wider than {}", kMostPadding);
  }
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const Shape shape(workload);
  const bool has_copies = target.compute_capability() >= 80;
  const int64_t rows = power_of_two_above(shape.rows);
  const int64_t columns = std::max<int64_t>(32, power_of_two_above(shape.columns));
  const int64_t depth = std::max<int64_t>(4, power_of_two_above(shape.depth));
  const bool has_order = shape.rows > 1 && shape.columns > 1;
  std::vector<Knob> knobs = {
      {"thread_m", powers_of_two(1, std::min<int64_t>(16, rows))},
      {"thread_n", powers_of_two(1, std::min<int64_t>(16, columns))},
      {"lanes_m", powers_of_two(1, std::min<int64_t>(32, rows))},
      {"warps_m", powers_of_two(1, std::min<int64_t>(8, rows))},
      {"warps_n", powers_of_two(1, std::min<int64_t>(8, columns))},
      {"tile_k", powers_of_two(4, std::min<int64_t>(32, depth))},
      {"run_k", {1, 4}},
      {"stages", has_copies ? std::vector<int64_t>{1, 2, 3, 4, 5} : std::vector<int64_t>{1, 2}},
      {"async", has_copies ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"unroll", powers_of_two(4, std::min<int64_t>(32, depth))},
      {"run_n", {1, 2, 4}},
      {"columns_first", has_order ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"ctas_per_sm", {1, 2, 3, 4, 6, 8}},
  };
  auto why_illegal = [shape, target](const Config& config) -> std::optional<std::string> {
    const Plan plan(shape, knobs_of(config));
    const Flaw flaw = flaw_of(plan, target);
    if (flaw == Flaw::legal) return std::nullopt;
    return sentence(flaw, plan, target);
  };
  auto may_be_legal = [shape](std::span<const int64_t> values) {
    const Knobs point = knobs_of(values);
    return flaw_of(point) == Flaw::legal && shape_flaw(Plan(shape, point)) == Flaw::legal;
  };
  return Space(kName, kSpaceVersion, std::move(knobs), why_illegal, may_be_legal);
}

}  // namespace warpwright::real_gemm
