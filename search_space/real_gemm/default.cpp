// The default of real_gemm: of a list of tiles the one whose CTAs take the fewest cycles by a rough count.
#include <algorithm>
#include <utility>

#include "search_space/arithmetic.h"
#include "search_space/no_legal_config.h"
#include "search_space/real_gemm/plan.h"
#include "search_space/source_text.h"

namespace warpwright::real_gemm {

namespace {

double value(int64_t number) { return static_cast<double>(number); }

/// Instructions of the copies of one operand, a thread and tile of K.
double copy_instructions(const OperandTile& tile, Source source, const Shape& shape) {
  switch (source) {
    case Source::packed:
      return value(tile.loads) + 2;
    case Source::rows:
      return value(tile.copies() + 2 * tile.loads);
    case Source::columns:
      return value(tile.copies()) * (shape.may_leave_image ? 4 : 3) + value(tile.loads) * (shape.taps > 1 ? 11 : 3);
  }
  return 0;
}

/// Warp instructions of a CTA beside the products, in one tile of K.
double other_instructions(const Plan& plan) {
  const double warps = value(plan.threads) / 32;
  const double copies =
      copy_instructions(plan.a, plan.shape.a, plan.shape) + copy_instructions(plan.b, plan.shape.b, plan.shape);
  const int64_t fragments = plan.tile_k / plan.run_k * (plan.thread_m / plan.run_m + plan.thread_n / plan.run_n);
  return warps * (value(fragments) + copies * (plan.async != 0 ? 1 : 1.5) + 10);
}

/// 128 bytes each, of shared memory, that the warps of a CTA read in one tile of K.
int64_t fragment_wavefronts(const Plan& plan) {
  const int64_t a = plan.thread_m / plan.run_m * ceil_div(plan.lanes_m * plan.run_m * plan.run_k, 32);
  const int64_t b = plan.thread_n / plan.run_n * ceil_div(plan.lanes_n * plan.run_n * plan.run_k, 32);
  return plan.threads / 32 * (plan.tile_k / plan.run_k) * (a + b);
}

/// Cycles, roughly: rounds of resident CTAs, each step as long as the slowest of what they share.
double cycles(const Plan& plan, const Target& target) {
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const int64_t resident = std::min(ctas_of_sm, resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target));
  const double rounds = value(ceil_div(ctas_of_sm, resident)), together = value(resident);
  const double warps = value(plan.threads) / 32, busy = std::max(1.0, 4 / (together * warps));
  const double lanes = target.compute_capability() <= 80 ? 64 : 128;
  const double l2_bytes = target.compute_capability() == 80 || target.compute_capability() >= 90 ? 40 : 17;

  const double products = warps * value(plan.thread_m * plan.thread_n * plan.tile_k), others = other_instructions(plan);
  const double fma = together * products * 32 / lanes * busy;
  const double issue = together * (products + others) / 4 * busy;
  const double shared = together * (value(fragment_wavefronts(plan)) * 128 + value(plan.stage_bytes)) / 96;
  const double l2 = together * value(plan.stage_bytes) / l2_bytes;
  const double alone = (products + others) / warps * 2 + 60;
  const double ahead = value(plan.async != 0 ? plan.stages - 1 : plan.stages) * 0.7;
  const double step = std::max({fma, issue, shared, l2, alone, 500 / std::max(1.0, ahead)});

