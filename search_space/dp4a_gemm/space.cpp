// The space of dp4a_gemm: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/depthwise/plan.h"
#include "search_space/dp4a_gemm/plan.h"
#include "search_space/limits.h"

namespace warpwright::dp4a_gemm {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();

/// Threads, tiles and K of a step: what the hierarchy of thread, warp and CTA must keep.
std::optional<std::string> why_bad_tile(const Plan& plan, const Target& target) {
  const Shape& shape = plan.shape;
  if (plan.lanes_m * plan.lanes_n > 32) {
    return fmt::format("lanes_m {} x lanes_n {} are more than the 32 lanes of a warp", plan.lanes_m, plan.lanes_n);
  }
  if (plan.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", plan.threads, target.max_threads_per_block, target.name);
  }
  if (plan.tile_m > power_of_two_above(shape.rows)) {
    return fmt::format("a tile of {} rows is hopeless for {} rows", plan.tile_m, shape.rows);
  }
  if (plan.tile_n > std::max<int64_t>(4, power_of_two_above(shape.stored_columns))) {
    return fmt::format("a tile of {} columns is hopeless for {} columns", plan.tile_n, shape.stored_columns);
  }
  if (plan.tile_n < 4) return fmt::format("a tile of {} columns fills no 4-byte store", plan.tile_n);
  if (plan.tile_m * plan.tile_n > 32768) {
    return fmt::format("a tile of {} x {} leaves too few CTAs", plan.tile_m, plan.tile_n);
  }
  if (plan.chunks < 1 || plan.tile_k % (kChunkBytes * plan.slices) != 0) {
    return fmt::format("tile_k {} holds no 16 bytes for each of {} slices of K", plan.tile_k, plan.slices);
  }
  const int64_t row_vectors = plan.tile_k / plan.word_vector;
  if (plan.threads % row_vectors != 0) {
    return fmt::format("{} vectors of a row of x do not divide {} threads", row_vectors, plan.threads);
  }
  if (plan.ctas > kMostIndex) return fmt::format("{} CTAs exceed the grid", plan.ctas);
  return std::nullopt;
}

std::optional<std::string> why_too_much(const Plan& plan, const Target& target) {
  const SmDemand demand{.smem_bytes = plan.smem_bytes, .registers = plan.registers, .threads = plan.threads};
  if (auto reason = warpwright::why_too_much(demand, target)) return reason;
  if (plan.x_loads > 16 || plan.weight_loads > 16) {
    return fmt::format("{} + {} vectors a thread and step are too many to hold", plan.x_loads, plan.weight_loads);
  }
  if (plan.chunks * plan.thread_m * plan.thread_n * 4 > 4096 && plan.unroll != 1) {
    return fmt::format("{} products a step are too many to unroll", plan.chunks * plan.thread_m * plan.thread_n * 4);
  }
  return std::nullopt;
}

/// Two Configs never mean the same code: of equal ones only the first is legal.
std::optional<std::string> why_redundant(const Plan& plan, const Config& config) {
  if (plan.k_tiles == 1 && plan.stages != 1) return "a single step of K needs no second stage";
  if (plan.unroll > plan.chunks) return fmt::format("cannot unroll {} of {} chunks", plan.unroll, plan.chunks);
  if (plan.columns_first && (plan.m_tiles == 1 || plan.n_tiles == 1)) {
    return "with one tile along an axis the order of tiles is no choice";
  }
  if (plan.padded_rows && plan.row_bytes == plan.tile_k) {
    return fmt::format("rows of {} bytes need no padding", plan.tile_k);
  }
  if (plan.direct_weights && plan.threads_m > 4) {
    return fmt::format("weights read from global memory by {} threads each are hopeless", plan.threads_m);
  }
  if (!plan.staged_epilogue && plan.slices > 1) {
    return fmt::format("{} slices of K are summed in shared memory: staged_epilogue must be 1", plan.slices);
  }
  if (!plan.staged_epilogue && plan.thread_n < 4 && plan.shape.columns % 4 == 0) {
    return fmt::format("stores of {} bytes would not coalesce", plan.thread_n);
  }
  if (config.at("tile_k") > kChunkBytes * plan.slices && config.at("tile_k") > power_of_two_above(plan.reduction)) {
    return fmt::format("tile_k {} is hopeless for a reduction of {} bytes", plan.tile_k, plan.reduction);
  }
  return std::nullopt;
}

/// The constraints above that most points break, by the knobs in the order of make_space, without a Plan.
bool may_be_legal(std::span<const int64_t> knobs, const Shape& shape, const Target& target) {
  const int64_t thread_m = knobs[0], thread_n = knobs[1], lanes_m = knobs[2], lanes_n = knobs[3];
  const int64_t warps_m = knobs[4], warps_n = knobs[5], warps_k = knobs[6], tile_k = knobs[7];
  const int64_t unroll = knobs[10], direct_weights = knobs[11], staged_epilogue = knobs[12];
  const int64_t lanes = lanes_m * lanes_n;
  if (lanes > 32) return false;
  const int64_t slices = 32 / lanes * warps_k;
  if (32 * warps_m * warps_n * warps_k > target.max_threads_per_block) return false;
  if (tile_k % (kChunkBytes * slices) != 0 || unroll * kChunkBytes * slices > tile_k) return false;
  if (direct_weights != 0 && lanes_m * warps_m > 4) return false;
  if (staged_epilogue == 0 && (slices > 1 || (thread_n < 4 && shape.columns % 4 == 0))) return false;
  const int64_t tile_m = thread_m * lanes_m * warps_m, tile_n = thread_n * lanes_n * warps_n;
  return tile_m <= power_of_two_above(shape.rows) && tile_n >= 4 && tile_m * tile_n <= 32768 &&
         tile_n <= std::max<int64_t>(4, power_of_two_above(shape.stored_columns));
}

}  // namespace

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (!workload.is_matrix_product()) return "it is no conv2d or dense";
  if (workload.is_depthwise() && !depthwise::why_unsupported(workload, target)) {
    return "this depthwise conv2d has a family of its own";
  }
  if (target.compute_capability() < 61) return fmt::format("{} has no dp4a", target.name);
  if (workload.output.pixels() > kMostIndex / 2 || workload.inputs[0].pixels() > kMostIndex / 2) {
    return fmt::format("more than {} pixels", kMostIndex / 2);
  }
  const Window& window = workload.window;
  if (window.kernel_h * window.kernel_w * round_up(workload.inputs[0].c / workload.groups, 16) > kMostIndex / 4) {
    return "the reduction exceeds 2^29 bytes";
  }
  if (workload.output.c > kMostIndex / 4) return "more than 2^29 output channels";
  return std::nullopt;
}

