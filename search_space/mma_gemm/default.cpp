// The default of mma_gemm, and the tiles of vendors' libraries.
#include <algorithm>
#include <cmath>

#include "search_space/arithmetic.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma_gemm/mma_gemm.h"
#include "search_space/mma_gemm/plan.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::mma_gemm {

namespace {

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Plan& plan, const Target& target) {
  const auto value = [](int64_t number) { return static_cast<double>(number); };
  const bool ampere = plan.depth == mma::kAmpereDepth;
  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double rounds = value(ceil_div(ctas_of_sm, resident));
  const double all = value(ctas_of_sm);
  const double warps = value(plan.threads) / 32;

  // An SM multiplies 16 x 8 x 32 in 4 cycles (four sub-partitions, 16 each); m8n8k16 in twice the time.
  const double products = value(plan.steps * (plan.warp_m / 16) * (plan.warp_n / 8));
  const double product_cycles = (ampere ? 16.0 : 32.0) * (plan.shape.has_row_sums ? 1.0 + 8.0 / value(plan.warp_n) : 1);
  const double fragments = value(plan.steps * (plan.warp_m + plan.warp_n) / 16);
  const double copies =
      value(plan.x_loads * (plan.shape.may_leave_image ? 5 : 3) + plan.weight_loads) * (plan.async != 0 ? 1 : 2.5);
  const double issued = products * (ampere ? 1 : 4) + fragments * 1.5 + copies + 25;
  const double k_steps = value(plan.split_tiles);
  const double outputs = value(plan.warp_m * plan.warp_n) / 32;
  const double epilogue = outputs * (plan.shape.output_bytes == 4 ? 2 : 9) + (plan.staged_epilogue != 0 ? 60 : 0) +
                          (plan.warps_k > 1 ? outputs * 2 + 60 : 0) + (plan.split_k > 1 ? outputs * 2 + 200 : 0);

  // Warps beyond four share the sub-partitions' tensor cores.
  const double tensor = all * k_steps * products * product_cycles * std::max(1.0, warps / 4);
  const double tensor_chain = rounds * k_steps * products * product_cycles * std::max(1.0, warps / 4);
  const double issue = all * warps * (k_steps * issued + epilogue + 120) * 0.25;
  const Resources resources = resources_of(plan);
  const double shared = value(resources.smem_bytes_moved) / target.sm_count / 100;
  const double l2 = value(resources.global_load_bytes + resources.global_store_bytes) / target.sm_count / 32;
  // A step waits for its copies unless the stages ahead, and other CTAs, cover the way.
  const double ahead = value(plan.async != 0 ? plan.stages - 1 : 1);
  const double step = std::max({products * product_cycles * std::max(1.0, warps / 4), issued * 2.0, 160.0 / ahead});
  const double exposed = std::max(0.0, 700 / std::max(1.0, ahead) - step) / value(std::min(resident, ctas_of_sm));
  const double latency = rounds * (1100 + k_steps * (step + exposed) + epilogue * 4 + (plan.split_k > 1 ? 1500 : 0));
  double sum = 0;
  for (const double bound : {tensor, tensor_chain, issue, shared, latency, l2}) sum += std::pow(bound, 4);
  return std::pow(sum, 0.25);
}

struct Tile {
  int64_t warp_m, warp_n, warps_m, warps_n, warps_k;
};
constexpr Tile kTiles[] = {
    {64, 64, 4, 2, 1}, {64, 64, 2, 4, 1}, {64, 64, 2, 2, 1}, {64, 64, 1, 4, 1}, {64, 64, 4, 1, 1}, {64, 64, 1, 2, 1},
    {64, 64, 2, 1, 1}, {64, 32, 2, 2, 1}, {32, 64, 4, 1, 1}, {32, 64, 2, 2, 1}, {32, 64, 2, 1, 1}, {32, 64, 1, 2, 1},
    {32, 32, 2, 2, 1}, {32, 32, 4, 2, 1}, {32, 32, 2, 1, 2}, {32, 32, 1, 2, 2}, {32, 32, 1, 1, 4}, {32, 64, 1, 1, 4},
    {32, 64, 1, 1, 2}, {16, 64, 1, 1, 2}, {16, 64, 1, 1, 4}, {16, 64, 1, 2, 2}, {16, 32, 1, 1, 4}, {16, 32, 1, 2, 2},
    {16, 64, 2, 1, 2}, {32, 16, 2, 1, 1}, {32, 32, 4, 1, 1}, {16, 16, 1, 1, 4}, {16, 64, 1, 1, 1}, {16, 16, 1, 1, 1}};

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const Shape shape(workload);
  const bool ampere = target.compute_capability() >= 80;
  std::optional<Knobs> best;
  double least = 0;
  for (const Tile& tile : kTiles) {
    for (const int64_t tile_k : {128, 64, 32}) {
      for (const int64_t stages : ampere ? std::vector<int64_t>{5, 4, 3, 2} : std::vector<int64_t>{2, 1}) {
        for (const int64_t split_k : {1, 2, 4, 8}) {
          Knobs knobs{tile.warp_m, tile.warp_n, tile.warps_m, tile.warps_n, tile.warps_k, tile_k, stages};
          knobs.depth = ampere ? mma::kAmpereDepth : mma::kTuringDepth;
          knobs.async = ampere ? 1 : 0;
          knobs.staged_epilogue = shape.output_bytes == 1 && tile.warp_n < 64 ? 1 : 0;
          knobs.split_k = split_k;
          const Plan plan(shape, knobs);
          if (flaw_of(plan, target) != Flaw::legal) continue;
          const double time = cycles(plan, target);
          if (!best || time < least) best = knobs, least = time;
        }
      }
    }
  }
  if (!best) throw InternalError("no default of mma_gemm for " + workload.summary());
  return config_of(*best);
}

