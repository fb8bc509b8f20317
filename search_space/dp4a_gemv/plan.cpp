// The arithmetic of one dp4a_gemv kernel.
#include "search_space/dp4a_gemv/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"

namespace warpwright::dp4a_gemv {

namespace {

int64_t estimate_registers(const Plan& plan, bool has_zero_point) {
  const int64_t sums = plan.thread_m * (plan.thread_n + (has_zero_point ? 1 : 0));
  const int64_t weights = (plan.prefetch ? 2 : 1) * plan.depth * plan.thread_n * 4;
  const int64_t x = 4 * std::min<int64_t>(plan.thread_m * (plan.direct_x ? plan.depth : 1), 8);
  return 32 + sums + weights + x;
}

}  // namespace

Plan::Plan(const Workload& workload, const Config& config)
    : shape(workload),
      thread_m(config.at("thread_m")),
      thread_n(config.at("thread_n")),
      lanes_k(config.at("lanes_k")),
      warps_n(config.at("warps_n")),
      warps_k(config.at("warps_k")),
      depth(config.at("depth")),
      ctas_per_sm(config.at("ctas_per_sm")),
      prefetch(config.at("prefetch") != 0),
      direct_x(config.at("direct_x") != 0),
      lanes_n(32 / lanes_k),
      slices(lanes_k * warps_k),
      steps(ceil_div(shape.reduction, slices * few_rows::kVectorBytes)),
      warp_weight_bytes(thread_n * 32 * few_rows::kVectorBytes) {
  cut.threads = warps_n * warps_k * 32;
  cut.tile_m = thread_m;
  cut.tile_n = warps_n * lanes_n * thread_n;
  cut.m_tiles = ceil_div(shape.rows, cut.tile_m);
  cut.n_tiles = ceil_div(shape.stored_columns, cut.tile_n);
  cut.parts = warps_k;
  cut.x_bytes = direct_x ? 0 : steps * slices * few_rows::kVectorBytes;
  cut.x_row_bytes = cut.x_bytes;  // the lanes of a warp read one row
  cut.store_lanes = few_rows::store_lanes(workload, shape, cut.tile_m, cut.tile_n, cut.threads);
  cut.reduce_stride = cut.tile_n;
  ctas = cut.m_tiles * cut.n_tiles;
  smem_bytes = std::max(cut.tile_m * cut.x_row_bytes, few_rows::partial_sum_bytes(cut));
  registers = estimate_registers(*this, workload.weight_zero_point != ZeroPointForm::zero);
}

Resources resources_of(const Plan& plan) {
  Resources resources;
  const int64_t warp_steps = plan.ctas * plan.cut.threads / 32 * plan.steps;
  const int64_t cta_x_bytes = plan.cut.tile_m * plan.steps * plan.slices * few_rows::kVectorBytes;
  const int64_t x_reads = plan.cut.tile_m * plan.lanes_k * few_rows::kVectorBytes;  // of a warp and step
  resources.threads = plan.cut.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.inner_products = warp_steps * 32 * plan.thread_m * plan.thread_n * 4;
  resources.global_load_bytes = warp_steps * (plan.warp_weight_bytes + (plan.direct_x ? x_reads : 0)) +
                                (plan.direct_x ? 0 : plan.ctas * cta_x_bytes);
  resources.global_store_bytes = plan.shape.rows * plan.shape.stored_columns;
  resources.smem_bytes_moved = plan.ctas * 2 * few_rows::partial_sum_bytes(plan.cut);
  if (!plan.direct_x) resources.smem_bytes_moved += warp_steps * x_reads + plan.ctas * cta_x_bytes;
  return resources;
}

}  // namespace warpwright::dp4a_gemv
