// The space of mma_gemm: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma_gemm/plan.h"
#include "src/core/error.h"

namespace warpwright::mma_gemm {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostThreads = 512, kMostTile = 256, kMostCopies = 16, kMostProducts = 1024;
constexpr int64_t kMostSplitTilesPerSm = 4;  // with more CTAs than that K is not split
constexpr int64_t kMostWorkspace = int64_t{256} << 20;

bool has_ampere_instructions(const Target& target) { return target.compute_capability() >= 80; }
/// Of every CTA.
int64_t reserved_smem_bytes(const Target& target) { return target.compute_capability() >= 80 ? 1024 : 0; }

/// Registers that a thread may have so that ctas_per_sm CTAs fit.
int64_t register_limit(const Plan& plan, const Target& target) {
  const int64_t share = target.registers_per_sm / (plan.threads * plan.ctas_per_sm) / 8 * 8;
  return std::min<int64_t>(share, target.max_registers_per_thread);
}

/// Products of fragments in the body of the loop over K.
int64_t products_of_body(const Plan& plan) {
  const int64_t instructions = plan.depth == mma::kTuringDepth ? 4 : 1;
  return plan.steps * (plan.warp_m / 16) * (plan.warp_n / 8) * instructions * plan.unroll;
}

int64_t inner_tiles(const Plan& plan) { return plan.columns_first != 0 ? plan.n_tiles : plan.m_tiles; }
int64_t outer_tiles(const Plan& plan) { return plan.columns_first != 0 ? plan.m_tiles : plan.n_tiles; }

/// What needs neither Plan nor Shape: most points fall here.
Flaw flaw_of(const Knobs& knobs, const Target& target) {
  const int64_t threads = knobs.warps_m * knobs.warps_n * knobs.warps_k * 32;
  const int64_t tile_m = knobs.warp_m * knobs.warps_m, tile_n = knobs.warp_n * knobs.warps_n;
  if (threads > kMostThreads) return Flaw::threads;
  if (tile_m > kMostTile || tile_n > kMostTile) return Flaw::tile;
  if (knobs.async == 0 && knobs.stages > 2) return Flaw::stages_without_async;
  if (knobs.async != 0 && knobs.stages < 2) return Flaw::one_async_stage;
  if (knobs.depth == mma::kTuringDepth && knobs.async != 0) return Flaw::depth;
  if (knobs.tile_k < kStepBytes * knobs.warps_k) return Flaw::step;
  if (knobs.fragment_buffers > 1 && knobs.tile_k < 2 * kStepBytes * knobs.warps_k) return Flaw::double_buffer;
  const int64_t stages = knobs.stages * (tile_m + tile_n) * knobs.tile_k;
  if (stages > target.smem_per_block_bytes) return Flaw::shared_memory;
  if (knobs.ctas_per_sm * (stages + reserved_smem_bytes(target)) > target.smem_per_sm_bytes) return Flaw::resident;
  return Flaw::legal;
}

/// What the card cannot hold.
Flaw limits_flaw(const Plan& plan, const Target& target) {
  const Flaw flaw = flaw_of(static_cast<const Knobs&>(plan), target);
  if (flaw != Flaw::legal) return flaw;
  if (plan.smem_bytes > target.smem_per_block_bytes) return Flaw::shared_memory;
  const int64_t smem_of_all = plan.ctas_per_sm * (plan.smem_bytes + reserved_smem_bytes(target));
  const int64_t warps = plan.ctas_per_sm * plan.threads / 32;
  if (smem_of_all > target.smem_per_sm_bytes || warps > target.max_warps_per_sm) return Flaw::resident;
  if (plan.registers > register_limit(plan, target)) return Flaw::registers;
  if (plan.x_loads > kMostCopies || plan.weight_loads > kMostCopies) return Flaw::copies;
  if (products_of_body(plan) > kMostProducts) return Flaw::code_size;
  if (plan.tiles > kMostIndex) return Flaw::grid;
  return Flaw::legal;
}

/// Hopeless for the shape, or the same as another Config.
Flaw shape_flaw(const Plan& plan, const Target& target) {
  const Shape& shape = plan.shape;
  if (plan.tile_m > std::max<int64_t>(16, power_of_two_above(shape.rows))) return Flaw::rows;
  if (plan.tile_n > std::max<int64_t>(16, power_of_two_above(shape.stored_columns))) return Flaw::columns;
  if (plan.tile_k > std::max<int64_t>(32, power_of_two_above(shape.reduction))) return Flaw::k_tile;
  if (plan.stages > (plan.async != 0 ? std::max<int64_t>(2, plan.split_tiles + 1) : plan.split_tiles)) {
    return Flaw::stages;
  }
  if (plan.unroll > std::max<int64_t>(1, plan.split_tiles)) return Flaw::unroll;
  if (plan.staged_epilogue != 0 && shape.output_bytes != 1) return Flaw::staged_output;
  if (plan.taps_inner != 0 && (shape.taps == 1 || !plan.whole_taps() || shape.lane_channels == plan.tile_k)) {
    return Flaw::taps_inner;
  }
  if (plan.columns_first != 0 && (plan.m_tiles == 1 || plan.n_tiles == 1)) return Flaw::columns_first;
  if (plan.raster_group > 1 && (inner_tiles(plan) == 1 || outer_tiles(plan) <= plan.raster_group)) return Flaw::raster;
  if (plan.split_k > 1 &&
      ((plan.split_k - 1) * plan.split_tiles >= plan.k_tiles || plan.tiles > kMostSplitTilesPerSm * target.sm_count ||
       resources_of(plan).workspace_bytes > kMostWorkspace)) {
    return Flaw::split;
  }
  return Flaw::legal;
}

std::string limits_sentence(Flaw flaw, const Plan& plan, const Target& target) {
  switch (flaw) {
    case Flaw::threads:
      return fmt::format("{} threads a CTA are more than {}", plan.threads, kMostThreads);
    case Flaw::tile:
      return fmt::format("a tile of {} x {} is beyond {}", plan.tile_m, plan.tile_n, kMostTile);
    case Flaw::stages_without_async:
      return fmt::format("copies by way of registers fill at most 2 stages, not {}", plan.stages);
    case Flaw::one_async_stage:
      return "asynchronous copies need a second stage";
    case Flaw::depth:
      return "m8n8k16 is slower than m16n8k32 here: it goes with copies by way of registers only";
    case Flaw::step:
      return fmt::format("tile_k {} holds no 32 bytes for each of {} slices of K", plan.tile_k, plan.warps_k);
    case Flaw::double_buffer:
      return fmt::format("{} step(s) a K tile leave nothing to load ahead", plan.steps);
    case Flaw::shared_memory:
      return fmt::format("{} bytes of shared memory exceed the {} of a CTA on {}", plan.smem_bytes,
                         target.smem_per_block_bytes, target.name);
    case Flaw::resident:
      return fmt::format("{} CTAs of {} bytes of shared memory and {} threads do not fit an SM of {}", plan.ctas_per_sm,
                         plan.smem_bytes, plan.threads, target.name);
    case Flaw::registers:
      return fmt::format("about {} registers a thread exceed {}", plan.registers, register_limit(plan, target));
    case Flaw::copies:
      return fmt::format("{} + {} vectors a thread and K tile are too many", plan.x_loads, plan.weight_loads);
    case Flaw::code_size:
      return fmt::format("{} products in the body of the loop are too many", products_of_body(plan));
    case Flaw::grid:
      return fmt::format("{} tiles exceed the grid", plan.tiles);
    default:
      throw InternalError("no limit of the card");
  }
}

}  // namespace