std::optional<std::string> why_illegal(const Workload&, const Plan& plan, const Target& target) {
  if (auto reason = why_bad_tile(plan, target)) return reason;
  return why_too_much(plan, target);
}

Space make_space(const Workload& workload, const Target& target) {
  const Shape shape(workload);
  const int64_t rows = power_of_two_above(shape.rows);
  const int64_t columns = std::max<int64_t>(4, power_of_two_above(shape.stored_columns));
  const int64_t bytes = power_of_two_above(shape.taps * round_up(shape.group_channels, 16));
  std::vector<int64_t> vectors = {1};
  if (shape.widest_vector >= 4) vectors = powers_of_two(4, shape.widest_vector);
  std::vector<Knob> knobs = {
      {"thread_m", powers_of_two(1, std::min<int64_t>(8, rows))},
      {"thread_n", powers_of_two(1, std::min<int64_t>(8, columns))},
      {"lanes_m", powers_of_two(1, std::min<int64_t>(32, rows))},
      {"lanes_n", powers_of_two(1, std::min<int64_t>(32, columns))},
      {"warps_m", powers_of_two(1, std::min<int64_t>(8, rows))},
      {"warps_n", powers_of_two(1, std::min<int64_t>(8, columns))},
      {"warps_k", powers_of_two(1, 8)},
      {"tile_k", powers_of_two(16, std::clamp<int64_t>(bytes, 512, rows <= 4 ? 2048 : 512))},
      {"vector", vectors},
      {"stages", {1, 2}},
      {"unroll", {1, 2, 4}},
      {"direct_weights", {0, 1}},
      {"staged_epilogue", {0, 1}},
      {"columns_first", {0, 1}},
      {"padded_rows", {0, 1}},
  };
  auto why_bad = [workload, target](const Config& config) {
    const Plan plan(workload, config);
    auto reason = why_illegal(workload, plan, target);
    return reason ? reason : why_redundant(plan, config);
  };
  return Space(kName, kSpaceVersion, std::move(knobs), why_bad,
               [shape, target](std::span<const int64_t> values) { return may_be_legal(values, shape, target); });
}

}  // namespace warpwright::dp4a_gemm
