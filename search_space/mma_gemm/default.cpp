// The default of mma_gemm, and the tiles of vendors' libraries.
#include <algorithm>
#include <utility>

#include "search_space/arithmetic.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma_gemm/mma_gemm.h"
#include "search_space/mma_gemm/plan.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"

namespace warpwright::mma_gemm {

namespace {

double value(int64_t number) { return static_cast<double>(number); }

/// Multiply-adds of int8 that an SM's tensor cores do a cycle; for sm_90 what mma.sync reaches.
double products_per_cycle(const Target& target) {
  const int capability = target.compute_capability();
  return capability == 80 || capability == 87 ? 2048 : capability >= 90 ? 2560 : 1024;
}

/// Instructions of a warp a K tile beside the products, roughly.
double others_per_tile(const Plan& plan) {
  const double x_copy = (plan.shape.may_leave_image || plan.has_tail() ? 5 : 2.5) + (plan.row_step % 8 != 0 ? 1 : 0);
  const double places = plan.shape.taps > 1 || !plan.whole_taps() ? 27 : 18;
  return value(plan.steps * ((plan.warp_m + plan.warp_n) / 16 + 2)) + value(plan.x_loads) * x_copy +
         value(plan.weight_loads) * 2 + places;
}

double products_per_tile(const Plan& plan) {
  return value(plan.steps * (plan.warp_m / 16) * (plan.warp_n / 8)) *
         (plan.shape.has_row_sums ? 1.0 + 8.0 / value(plan.warp_n) : 1);
}

/// The tensor cores come first: few other instructions for each product.
bool is_lean(const Plan& plan) {
  const double products = products_per_tile(plan) * (plan.depth == mma::kTuringDepth ? 4 : 1);
  return others_per_tile(plan) / products <= (plan.warp_m * plan.warp_n >= 4096 ? 1.9 : 2.8);
}

/// Cycles, roughly: rounds of resident CTAs, each step as long as the slowest of what they share.
double cycles(const Plan& plan, const Target& target) {
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const int64_t resident = std::min(ctas_of_sm, resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target));
  const double rounds = value(ceil_div(ctas_of_sm, resident)), together = value(resident);
  const double warps = value(plan.threads) / 32;
  const double l2_bytes = target.compute_capability() == 80 || target.compute_capability() >= 90 ? 40 : 17;

  const double products = products_per_tile(plan), others = others_per_tile(plan);
  const bool turing = plan.depth == mma::kTuringDepth;
  const double slow = turing && target.compute_capability() >= 80 ? 1.1 : 1;  // m8n8k16, as measured on sm_86
  const double chain = products * slow * 16 * 8 * 32 / (products_per_cycle(target) / 4);
  const double tensor = chain * std::max(1.0, together * warps / 4);
  const double issue = (products * (turing ? 4 : 1) + others * (plan.async != 0 ? 1 : 1.5)) * together * warps / 4;
  const double fragments = value((plan.warp_m + plan.warp_n) * plan.tile_k * plan.warps_m * plan.warps_n);
  const double shared = together * (value(plan.stage_bytes) + fragments) / 110;
  const double l2 = together * value(plan.stage_bytes) / l2_bytes;
  // A step starts with a barrier and ldmatrix, and waits for its copies unless the stages ahead cover their way.
  const double ahead = value(plan.async != 0 ? plan.stages - 1 : 1);
  const double alone = chain + 100 + others;
  const double step = std::max({tensor, issue, shared, l2, alone, 700 / ahead});