  const double outputs = value(plan.tile_m * plan.tile_n);
  const double stores = together * outputs / 32 * (2 + 3 / value(plan.store_lanes)) / 4;
  const double epilogue = std::max(stores, together * outputs * 4 / l2_bytes) + 300;
  return rounds * (1200 + value(ceil_div(plan.shape.depth, plan.tile_k)) * step + epilogue);
}

struct Tile {
  int64_t thread_m, thread_n, lanes_m, warps_m, warps_n;
};
constexpr Tile kTiles[] = {
    {1, 1, 4, 2, 2}, {1, 1, 8, 2, 2},  {1, 1, 8, 4, 1},  {1, 2, 4, 2, 2},  {1, 2, 4, 4, 1},  {2, 1, 4, 2, 2},
    {2, 1, 8, 2, 2}, {2, 2, 4, 2, 4},  {2, 1, 8, 4, 1},  {4, 1, 8, 2, 2},  {4, 1, 8, 2, 1},  {8, 8, 4, 2, 4},
    {8, 8, 4, 4, 2}, {8, 8, 4, 2, 2},  {8, 8, 4, 4, 1},  {8, 8, 4, 1, 4},  {8, 8, 4, 2, 1},  {8, 8, 4, 1, 2},
    {8, 8, 4, 1, 1}, {8, 8, 8, 2, 4},  {16, 8, 4, 2, 2}, {8, 4, 4, 4, 2},  {8, 4, 4, 2, 4},  {8, 4, 4, 2, 2},
    {8, 4, 8, 2, 2}, {8, 4, 4, 1, 2},  {8, 4, 4, 2, 1},  {8, 4, 4, 1, 1},  {4, 4, 4, 2, 4},  {4, 4, 4, 4, 2},
    {4, 4, 4, 2, 2}, {4, 4, 4, 1, 2},  {4, 4, 4, 2, 1},  {4, 4, 4, 1, 1},  {4, 8, 4, 2, 2},  {4, 8, 4, 1, 2},
    {4, 8, 2, 1, 2}, {4, 8, 2, 1, 1},  {8, 4, 16, 2, 1}, {4, 4, 8, 1, 1},  {4, 4, 8, 2, 2},  {2, 4, 4, 2, 2},
    {2, 4, 4, 1, 2}, {2, 4, 4, 1, 1},  {4, 2, 4, 1, 1},  {4, 2, 8, 1, 1},  {4, 1, 8, 1, 1},  {4, 1, 4, 1, 1},
    {2, 2, 4, 1, 1}, {2, 2, 4, 2, 2},  {2, 4, 2, 1, 1},  {2, 2, 2, 1, 1},  {1, 4, 4, 1, 1},  {1, 4, 2, 1, 1},
    {1, 4, 1, 1, 1}, {1, 2, 1, 1, 1},  {1, 1, 1, 1, 1},  {1, 1, 1, 1, 2},  {1, 1, 1, 1, 4},  {1, 1, 4, 1, 1},
    {1, 1, 8, 1, 1}, {2, 1, 16, 1, 1}, {1, 1, 16, 1, 1}, {1, 1, 32, 1, 1}, {4, 1, 32, 1, 1}, {4, 1, 16, 1, 1},
    {2, 1, 1, 1, 1}, {4, 1, 1, 1, 1},  {8, 1, 1, 1, 1},  {2, 2, 1, 1, 1},  {4, 4, 1, 1, 1},  {8, 4, 1, 1, 1},
    {8, 4, 2, 1, 1}, {4, 4, 2, 1, 1},  {2, 1, 2, 1, 1},  {1, 1, 2, 1, 1},  {4, 2, 2, 1, 1}};

/// The knobs that follow from the rest: the most CTAs that find registers, runs that are stored whole.
std::optional<Plan> plan_of_tile(const Tile& tile, int64_t tile_k, int64_t run_k, int64_t stages, const Shape& shape,
                                 const Target& target) {
  Knobs knobs{tile.thread_m, tile.thread_n, tile.lanes_m, tile.warps_m, tile.warps_n, tile_k, run_k, stages};
  knobs.async = target.compute_capability() >= 80 ? 1 : 0;
  knobs.unroll = std::min<int64_t>(tile_k, tile.thread_m * tile.thread_n > 64 ? 8 : 16);
  knobs.run_n = std::min<int64_t>(4 / run_k, tile.thread_n);
  for (const int64_t ctas : {4, 3, 2, 1}) {
    knobs.ctas_per_sm = ctas;
    const Plan plan(shape, knobs);
    if (flaw_of(plan, target) == Flaw::legal) return plan;
  }
  return std::nullopt;
}

/// The best of each tile, the fastest first.
std::vector<std::pair<double, Knobs>> best_of_tiles(const Workload& workload, const Target& target) {
  const Shape shape(workload);
  const bool has_copies = target.compute_capability() >= 80;
  std::vector<std::pair<double, Knobs>> timed;
  for (const Tile& tile : kTiles) {
    std::optional<std::pair<double, Knobs>> best;
    for (const int64_t tile_k : {16, 32, 8, 4}) {
      for (const int64_t stages : has_copies ? std::vector<int64_t>{3, 4, 2} : std::vector<int64_t>{2, 1}) {
        for (const int64_t run_k : {1, 4}) {
          const std::optional<Plan> plan = plan_of_tile(tile, tile_k, run_k, stages, shape, target);
          if (!plan) continue;
          const double now = cycles(*plan, target);
          if (!best || now < best->first) best = {now, *plan};
        }
      }
    }
    if (best) timed.push_back(*best);
  }
  std::ranges::stable_sort(timed, {}, &std::pair<double, Knobs>::first);
  return timed;
}

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const auto timed = best_of_tiles(workload, target);
  if (timed.empty()) throw NoLegalConfig("real_gemm", workload, target);
  return config_of(timed.front().second);
}

std::vector<Config> choose_seeds(const Workload& workload, const Target& target) {
  constexpr size_t kSeeds = 12;
  std::vector<Config> seeds;
  for (const auto& [time, knobs] : best_of_tiles(workload, target)) {
    if (seeds.size() < kSeeds) seeds.push_back(config_of(knobs));
  }
  return seeds;
}

Resources resources_of(const Plan& plan) {
  Resources resources;
  const int64_t k_steps = plan.ctas * plan.k_tiles;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.inner_products = plan.ctas * plan.tile_m * plan.tile_n * plan.shape.depth;
  resources.other_instructions = static_cast<int64_t>(value(k_steps) * other_instructions(plan));
  resources.steps = plan.k_tiles;
  resources.stages = plan.async != 0 ? plan.stages : plan.stages + 1;  // registers hold one more
  const int64_t b_bytes = plan.tile_n * plan.tile_k * 4 * plan.shape.fresh_taps / plan.shape.taps;  // L1 has the rest
  resources.global_load_bytes = k_steps * (plan.tile_m * plan.tile_k * 4 + b_bytes);
  resources.global_store_bytes = plan.shape.matrices * plan.shape.rows * plan.shape.columns * 4;
  resources.smem_bytes_moved = k_steps * (plan.stage_bytes + fragment_wavefronts(plan) * 128);
  return resources;
}

}  // namespace warpwright::real_gemm