std::vector<Config> choose_seeds(const Workload& workload, const Target& target) {
  const Space space = make_space(workload, target);
  std::vector<Config> seeds;
  for (const VendorTile& tile : vendor_tiles()) {
    const Config config = config_of_tile(tile, workload, target);
    if (space.why_illegal(config) || std::find(seeds.begin(), seeds.end(), config) != seeds.end()) continue;
    seeds.push_back(config);
  }
  return seeds;
}

}  // namespace warpwright::mma_gemm

namespace warpwright {

const std::vector<VendorTile>& vendor_tiles() {
  // vLLM's table for sm_89, CUTLASS's lists for sm_80 and sm_75.
  static const std::vector<VendorTile> tiles = {
      {16, 64, 128, 5, 1, 1, 2, 32},   {16, 128, 128, 4, 1, 2, 2, 32},  {32, 64, 128, 5, 1, 1, 2, 32},
      {32, 128, 128, 4, 1, 2, 2, 32},  {64, 64, 128, 5, 2, 2, 1, 32},   {64, 128, 128, 3, 2, 2, 1, 32},
      {128, 128, 64, 5, 2, 2, 1, 32},  {256, 128, 64, 3, 4, 2, 1, 32},  {128, 256, 64, 3, 2, 4, 1, 32},
      {256, 64, 64, 4, 4, 1, 1, 32},   {64, 256, 64, 4, 1, 4, 1, 32},   {256, 32, 64, 4, 4, 1, 1, 32},
      {32, 256, 64, 4, 1, 4, 1, 32},   {128, 64, 64, 6, 2, 2, 1, 32},   {64, 128, 64, 6, 2, 2, 1, 32},
      {128, 32, 64, 6, 4, 1, 1, 32},   {32, 128, 64, 6, 1, 4, 1, 32},   {64, 64, 64, 10, 2, 2, 1, 32},
      {256, 128, 128, 3, 4, 2, 1, 32}, {128, 256, 128, 3, 2, 4, 1, 32}, {256, 64, 128, 4, 4, 1, 1, 32},
      {64, 256, 128, 4, 1, 4, 1, 32},  {128, 128, 128, 4, 2, 2, 1, 32}, {256, 32, 128, 4, 4, 1, 1, 32},
      {32, 256, 128, 4, 1, 4, 1, 32},  {128, 64, 128, 3, 2, 2, 1, 32},  {128, 32, 128, 4, 4, 1, 1, 32},
      {32, 128, 128, 4, 1, 4, 1, 32},  {256, 128, 64, 2, 4, 2, 1, 16},  {128, 256, 64, 2, 2, 4, 1, 16},
      {128, 128, 64, 2, 2, 2, 1, 16},  {256, 64, 64, 2, 4, 1, 1, 16},   {64, 256, 64, 2, 1, 4, 1, 16},
      {64, 128, 64, 2, 2, 2, 1, 16},   {128, 64, 64, 2, 2, 2, 1, 16},   {64, 64, 64, 2, 2, 2, 1, 16},
      {128, 128, 32, 2, 2, 2, 1, 16},  {128, 64, 32, 2, 2, 2, 1, 16},   {64, 128, 32, 2, 2, 2, 1, 16},
      {64, 64, 32, 2, 2, 2, 1, 16}};
  return tiles;
}

Config config_of_tile(const VendorTile& tile, const Workload& workload, const Target& target) {
  const mma_gemm::Shape shape(workload);
  const bool held = tile.depth == mma::kTuringDepth || target.compute_capability() < 80;
  mma_gemm::Knobs knobs{tile.cta_m / tile.warps_m, tile.cta_n / tile.warps_n, tile.warps_m, tile.warps_n, tile.warps_k};
  knobs.tile_k = tile.cta_k;
  knobs.stages = held ? std::min<int64_t>(tile.stages, 2) : tile.stages;
  knobs.depth = target.compute_capability() < 80 ? mma::kTuringDepth : tile.depth;
  knobs.async = held ? 0 : 1;
  knobs.staged_epilogue = shape.output_bytes == 1 ? 1 : 0;
  return mma_gemm::config_of(knobs);
}

}  // namespace warpwright
