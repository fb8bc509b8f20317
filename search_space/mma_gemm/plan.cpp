// The arithmetic of one mma_gemm kernel.
#include "search_space/mma_gemm/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/mma/warp_tile.h"
#include "search_space/named_knobs.h"
#include "search_space/product_epilogue.h"
#include "src/core/error.h"

namespace warpwright::mma_gemm {

namespace {

const NamedKnobs<Knobs, 17> kKnobs = {{{"warp_m", &Knobs::warp_m},
                                       {"warp_n", &Knobs::warp_n},
                                       {"warps_m", &Knobs::warps_m},
                                       {"warps_n", &Knobs::warps_n},
                                       {"warps_k", &Knobs::warps_k},
                                       {"tile_k", &Knobs::tile_k},
                                       {"stages", &Knobs::stages},
                                       {"instruction", &Knobs::depth},
                                       {"async", &Knobs::async},
                                       {"fragment_buffers", &Knobs::fragment_buffers},
                                       {"unroll", &Knobs::unroll},
                                       {"staged_epilogue", &Knobs::staged_epilogue},
                                       {"taps_inner", &Knobs::taps_inner},
                                       {"columns_first", &Knobs::columns_first},
                                       {"raster_group", &Knobs::raster_group},
                                       {"split_k", &Knobs::split_k},
                                       {"ctas_per_sm", &Knobs::ctas_per_sm}}};

}  // namespace

Knobs knobs_of(const Config& config) { return knobs_from(kKnobs, config); }

Knobs knobs_of(std::span<const int64_t> values) { return knobs_from(kKnobs, values); }

Config config_of(const Knobs& knobs) { return config_from(kKnobs, knobs, {kName, kSpaceVersion, {}}); }

Shape::Shape(const Workload& workload)
    : rows(workload.output.pixels()),
      columns(workload.output.c / workload.groups),
      groups(workload.groups),
      group_channels(workload.inputs[0].c / workload.groups),
      taps(workload.window.kernel_h * workload.window.kernel_w) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  // Several groups may not read past their channels: the next lanes are the next group's, or past the buffer.
  vector =
      groups > 1 ? common_power_of_two(16, x.pixel_stride, x.channel_offset, group_channels) : readable_vector(x, 16);
  lane_channels = round_up(group_channels, std::max<int64_t>(4, vector));
  reduction = taps * lane_channels;
  tiles_write_pads = groups == 1 && owns_pad_lanes(y);
  stored_columns = tiles_write_pads ? y.pixel_stride : columns;
  output_bytes = gives_accumulators(workload) ? 4 : 1;
  store_vector = common_power_of_two(16 / output_bytes, y.pixel_stride, y.channel_offset, groups > 1 ? columns : 0,
                                     stored_columns);
  if (store_vector < 4) store_vector = 1;
  const Window& window = workload.window;
  may_leave_image = window.pad_top > 0 || window.pad_left > 0 || window.pad_bottom > 0 || window.pad_right > 0;
  fills = needs_fill(workload);
  has_row_sums = workload.weight_zero_point != ZeroPointForm::zero;
  has_residual = workload.epilogue.residual != ResidualForm::none;
}

namespace {

int64_t estimate_registers(const Plan& plan) {
  const int64_t blocks = plan.warp_m / 16, columns = plan.warp_n / 8;
  const int64_t sums = blocks * columns * 4 + (plan.shape.has_row_sums ? blocks * 4 : 0);
  const int64_t fragments = plan.fragment_buffers * (blocks * 4 + columns * 2);
  const int64_t places = plan.x_loads * (plan.shape.may_leave_image ? 3 : 2);
  // What is held between load and store is held twice, in part, where the loop is unrolled.
  const int64_t held =
      plan.async != 0 ? 0 : plan.x_loads * plan.shape.vector / 4 + plan.weight_loads * 4 + (plan.unroll > 1 ? 24 : 0);
  return 28 + sums + fragments + places + held;
}

}  // namespace

Plan::Plan(const Shape& shape_of, const Knobs& knobs)
    : Knobs(knobs),
      shape(shape_of),
      threads(warps_m * warps_n * warps_k * 32),
      tile_m(warp_m * warps_m),
      tile_n(warp_n * warps_n),
      m_tiles(ceil_div(shape.rows, tile_m)),
      n_tiles(ceil_div(shape.stored_columns, tile_n)),
      k_tiles(ceil_div(shape.reduction, tile_k)),
      split_tiles(ceil_div(k_tiles, split_k)),
      tiles(m_tiles * n_tiles * shape.groups),
      ctas(tiles * split_k),
      steps(tile_k / kStepBytes / warps_k),
      row_step(threads * shape.vector / tile_k),
      x_loads(row_step > 0 ? ceil_div(tile_m, row_step) : 0),
      weight_loads(ceil_div(tile_n * tile_k / kChunkBytes, threads)),
      x_tile_bytes(tile_m * tile_k),
      stage_bytes((tile_m + tile_n) * tile_k),
      run(std::min<int64_t>(16 / shape.output_bytes, warp_n / 4)),
      store_lanes(staged_epilogue != 0 ? shape.store_vector : std::min(run, shape.store_vector)),
      staged_stride(mma::staged_stride(tile_n, run)),
      smem_bytes(std::max({stages * stage_bytes, mma::slice_bytes(tile_m, tile_n, warps_k),
                           staged_epilogue != 0 ? tile_m * staged_stride : 0})),
      registers(estimate_registers(*this)) {}

int64_t Plan::channel_at(int64_t column) const {
  const int64_t group = column / (n_tiles * tile_n), in_group = column % (n_tiles * tile_n);
  return in_group < shape.columns ? group * shape.columns + in_group : -1;
}

int64_t Plan::channel_of_row(int64_t row) const {
  return channel_at(row / warp_n * warp_n + mma::column_of(row % warp_n, run));
}

int64_t Plan::channel_of_constant(int64_t position) const {
  return channel_at(position / warp_n * warp_n + mma::column_of_constant(position % warp_n, run));
}

Resources resources_of(const Plan& plan) {
  Resources resources;
  const int64_t k_steps = plan.tiles * plan.k_tiles;
  const int64_t stage = plan.stage_bytes;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.tensor_products = k_steps * plan.tile_m * plan.tile_n * plan.tile_k;
  resources.tensor_depth = plan.depth;
  resources.steps = plan.split_tiles;
  resources.stages = plan.stages;
  const int64_t stored = plan.shape.rows * plan.shape.stored_columns * plan.shape.groups;
  resources.global_load_bytes = k_steps * stage + (plan.shape.has_residual ? stored : 0);
  resources.global_store_bytes = stored * plan.shape.output_bytes;
  const int64_t fragments = (plan.warp_m + plan.warp_n) * plan.tile_k * plan.warps_m * plan.warps_n;
  resources.smem_bytes_moved = k_steps * (stage + fragments);
  if (plan.split_k > 1) {
    resources.workspace_bytes = mma::workspace_bytes(plan.tiles, plan.split_k, plan.tile_m, plan.tile_n);
  }
  if (plan.staged_epilogue != 0) resources.smem_bytes_moved += plan.tiles * plan.tile_m * plan.tile_n * 2;
  resources.smem_bytes_moved += plan.tiles * 2 * mma::slice_bytes(plan.tile_m, plan.tile_n, plan.warps_k);
  return resources;
}

}  // namespace warpwright::mma_gemm