  const double outputs = value(plan.tile_m * plan.tile_n);
  const double stored = outputs * value(plan.shape.output_bytes) * (plan.shape.has_residual ? 2 : 1);
  const double partial = plan.split_k > 1 ? outputs * 8 : 0;
  const double epilogue = std::max(together * (stored + partial) / l2_bytes, together * outputs / 32 * 8 / 4) + 300 +
                          (plan.staged_epilogue != 0 ? 100 : 0) + (plan.warps_k > 1 ? 150 + outputs / 100 : 0) +
                          (plan.split_k > 1 ? 2000 : 0);
  return rounds * (1200 + value(plan.split_tiles) * step + epilogue);
}

/// CUTLASS's order of CTAs: bands of up to four tiles along the columns, so that x is read once a band.
void order_as_cutlass(const Shape& shape, Knobs& knobs) {
  constexpr int64_t kBand = 4;
  const Plan plan(shape, knobs);
  if (plan.m_tiles == 1 || plan.n_tiles == 1) return;
  if (plan.n_tiles > kBand) {
    knobs.raster_group = kBand;
  } else {
    knobs.columns_first = 1;
  }
}

struct Tile {
  int64_t warp_m, warp_n, warps_m, warps_n, warps_k;
};
constexpr Tile kTiles[] = {
    {64, 64, 4, 2, 1}, {64, 64, 2, 4, 1}, {64, 64, 2, 2, 1}, {64, 64, 1, 4, 1}, {64, 64, 4, 1, 1}, {64, 64, 1, 2, 1},
    {64, 64, 2, 1, 1}, {64, 64, 1, 1, 1}, {32, 64, 4, 2, 1}, {32, 64, 4, 1, 1}, {32, 64, 2, 2, 1}, {32, 64, 1, 4, 1},
    {32, 64, 2, 1, 1}, {32, 64, 1, 2, 1}, {32, 64, 1, 1, 1}, {32, 64, 1, 1, 2}, {32, 64, 1, 2, 2}, {32, 32, 2, 2, 1},
    {32, 32, 4, 2, 1}, {32, 32, 2, 1, 1}, {32, 32, 1, 2, 1}, {32, 32, 1, 1, 1}, {32, 32, 2, 1, 2}, {32, 32, 1, 2, 2},
    {32, 32, 1, 1, 2}, {16, 64, 1, 1, 1}, {16, 64, 1, 2, 1}, {16, 64, 1, 1, 2}, {32, 16, 1, 1, 1}, {16, 32, 1, 1, 1},
    {16, 16, 1, 1, 1}};

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const Shape shape(workload);
  const bool ampere = target.compute_capability() >= 80;
  const std::vector<int64_t> stages_of = ampere ? std::vector<int64_t>{5, 4, 3, 2} : std::vector<int64_t>{2, 1};
  std::optional<Knobs> best;
  double least = 0;
  bool best_is_lean = false;
  for (const Tile& tile : kTiles) {
    for (const int64_t tile_k : {128, 64, 32}) {
      for (const int64_t stages : stages_of) {
        for (const int64_t split_k : {1, 2, 4, 8}) {
          Knobs knobs{tile.warp_m, tile.warp_n, tile.warps_m, tile.warps_n, tile.warps_k, tile_k, stages};
          knobs.depth = ampere ? mma::kAmpereDepth : mma::kTuringDepth;
          knobs.async = ampere ? 1 : 0;
          knobs.staged_epilogue = shape.output_bytes == 1 && tile.warp_n < 64 ? 1 : 0;
          knobs.split_k = split_k;
          const Plan plan(shape, knobs);
          if (flaw_of(plan, target) != Flaw::legal || (best_is_lean && !is_lean(plan))) continue;
          const double time = cycles(plan, target);
          if (!best || time < least || is_lean(plan) != best_is_lean) {
            best = knobs, least = time, best_is_lean = is_lean(plan);
          }
        }
      }
    }
  }
  if (!best) throw NoLegalConfig("mma_gemm", workload, target);
  order_as_cutlass(shape, *best);
  return config_of(*best);
}

std::vector<Config> choose_seeds(const Workload& workload, const Target& target) {
  const Space space = make_space(workload, target);
  const Shape shape(workload);
  std::vector<std::pair<double, Config>> timed;
  for (const VendorTile& tile : vendor_tiles()) {
    Config config = config_of_tile(tile, workload, target);
    const auto is_it = [&](const auto& known) { return known.second == config; };
    if (space.why_illegal(config) || std::any_of(timed.begin(), timed.end(), is_it)) continue;
    timed.emplace_back(cycles(Plan(shape, knobs_of(config)), target), std::move(config));
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> seeds;
  for (auto& [time, config] : timed) seeds.push_back(std::move(config));
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
  mma_gemm::order_as_cutlass(shape, knobs);
  return mma_gemm::config_of(knobs);
}

}  // namespace warpwright
