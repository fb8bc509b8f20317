// The arithmetic of one mma_matmul kernel.
#include "search_space/mma_matmul/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/mma/warp_tile.h"
#include "search_space/named_knobs.h"
#include "search_space/product_epilogue.h"

namespace warpwright::mma_matmul {

namespace {

const NamedKnobs<Knobs, 14> kKnobs = {{{"warp_m", &Knobs::warp_m},
                                       {"warp_n", &Knobs::warp_n},
                                       {"warps_m", &Knobs::warps_m},
                                       {"warps_n", &Knobs::warps_n},
                                       {"tile_k", &Knobs::tile_k},
                                       {"stages", &Knobs::stages},
                                       {"instruction", &Knobs::depth},
                                       {"async", &Knobs::async},
                                       {"fragment_buffers", &Knobs::fragment_buffers},
                                       {"staged_epilogue", &Knobs::staged_epilogue},
                                       {"columns_first", &Knobs::columns_first},
                                       {"raster_group", &Knobs::raster_group},
                                       {"split_k", &Knobs::split_k},
                                       {"ctas_per_sm", &Knobs::ctas_per_sm}}};

}  // namespace

Knobs knobs_of(const Config& config) { return knobs_from(kKnobs, config); }

Config config_of(const Knobs& knobs) { return config_from(kKnobs, knobs, {kName, kSpaceVersion, {}}); }

namespace {

RowCopy row_copy(const TensorForm& form) {
  const int64_t vector = readable_vector(form, kChunkBytes);
  // Strides and offsets are multiples of 4.
  return {std::max<int64_t>(4, vector), vector < 4};
}

int64_t estimate_registers(const Plan& plan) {
  const int64_t blocks = plan.warp_m / 16, columns = plan.warp_n / 8;
  int64_t sums = blocks * columns * 4;
  if (plan.shape.has_row_sums) sums += blocks * 4;
  if (plan.shape.has_column_sums) sums += columns * 4;
  const int64_t fragments = plan.fragment_buffers * (blocks * 4 + columns * 2);
  const int64_t places = (plan.a_loads + plan.b_loads) * 2;
  int64_t held = plan.a_is_held() ? plan.a_loads * plan.shape.a.vector / 4 : 0;
  if (!plan.shape.transposed) {
    held += plan.b_loads * 16;
  } else if (plan.b_is_held()) {
    held += plan.b_loads * plan.shape.b.vector / 4;
  }
  return 30 + sums + fragments + places + held;
}

int64_t loads(int64_t rows, int64_t row_step) { return row_step > 0 ? ceil_div(rows, row_step) : 0; }

}  // namespace

Workload epilogue_of(const Workload& workload) {
  Workload dense;
  dense.kind = OpKind::dense;
  dense.inputs = {workload.inputs[0]};
  dense.output = workload.output;
  dense.epilogue.table_input = workload.output.dtype;
  dense.epilogue.bias =
      workload.x_zero_point != ZeroPointForm::zero && workload.weight_zero_point != ZeroPointForm::zero;
  return dense;
}

Shape::Shape(const Workload& workload)
    : batch(workload.batch),
      rows(workload.matrix_rows()),
      columns(workload.output.c),
      depth(workload.reduction_size()),
      transposed(workload.transposed),
      a(row_copy(workload.inputs[0])),
      b(row_copy(workload.inputs[1])),
      bytewise_columns(!workload.transposed && readable_vector(workload.inputs[1], 4) < 4),
      has_row_sums(workload.weight_zero_point != ZeroPointForm::zero),
      has_column_sums(workload.x_zero_point != ZeroPointForm::zero) {
  const TensorForm& y = workload.output;
  stored_columns = owns_pad_lanes(y) ? y.pixel_stride : columns;
  output_bytes = static_cast<int64_t>(size_bytes(y.dtype));
  store_vector = common_power_of_two(16 / output_bytes, y.pixel_stride, y.channel_offset, stored_columns);
  if (store_vector < 4) store_vector = 1;
}

Plan::Plan(const Shape& shape_of, const Knobs& knobs)
    : Knobs(knobs),
      shape(shape_of),
      threads(warps_m * warps_n * 32),
      tile_m(warp_m * warps_m),
      tile_n(warp_n * warps_n),
      m_tiles(ceil_div(shape.rows, tile_m)),
      n_tiles(ceil_div(shape.stored_columns, tile_n)),
      k_tiles(ceil_div(shape.depth, tile_k)),
      split_tiles(ceil_div(k_tiles, split_k)),
      tiles(m_tiles * n_tiles * shape.batch),
      ctas(tiles * split_k),
      steps(tile_k / kStepBytes),
      a_row_step(threads * shape.a.vector / tile_k),
      b_row_step(threads * shape.b.vector / tile_k),
      a_loads(loads(tile_m, a_row_step)),
      b_loads(shape.transposed ? loads(tile_n, b_row_step) : ceil_div(b_units(), threads)),
      a_tile_bytes(tile_m * tile_k),
      stage_bytes((tile_m + tile_n) * tile_k),
      run(std::min<int64_t>(16 / shape.output_bytes, warp_n / 4)),
      store_lanes(staged_epilogue != 0 ? shape.store_vector : std::min(run, shape.store_vector)),
      staged_stride(mma::staged_stride(tile_n, run)),
      smem_bytes(std::max(stages * stage_bytes, staged_epilogue != 0 ? tile_m * staged_stride : 0)),
      registers(estimate_registers(*this)) {}

Resources resources_of(const Plan& plan) {
  Resources resources;
  const int64_t k_steps = plan.tiles * plan.k_tiles;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  const int64_t sums_m = plan.shape.has_column_sums ? plan.warps_m * 16 : 0;
  const int64_t sums_n = plan.shape.has_row_sums ? plan.warps_n * 8 : 0;
  resources.tensor_products =
      k_steps * plan.tile_k * (plan.tile_m * plan.tile_n + sums_m * plan.tile_n + sums_n * plan.tile_m);
  resources.tensor_depth = plan.depth;
  resources.steps = plan.split_tiles;
  resources.stages = plan.stages;
  resources.global_load_bytes = k_steps * plan.stage_bytes;
  resources.global_store_bytes =
      plan.shape.batch * plan.shape.rows * plan.shape.stored_columns * plan.shape.output_bytes;
  const int64_t fragments = (plan.warp_m + plan.warp_n) * plan.tile_k * plan.warps_m * plan.warps_n;
  resources.smem_bytes_moved = k_steps * (plan.stage_bytes + fragments);
  if (plan.staged_epilogue != 0) resources.smem_bytes_moved += plan.tiles * plan.tile_m * plan.tile_n * 2;
  if (plan.split_k > 1) {
    resources.workspace_bytes = mma::workspace_bytes(plan.tiles, plan.split_k, plan.tile_m, plan.tile_n);
  }
  return resources;
}

}  // namespace warpwright::mma_matmul
