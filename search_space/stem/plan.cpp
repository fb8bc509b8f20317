// The arithmetic of one stem kernel.
#include "search_space/stem/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/product_epilogue.h"

namespace warpwright::stem {

Plan::Plan(const Workload& workload, const Config& config)
    : channels(config.at("channels")),
      run_w(config.at("run_w")),
      block_c(config.at("block_c")),
      block_w(config.at("block_w")),
      block_h(config.at("block_h")),
      direct_weights(config.at("direct_weights") != 0),
      unrolled(config.at("unrolled") != 0),
      output_channels(workload.output.c) {
  const Window& window = workload.window;
  const TensorForm& y = workload.output;
  covered_lanes = y.c + pad_lanes(workload);
  threads = block_c * block_w * block_h;
  tile_channels = block_c * channels;
  c_blocks = ceil_div(covered_lanes, tile_channels);
  w_blocks = ceil_div(y.w, block_w * run_w);
  h_blocks = ceil_div(y.h, block_h);
  ctas = c_blocks * w_blocks * h_blocks * y.n;
  const int64_t filter_cols = (window.kernel_w - 1) * window.dilation_w;
  word_vector = run_w * window.stride_w % 4 == 0 ? 4 : 1;
  in_cols = round_up((run_w - 1) * window.stride_w + filter_cols + 1, word_vector);
  tile_cols = (block_w - 1) * run_w * window.stride_w + in_cols;
  tile_rows = (block_h - 1) * window.stride_h + (window.kernel_h - 1) * window.dilation_h + 1;
  tile_bytes = round_up(tile_rows * tile_cols * 4, 16);
  weight_bytes = window.kernel_h * window.kernel_w * tile_channels * 4;
  smem_bytes = tile_bytes + (direct_weights ? 0 : weight_bytes);
  store_lanes = common_power_of_two(std::min<int64_t>(16, channels), y.pixel_stride, y.channel_offset, covered_lanes);
  if (store_lanes < 4) store_lanes = 1;
  const int64_t zero_point = workload.weight_zero_point == ZeroPointForm::zero ? 0 : run_w;
  registers = 40 + run_w * channels + in_cols + std::min<int64_t>(channels, 16) + zero_point;
}

Resources resources_of(const Workload& workload, const Plan& plan) {
  const Window& window = workload.window;
  const int64_t taps = window.kernel_h * window.kernel_w;
  const int64_t all_threads = plan.threads * plan.ctas;
  Resources resources;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.inner_products = all_threads * plan.run_w * plan.channels * taps;
  const int64_t weight_reads = all_threads * plan.channels * taps * 4;
  resources.global_load_bytes =
      plan.ctas * plan.tile_bytes + (plan.direct_weights ? weight_reads : plan.ctas * plan.weight_bytes);
  const int64_t lane_bytes = gives_accumulators(workload) ? 4 : 1;
  resources.global_store_bytes = workload.output.pixels() * plan.covered_lanes * lane_bytes;
  resources.smem_bytes_moved = plan.ctas * plan.smem_bytes + all_threads * window.kernel_h * plan.in_cols * 4 +
                               (plan.direct_weights ? 0 : weight_reads);
  return resources;
}

}  // namespace warpwright::stem
