// The space of mma_matmul: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/limits.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma_matmul/plan.h"

namespace warpwright::mma_matmul {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostBatch = 65535;  // blockIdx.y
constexpr int64_t kMostHeldWords = 64;

std::optional<std::string> why_bad_tile(const Plan& plan, const Target& target) {
  if (plan.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", plan.threads, target.max_threads_per_block, target.name);
  }
  if (plan.tile_m > std::max<int64_t>(16, power_of_two_above(plan.shape.rows))) {
    return fmt::format("a tile of {} rows is hopeless for {} rows", plan.tile_m, plan.shape.rows);
  }
  if (plan.tile_n > std::max<int64_t>(16, power_of_two_above(plan.shape.stored_columns))) {
    return fmt::format("a tile of {} columns is hopeless for {} columns", plan.tile_n, plan.shape.stored_columns);
  }
  if (plan.tile_k > std::max<int64_t>(32, power_of_two_above(plan.shape.depth))) {
    return fmt::format("tile_k {} is hopeless for a depth of {}", plan.tile_k, plan.shape.depth);
  }
  if (plan.a_row_step < 1 || (plan.shape.transposed && plan.b_row_step < 1)) {
    return fmt::format("{} threads do not copy a row of {} bytes at once", plan.threads, plan.tile_k);
  }
  if (plan.ctas > kMostIndex) return fmt::format("{} CTAs exceed the grid", plan.ctas);
  return std::nullopt;
}

std::optional<std::string> why_unfit(const Plan& plan, const Target& target) {
  const bool ampere = target.compute_capability() >= 80;
  if (plan.depth == mma::kAmpereDepth && !ampere) return fmt::format("{} has no m16n8k32", target.name);
  if (plan.async != 0 && !ampere) return fmt::format("{} has no cp.async", target.name);
  if (plan.async == 0 && plan.stages != 2) return "what waits in registers is stored one stage ahead: stages must be 2";
  return std::nullopt;
}

std::optional<std::string> why_too_much(const Plan& plan, const Target& target) {
  const SmDemand demand{.smem_bytes = plan.smem_bytes,
                        .registers = plan.registers,
                        .threads = plan.threads,
                        .ctas_per_sm = plan.ctas_per_sm};
  if (auto reason = warpwright::why_too_much(demand, target)) return reason;
  const int64_t b_words = plan.shape.transposed ? plan.shape.b.vector / 4 : 16;
  if (plan.a_loads > 16 || plan.b_loads * b_words > kMostHeldWords) {
    return fmt::format("{} + {} copies a thread and step are too many", plan.a_loads, plan.b_loads);
  }
  return std::nullopt;
}

/// Two Configs never mean the same code: of equal ones only one is legal.
std::optional<std::string> why_redundant(const Plan& plan) {
  if (plan.fragment_buffers > 1 && plan.steps == 1) return "one step of a tile has nothing to load ahead";
  if (plan.stages > 2 && plan.stages > plan.split_tiles + 1) {
    return fmt::format("{} steps of K do not fill {} stages", plan.split_tiles, plan.stages);
  }
  if (plan.columns_first != 0 && (plan.m_tiles == 1 || plan.n_tiles == 1)) {
    return "with one tile along an axis the order of tiles is no choice";
  }
  const int64_t inner = plan.columns_first != 0 ? plan.n_tiles : plan.m_tiles;
  const int64_t outer = plan.columns_first != 0 ? plan.m_tiles : plan.n_tiles;
  if (plan.raster_group > 1 && (inner == 1 || plan.raster_group > outer)) {
    return fmt::format("{} x {} tiles do not fill bands of {}", outer, inner, plan.raster_group);
  }
  if (plan.split_k > 1 && (plan.split_k - 1) * plan.split_tiles >= plan.k_tiles) {
    return fmt::format("{} steps of K leave one of {} splits empty", plan.k_tiles, plan.split_k);
  }
  if (plan.staged_epilogue != 0 && plan.shape.output_bytes > 1) return "sums are stored from registers";
  if (plan.staged_epilogue != 0 && plan.shape.store_vector < 4) return "outputs that lie byte by byte are not staged";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (workload.kind != OpKind::matmul) return "it is no matmul";
  if (target.compute_capability() < 75) return fmt::format("{} has no tensor cores for INT8", target.name);
  if (workload.batch > kMostBatch) return fmt::format("a batch of {} exceeds {}", workload.batch, kMostBatch);
  for (const TensorForm* form : {&workload.inputs[0], &workload.inputs[1], &workload.output}) {
    if (form->n > kMostIndex / 2 || form->c > kMostIndex / 4) {
      return fmt::format("a matrix of {} x {} has an extent beyond 2^29", form->n, form->c);
    }
  }
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const Shape shape(workload);
  const int64_t rows = std::max<int64_t>(16, power_of_two_above(shape.rows));
  const int64_t columns = std::max<int64_t>(16, power_of_two_above(shape.stored_columns));
  const int64_t depth = std::max<int64_t>(32, power_of_two_above(shape.depth));
  std::vector<Knob> knobs = {
      {"warp_m", powers_of_two(16, std::min<int64_t>(64, rows))},
      {"warp_n", powers_of_two(16, std::min<int64_t>(64, columns))},
      {"warps_m", powers_of_two(1, std::clamp<int64_t>(rows / 16, 1, 4))},
      {"warps_n", powers_of_two(1, std::clamp<int64_t>(columns / 16, 1, 4))},
      {"tile_k", powers_of_two(32, std::min<int64_t>(128, depth))},
      {"stages", {2, 3, 4, 5}},
      {"instruction", {mma::kTuringDepth, mma::kAmpereDepth}},
      {"async", {0, 1}},
      {"fragment_buffers", {1, 2}},
      {"staged_epilogue", {0, 1}},
      {"columns_first", {0, 1}},
      {"raster_group", {1, 2, 4, 8}},
      {"split_k", {1, 2, 4, 8}},
      {"ctas_per_sm", {1, 2}},
  };
  return Space(kName, kSpaceVersion, std::move(knobs),
               [shape, target](const Config& config) -> std::optional<std::string> {
                 const Plan plan(shape, knobs_of(config));
                 if (auto reason = why_bad_tile(plan, target)) return reason;
                 if (auto reason = why_unfit(plan, target)) return reason;
                 if (auto reason = why_too_much(plan, target)) return reason;
                 return why_redundant(plan);
               });
}

}  // namespace warpwright::mma_matmul
