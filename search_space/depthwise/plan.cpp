// The arithmetic of one depthwise kernel.
#include "search_space/depthwise/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/product_epilogue.h"

namespace warpwright::depthwise {

namespace {

/// Rows of the input that the outputs of a thread touch.
int64_t touched_rows(const Window& window, int64_t run_h) {
  int64_t rows = 0;
  const int64_t span = (run_h - 1) * window.stride_h + (window.kernel_h - 1) * window.dilation_h + 1;
  for (int64_t row = 0; row < span; ++row) {
    bool touched = false;
    for (int64_t h = 0; h < run_h; ++h) {
      const int64_t offset = row - h * window.stride_h;
      touched =
          touched || (offset >= 0 && offset % window.dilation_h == 0 && offset / window.dilation_h < window.kernel_h);
    }
    rows += touched;
  }
  return rows;
}

}  // namespace

int64_t widest_vector(const Workload& workload) { return readable_vector(workload.inputs[0], 16); }

Plan::Plan(const Workload& workload, const Config& config)
    : channels(config.at("channels")),
      run_w(config.at("run_w")),
      run_h(config.at("run_h")),
      block_c(config.at("block_c")),
      block_w(config.at("block_w")),
      block_h(config.at("block_h")),
      shared_tile(config.at("shared_tile") != 0),
      transposed(config.at("transposed") != 0),
      unrolled(config.at("unrolled") != 0),
      multiplier(workload.output.c / workload.groups),
      part(multiplier <= 4 ? multiplier : 1),
      parts(multiplier / part),
      input_channels(workload.inputs[0].c),
      output_channels(workload.output.c) {
  const Window& window = workload.window;
  const TensorForm& y = workload.output;
  threads = block_c * block_w * block_h;
  tile_channels = block_c * channels;
  c_blocks = ceil_div(input_channels, tile_channels);
  w_blocks = ceil_div(y.w, block_w * run_w);
  h_blocks = ceil_div(y.h, block_h * run_h);
  ctas = c_blocks * w_blocks * h_blocks * y.n * parts;

  auto span = [](int64_t outputs, int64_t stride, int64_t kernel, int64_t dilation) {
    return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  };
  in_cols = span(run_w, window.stride_w, window.kernel_w, window.dilation_w);
  in_rows = span(run_h, window.stride_h, window.kernel_h, window.dilation_h);
  group = 1;
  if (window.dilation_w == 1) {
    const int64_t whole = round_up(window.kernel_w, 4);
    while (group * 2 <= run_w && (group * 2 - 1) * window.stride_w + window.kernel_w <= whole) group *= 2;
  }
  quads = ceil_div((group - 1) * window.stride_w + window.kernel_w, 4);
  tile_cols = span(block_w * run_w, window.stride_w, window.kernel_w, window.dilation_w);
  tile_rows = span(block_h * run_h, window.stride_h, window.kernel_h, window.dilation_h);
  copy_vector = common_power_of_two(widest_vector(workload), tile_channels);
  smem_bytes = shared_tile ? tile_cols * tile_rows * tile_channels : 0;
  weight_vectors = window.kernel_h * (transposed ? group * quads : window.kernel_w) * multiplier;

  const int64_t written = owns_pad_lanes(y) ? round_up(output_channels, 4) : output_channels;
  covered_lanes = part == multiplier ? written : output_channels;
  store_lanes = part == multiplier
                    ? common_power_of_two(16, channels * multiplier, y.pixel_stride, y.channel_offset, covered_lanes)
                    : 1;
  if (store_lanes < 4) store_lanes = 1;
  const int64_t words = channels / 4, outputs = run_w * run_h;
  const int64_t row_weights = (transposed ? group * quads : window.kernel_w) * part * 4;
  const int64_t zero_point = workload.weight_zero_point == ZeroPointForm::zero
                                 ? 0
                                 : channels * (transposed ? outputs / std::min(group, outputs) : outputs);
  // Several output rows keep the weights of a filter row for each other.
  const int64_t kept_weights = std::min<int64_t>(row_weights * (run_h > 1 ? words : 1), run_h > 1 ? 96 : 32);
  registers = 44 + outputs * channels * part + zero_point + in_cols * words + kept_weights + (transposed ? 12 : 0);
  const int64_t groups_w = run_w / group;
  products = outputs * window.kernel_h * (transposed ? quads : window.kernel_w) * channels * part;
  if (transposed) products += touched_rows(window, run_h) * groups_w * quads * words * 8;  // the transpositions
}

Resources resources_of(const Workload& workload, const Plan& plan) {
  const Window& window = workload.window;
  Resources resources;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  const int64_t all_threads = plan.threads * plan.ctas;
  resources.inner_products = all_threads * plan.products;
  const int64_t x_bytes = touched_rows(window, plan.run_h) * plan.in_cols * plan.channels;
  const int64_t weight_bytes = plan.weight_vectors / plan.parts * plan.channels * 4;
  const int64_t tile_bytes = plan.tile_cols * plan.tile_rows * plan.tile_channels;
  resources.global_load_bytes =
      all_threads * weight_bytes + (plan.shared_tile ? plan.ctas * tile_bytes : all_threads * x_bytes);
  resources.global_store_bytes = workload.output.pixels() * plan.covered_lanes;
  resources.smem_bytes_moved = plan.shared_tile ? plan.ctas * tile_bytes + all_threads * x_bytes : 0;
  return resources;
}

}  // namespace warpwright::depthwise