Flaw flaw_of(const Plan& plan, const Target& target) {
  const Flaw flaw = limits_flaw(plan, target);
  return flaw != Flaw::legal ? flaw : shape_flaw(plan, target);
}

std::string sentence(Flaw flaw, const Plan& plan, const Target& target) {
  const Shape& shape = plan.shape;
  switch (flaw) {
    case Flaw::rows:
      return fmt::format("a tile of {} rows is hopeless for {} rows", plan.tile_m, shape.rows);
    case Flaw::columns:
      return fmt::format("a tile of {} columns is hopeless for {} columns", plan.tile_n, shape.stored_columns);
    case Flaw::k_tile:
      return fmt::format("tile_k {} is hopeless for a reduction of {} bytes", plan.tile_k, shape.reduction);
    case Flaw::stages:
      return fmt::format("{} stages are too many for {} K tile(s)", plan.stages, plan.split_tiles);
    case Flaw::unroll:
      return fmt::format("cannot unroll {} of {} K tile(s)", plan.unroll, plan.split_tiles);
    case Flaw::staged_output:
      return "accumulators are stored by 16 bytes already: staged_epilogue must be 0";
    case Flaw::taps_inner:
      return "the order of taps and channels is a choice only for several taps of several whole K tiles each";
    case Flaw::columns_first:
      return "with one tile along an axis the order of tiles is no choice";
    case Flaw::raster:
      return fmt::format("bands of {} tiles are no choice for {} x {} tiles", plan.raster_group, plan.m_tiles,
                         plan.n_tiles);
    case Flaw::split:
      return fmt::format("splitting {} K tiles of {} tiles of outputs by {} is hopeless", plan.k_tiles, plan.tiles,
                         plan.split_k);
    default:
      return limits_sentence(flaw, plan, target);
  }
}

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (!workload.is_matrix_product()) return "it is no conv2d or dense";
  if (target.compute_capability() < 75) return fmt::format("{} has no tensor cores for int8", target.name);
  const Shape shape(workload);
  if (workload.inputs[0].c <= 4) return fmt::format("{} input channels waste most of a product", workload.inputs[0].c);
  if (shape.groups > 1 && shape.group_channels < 16) {
    return fmt::format("{} channels a group waste most of a product", shape.group_channels);
  }
  if (shape.vector < 4) return "the channels of x lie on no 4-byte boundary";
  if (shape.groups > 65535) return fmt::format("{} groups exceed the grid", shape.groups);
  if (workload.output.pixels() > kMostIndex / 2 || workload.inputs[0].pixels() > kMostIndex / 2) {
    return fmt::format("more than {} pixels", kMostIndex / 2);
  }
  if (shape.reduction > kMostIndex / 4) return "the reduction exceeds 2^29 bytes";
  if (workload.output.c > kMostIndex / 4) return "more than 2^29 output channels";
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const Shape shape(workload);
  const bool ampere = has_ampere_instructions(target);
  auto up_to = [](std::vector<int64_t> values, int64_t most) {
    std::erase_if(values, [&](int64_t value) { return value > std::max(most, values.front()); });
    return values;
  };
  const int64_t rows = power_of_two_above(shape.rows), columns = power_of_two_above(shape.stored_columns);
  const int64_t k_tiles = ceil_div(shape.reduction, 32);
  // The most tiles along each axis; the fewest in all.
  const int64_t m_tiles = ceil_div(shape.rows, 16), n_tiles = ceil_div(shape.stored_columns, 16);
  const bool has_order = m_tiles > 1 && n_tiles > 1;
  const int64_t least_tiles =
      ceil_div(shape.rows, kMostTile) * ceil_div(shape.stored_columns, kMostTile) * shape.groups;
  const bool splits = least_tiles <= kMostSplitTilesPerSm * target.sm_count;
  const bool orders_taps = shape.taps > 1 && shape.lane_channels % 32 == 0 && shape.lane_channels > 32;
  std::vector<int64_t> stages = {1, 2};
  if (ampere) stages = up_to({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, k_tiles + 1);
  std::vector<Knob> knobs = {
      {"warp_m", up_to({16, 32, 64}, rows)},
      {"warp_n", up_to({16, 32, 64}, columns)},
      {"warps_m", up_to({1, 2, 4, 8}, rows / 16)},
      {"warps_n", up_to({1, 2, 4, 8}, columns / 16)},
      {"warps_k", {1, 2, 4}},
      {"tile_k", up_to({32, 64, 128}, power_of_two_above(shape.reduction))},
      {"stages", stages},
      {"instruction",
       ampere ? std::vector<int64_t>{mma::kTuringDepth, mma::kAmpereDepth} : std::vector<int64_t>{mma::kTuringDepth}},
      {"async", ampere ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"fragment_buffers", {1, 2}},
      {"unroll", up_to({1, 2, 4}, k_tiles)},
      {"staged_epilogue", shape.output_bytes == 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"taps_inner", orders_taps ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"columns_first", has_order ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}},
      {"raster_group", up_to({1, 2, 4, 8}, has_order ? std::max(m_tiles, n_tiles) - 1 : 1)},
      {"split_k", up_to({1, 2, 4, 8, 16}, splits ? k_tiles : 1)},
      {"ctas_per_sm", {1, 2, 3}},
  };
  auto why_illegal = [shape, target](const Config& config) -> std::optional<std::string> {
    const Plan plan(shape, knobs_of(config));
    const Flaw flaw = flaw_of(plan, target);
    if (flaw == Flaw::legal) return std::nullopt;
    return sentence(flaw, plan, target);
  };
  auto may_be_legal = [shape, target](std::span<const int64_t> values) {
    const Knobs point = knobs_of(values);
    return flaw_of(point, target) == Flaw::legal && flaw_of(Plan(shape, point), target) == Flaw::legal;
  };
  return Space(kName, kSpaceVersion, std::move(knobs), why_illegal, may_be_legal);
}

}  // namespace warpwright::mma_gemm
