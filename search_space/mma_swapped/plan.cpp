// The arithmetic of one mma_swapped kernel.
#include "search_space/mma_swapped/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"

namespace warpwright::mma_swapped {

namespace {

int64_t estimate_registers(const Plan& plan, bool has_zero_point) {
  const int64_t sums = 4 * plan.row_tiles * (plan.warp_tiles + (has_zero_point ? 1 : 0));
  const int64_t held = plan.pipeline == Pipeline::copy_async ? 1 : plan.depth;
  const int64_t weights = (plan.pipeline == Pipeline::prefetch ? 2 : 1) * held * plan.warp_tiles * 8;
  const int64_t x = 4 * std::min<int64_t>(plan.row_tiles * (plan.direct_x ? held : 1), 8);
  return 32 + sums + weights + x;
}

}  // namespace

Plan::Plan(const Workload& workload, const Config& config)
    : shape(workload),
      instruction(config.at("instruction")),
      warp_tiles(config.at("warp_tiles")),
      row_tiles(config.at("row_tiles")),
      warps_n(config.at("warps_n")),
      warps_k(config.at("warps_k")),
      splits(config.at("splits")),
      depth(config.at("depth")),
      ctas_per_sm(config.at("ctas_per_sm")),
      pipeline(static_cast<Pipeline>(config.at("pipeline"))),
      direct_x(config.at("direct_x") != 0),
      all_steps(ceil_div(shape.reduction, warps_k * kStepBytes)),
      steps(ceil_div(all_steps, splits)),
      warp_weight_bytes(warp_tiles * kTileChannels * kStepBytes) {
  cut.threads = warps_n * warps_k * 32;
  cut.tile_m = row_tiles * kTileRows;
  cut.tile_n = warps_n * warp_tiles * kTileChannels;
  cut.m_tiles = ceil_div(shape.rows, cut.tile_m);
  cut.n_tiles = ceil_div(shape.stored_columns, cut.tile_n);
  cut.parts = warps_k;
  cut.x_bytes = direct_x ? 0 : steps * warps_k * kStepBytes;
  // Eight lanes read 64 bytes each of two rows at once, and four rows of the sums 8 columns each.
  cut.x_row_bytes = cut.x_bytes % 128 == 64 ? cut.x_bytes : cut.x_bytes + 64;
  cut.store_lanes = few_rows::store_lanes(workload, shape, cut.tile_m, cut.tile_n, cut.threads);
  cut.reduce_stride = cut.tile_n + 4;
  tiles = cut.m_tiles * cut.n_tiles;
  ctas = tiles * splits;
  ring_bytes = pipeline == Pipeline::copy_async ? depth * warps_n * warps_k * warp_weight_bytes : 0;
  const int64_t x_bytes = direct_x ? 0 : cut.tile_m * cut.x_row_bytes;
  smem_bytes = std::max(ring_bytes + x_bytes, few_rows::partial_sum_bytes(cut));
  registers = estimate_registers(*this, workload.weight_zero_point != ZeroPointForm::zero);
}

Resources resources_of(const Plan& plan) {
  Resources resources;
  const int64_t warp_steps = plan.ctas * plan.cut.threads / 32 * plan.steps;
  const int64_t cta_x_bytes = plan.cut.tile_m * plan.steps * plan.warps_k * kStepBytes;
  const int64_t x_reads = plan.cut.tile_m * kStepBytes;  // of a warp and step
  resources.threads = plan.cut.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.tensor_products = warp_steps * plan.warp_tiles * kTileChannels * plan.cut.tile_m * kStepBytes;
  resources.global_load_bytes = warp_steps * plan.warp_weight_bytes +
                                (plan.direct_x ? warp_steps * x_reads : plan.ctas * cta_x_bytes) +
                                plan.workspace_bytes();
  resources.global_store_bytes = plan.shape.rows * plan.shape.stored_columns + plan.workspace_bytes();
  resources.smem_bytes_moved = plan.ctas * 2 * few_rows::partial_sum_bytes(plan.cut);
  if (!plan.direct_x) resources.smem_bytes_moved += warp_steps * x_reads + plan.ctas * cta_x_bytes;
  if (plan.ring_bytes > 0) resources.smem_bytes_moved += 2 * warp_steps * plan.warp_weight_bytes;
  return resources;
}

}  // namespace warpwright::mma_swapped
