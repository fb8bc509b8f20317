// The arithmetic of one dp4a_gemm kernel.
#include "search_space/dp4a_gemm/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/product_epilogue.h"

namespace warpwright::dp4a_gemm {

namespace {

int64_t estimate_registers(const Plan& plan) {
  const int64_t accumulators = plan.thread_m * plan.thread_n;
  const int64_t fragments = 4 * plan.thread_m + 8;
  const int64_t copies = plan.x_loads * (plan.word_vector / 4 + 3) + (plan.direct_weights ? 0 : plan.weight_loads * 4);
  return 40 + accumulators + fragments + copies;
}

}  // namespace

Shape::Shape(const Workload& workload)
    : rows(workload.output.pixels()),
      columns(workload.output.c / workload.groups),
      groups(workload.groups),
      group_channels(workload.inputs[0].c / workload.groups),
      taps(workload.window.kernel_h * workload.window.kernel_w) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  // Several groups may not read past their channels: the next lanes are the next group's, or past the buffer.
  widest_vector =
      groups > 1 ? common_power_of_two(16, x.pixel_stride, x.channel_offset, group_channels) : readable_vector(x, 16);
  if (widest_vector < 4) widest_vector = 1;
  tiles_write_pads = groups == 1 && owns_pad_lanes(y);
  stored_columns = tiles_write_pads ? y.pixel_stride : columns;
  const Window& window = workload.window;
  may_leave_image = window.pad_top > 0 || window.pad_left > 0 || window.pad_bottom > 0 || window.pad_right > 0;
}

Plan::Plan(const Workload& workload, const Config& config)
    : shape(workload),
      thread_m(config.at("thread_m")),
      thread_n(config.at("thread_n")),
      lanes_m(config.at("lanes_m")),
      lanes_n(config.at("lanes_n")),
      lanes_k(std::max<int64_t>(1, 32 / (lanes_m * lanes_n))),
      warps_m(config.at("warps_m")),
      warps_n(config.at("warps_n")),
      warps_k(config.at("warps_k")),
      tile_k(config.at("tile_k")),
      vector(config.at("vector")),
      stages(config.at("stages")),
      unroll(config.at("unroll")),
      direct_weights(config.at("direct_weights") != 0),
      staged_epilogue(config.at("staged_epilogue") != 0),
      columns_first(config.at("columns_first") != 0),
      padded_rows(config.at("padded_rows") != 0) {
  word_vector = std::max<int64_t>(4, vector);
  lane_channels = round_up(shape.group_channels, word_vector);
  reduction = shape.taps * lane_channels;
  threads_m = lanes_m * warps_m;
  threads_n = lanes_n * warps_n;
  slices = lanes_k * warps_k;
  threads = threads_m * threads_n * slices;
  tile_m = threads_m * thread_m;
  tile_n = threads_n * thread_n;
  m_tiles = ceil_div(shape.rows, tile_m);
  n_tiles = ceil_div(shape.stored_columns, tile_n);
  k_tiles = ceil_div(reduction, tile_k);
  ctas = m_tiles * n_tiles * shape.groups;
  chunks = tile_k / kChunkBytes / slices;

  // Eight lanes read 16 bytes each at once: rows lanes_k (mod 2 * lanes_k) chunks apart keep them on different banks.
  const int64_t chunk_row = tile_k / kChunkBytes;
  int64_t padding = 0;
  if (padded_rows && lanes_k < 8) {
    while ((chunk_row + padding) % (2 * lanes_k) != lanes_k) ++padding;
  }
  row_bytes = (chunk_row + padding) * kChunkBytes;
  x_loads = ceil_div(tile_m * tile_k / word_vector, threads);
  weight_loads = ceil_div(tile_n * chunk_row, threads);
  x_tile_bytes = tile_m * row_bytes;
  weight_tile_bytes = direct_weights ? 0 : tile_n * row_bytes;
  reduce_stride = tile_n + 4;
  const int64_t reduce_bytes = staged_epilogue ? slices * tile_m * reduce_stride * 4 : 0;
  smem_bytes = std::max(stages * (x_tile_bytes + weight_tile_bytes), reduce_bytes);

  const TensorForm& y = workload.output;
  const int64_t across_groups = shape.groups > 1 ? shape.columns : 0;
  int64_t most_lanes = staged_epilogue ? std::clamp<int64_t>(tile_m * tile_n / threads, 4, 16) : thread_n;
  most_lanes = std::min<int64_t>(most_lanes, 16);
  store_lanes =
      common_power_of_two(most_lanes, tile_n, y.pixel_stride, y.channel_offset, across_groups, shape.stored_columns);
  if (store_lanes < 4) store_lanes = 1;
  registers = estimate_registers(*this);
}

int64_t Plan::channel_at(int64_t position) const {
  const int64_t group = position / (n_tiles * tile_n), column = position % (n_tiles * tile_n);
  return column < shape.columns ? group * shape.columns + column : -1;
}

Resources resources_of(const Plan& plan) {
  Resources resources;
  const int64_t steps = plan.ctas * plan.k_tiles;
  const int64_t products = plan.tile_m * plan.tile_n * plan.tile_k;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.inner_products = steps * products / 4;
  const int64_t x_bytes = plan.tile_m * plan.tile_k, weight_bytes = plan.tile_n * plan.tile_k;
  const int64_t weight_reads = weight_bytes * plan.threads_m;  // of threads that read the same column
  const int64_t x_reads = x_bytes * plan.threads_n;
  resources.global_load_bytes = steps * (x_bytes + (plan.direct_weights ? weight_reads : weight_bytes));
  resources.global_store_bytes = plan.shape.rows * plan.shape.stored_columns * plan.shape.groups;
  resources.smem_bytes_moved = steps * (x_bytes + x_reads + (plan.direct_weights ? 0 : weight_bytes + weight_reads));
  if (plan.staged_epilogue) resources.smem_bytes_moved += plan.ctas * plan.slices * plan.tile_m * plan.tile_n * 8;
  return resources;
}

}  // namespace warpwright::dp4a_gemm
