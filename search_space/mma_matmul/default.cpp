// The default of mma_matmul: the best of a short list of Configs by a compact formula of time.
#include <algorithm>
#include <cmath>

#include "search_space/arithmetic.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma_matmul/plan.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"

namespace warpwright::mma_matmul {

namespace {

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Plan& plan, const Target& target) {
  const auto value = [](int64_t number) { return static_cast<double>(number); };
  const Resources resources = resources_of(plan);
  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double rounds = value(ceil_div(ctas_of_sm, resident));
  const double warps = value(plan.threads) / 32;

  // Four sub-partitions multiply 256 int8 each a cycle.
  const double tensor =
      value(resources.tensor_products) / value(plan.ctas) * value(ctas_of_sm) / 1024 * std::max(1.0, 4 / warps);
  const double copies = value(plan.a_loads + plan.b_loads * (plan.shape.transposed ? 1 : 24));
  const double products = value(plan.steps * (plan.warp_m / 16) * (plan.warp_n / 8));
  const double issued = products * (plan.depth == mma::kAmpereDepth ? 1 : 4) + copies * 3 + 25;
  const double k_steps = value(plan.split_tiles);
  const double outputs = value(plan.warp_m * plan.warp_n) / 32;
  const double epilogue = outputs * 9 + (plan.split_k > 1 ? outputs * 2 + 200 : 0);
  const double issue = value(ctas_of_sm) * warps * (k_steps * issued + epilogue + 120) * 0.25;
  const double shared = value(resources.smem_bytes_moved) / target.sm_count / 100;
  const double l2 = value(resources.global_load_bytes + resources.global_store_bytes + 2 * resources.workspace_bytes) /
                    target.sm_count / 32;
  const double ahead = value(plan.stages - 1);
  const double step = std::max(products * 16 * std::max(1.0, warps / 4), issued * 2.0);
  const double exposed = std::max(0.0, 700 / ahead - step) / value(std::min(resident, ctas_of_sm));
  const double latency = rounds * (1100 + k_steps * (step + exposed) + epilogue * 4 + (plan.split_k > 1 ? 1500 : 0));
  double sum = 0;
  for (const double bound : {tensor, issue, shared, latency, l2}) sum += std::pow(bound, 4);
  return std::pow(sum, 0.25);
}

struct Tile {
  int64_t warp_m, warp_n, warps_m, warps_n;
};
constexpr Tile kTiles[] = {{64, 64, 4, 2}, {64, 64, 2, 4}, {64, 64, 2, 2}, {64, 64, 1, 2}, {64, 64, 2, 1},
                           {64, 32, 2, 2}, {32, 64, 2, 2}, {32, 64, 2, 1}, {32, 32, 4, 2}, {32, 32, 2, 2},
                           {32, 32, 1, 2}, {32, 32, 2, 1}, {32, 16, 2, 2}, {16, 64, 1, 2}, {16, 32, 1, 4},
                           {16, 32, 2, 2}, {16, 16, 2, 2}, {16, 16, 1, 2}, {16, 16, 2, 1}, {16, 16, 1, 1}};

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const Space space = make_space(workload, target);
  const Shape shape(workload);
  const bool ampere = target.compute_capability() >= 80;
  std::optional<Config> best;
  double least = 0;
  for (const Tile& tile : kTiles) {
    for (const int64_t tile_k : {128, 64, 32}) {
      for (const int64_t stages : ampere ? std::vector<int64_t>{4, 3, 2} : std::vector<int64_t>{2}) {
        for (const int64_t split_k : {1, 2, 4}) {
          Knobs knobs{};
          knobs.warp_m = tile.warp_m, knobs.warp_n = tile.warp_n;
          knobs.warps_m = tile.warps_m, knobs.warps_n = tile.warps_n;
          knobs.tile_k = tile_k, knobs.stages = stages;
          knobs.depth = ampere ? mma::kAmpereDepth : mma::kTuringDepth;
          knobs.async = ampere ? 1 : 0;
          knobs.fragment_buffers = knobs.raster_group = knobs.ctas_per_sm = 1;
          knobs.staged_epilogue = shape.output_bytes == 1 && shape.store_vector >= 4 && tile.warp_n < 64 ? 1 : 0;
          knobs.split_k = split_k;
          const Config config = config_of(knobs);
          if (space.why_illegal(config)) continue;
          const double time = cycles(Plan(shape, knobs), target);
          if (!best || time < least) best = config, least = time;
        }
      }
    }
  }
  if (!best) throw NoLegalConfig("mma_matmul", workload, target);
  return *best;
}

}  // namespace warpwright::mma_matmul
