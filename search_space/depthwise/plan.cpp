// The arithmetic of one depthwise kernel.
#include "search_space/depthwise/plan.h"

#include <algorithm>
#include <array>

#include "search_space/arithmetic.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"

namespace warpwright::depthwise {

namespace {

constexpr int64_t kBankBytes = 4, kBanks = 32;

/// Rows of the input that the outputs of a thread touch.
int64_t touched_rows(const Window& window, int64_t run_h) {
  if (window.dilation_h == 1 && window.stride_h <= window.kernel_h) {
    return (run_h - 1) * window.stride_h + window.kernel_h;
  }
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

int64_t multiplier_of(const Workload& workload) { return workload.output.c / workload.groups; }

/// Of an input channel's outputs, what one thread makes.
int64_t part_of(int64_t multiplier) { return multiplier <= 4 ? multiplier : 1; }

/// Output lanes that the outputs' own stores write.
int64_t stored_lanes(const Workload& workload) {
  const TensorForm& y = workload.output;
  const int64_t multiplier = multiplier_of(workload);
  return owns_pad_lanes(y) && part_of(multiplier) == multiplier ? y.pixel_stride : y.c;
}

int64_t span(int64_t outputs, int64_t stride, int64_t kernel, int64_t dilation) {
  return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
}

}  // namespace

int64_t channels_with_pads(const Workload& workload) {
  return std::max(workload.inputs[0].c, ceil_div(stored_lanes(workload), multiplier_of(workload)));
}

int64_t widest_vector(const Workload& workload) { return readable_vector(workload.inputs[0], 16); }

Plan::Plan(const Workload& workload, const Config& config)
    : channels(config.at("channels")),
      run_w(config.at("run_w")),
      run_h(config.at("run_h")),
      block_c(config.at("block_c")),
      block_w(config.at("block_w")),
      block_h(config.at("block_h")),
      staging(static_cast<Staging>(config.at("staging"))),
      transposed(config.at("transposed") != 0),
      row_order(config.at("row_order")),
      constants_kept(config.at("constants_kept") != 0),
      rows_first(config.at("rows_first") != 0),
      channels_last(config.at("channels_last") != 0),
      roomy(config.at("roomy") != 0),
      multiplier(multiplier_of(workload)),
      part(part_of(multiplier)),
      parts(multiplier / part),
      input_channels(workload.inputs[0].c),
      output_channels(workload.output.c) {
  cover(workload);
  lay_out_tile(workload);
  count(workload);
}

void Plan::cover(const Workload& workload) {
  const Window& window = workload.window;
  const TensorForm& y = workload.output;
  covered_lanes = stored_lanes(workload);
  vectors = ceil_div(channels_with_pads(workload), channels);
  store_lanes = part == multiplier
                    ? common_power_of_two(16, channels * multiplier, y.pixel_stride, y.channel_offset, covered_lanes)
                    : 1;
  if (store_lanes < 4) store_lanes = 1;
  threads = block_c * block_w * block_h;
  tile_channels = block_c * channels;
  c_blocks = ceil_div(vectors, block_c);
  padded_channels = c_blocks * tile_channels;
  w_blocks = ceil_div(y.w, block_w * run_w);
  h_blocks = ceil_div(y.h, block_h * run_h);
  ctas = c_blocks * w_blocks * h_blocks * y.n * parts;

  in_cols = span(run_w, window.stride_w, window.kernel_w, window.dilation_w);
  in_rows = span(run_h, window.stride_h, window.kernel_h, window.dilation_h);
  used_rows = touched_rows(window, run_h);
  group = 1;
  quads = 0;
  if (transposed) {
    const int64_t whole = round_up(window.kernel_w, 4);
    if (window.dilation_w == 1) {
      while (group * 2 <= run_w && (group * 2 - 1) * window.stride_w + window.kernel_w <= whole) group *= 2;
    }
    quads = ceil_div((group - 1) * window.stride_w + window.kernel_w, 4);
  }
  groups = ceil_div(run_w, group);
  row_vectors = (transposed ? group * quads * 4 : window.kernel_w) * part;
}

void Plan::lay_out_tile(const Workload& workload) {
  const Window& window = workload.window;
  tile_cols = span(block_w * run_w, window.stride_w, window.kernel_w, window.dilation_w);
  tile_rows = span(block_h * run_h, window.stride_h, window.kernel_h, window.dilation_h);
  copy_vector = common_power_of_two(widest_vector(workload), tile_channels);
  step_w = run_w * window.stride_w;
  step_h = run_h * window.stride_h;
  phase_pitch = ceil_div(tile_cols, step_w) * tile_channels;
  row_pitch = phase_pitch * std::min(step_w, tile_cols);
  if (staging != Staging::none) {
    // Rows are shifted against each other where threads of a warp read several of them.
    const int64_t plain = row_pitch;
    for (int64_t pad = 0; tile_conflicts() > 1 && pad < kBanks * kBankBytes; pad += copy_vector)
      row_pitch = plain + pad;
  }
  smem_bytes = staging != Staging::none ? tile_rows * row_pitch : 0;
}

int64_t Plan::tile_conflicts() const {
  const int64_t lanes = std::min<int64_t>(kBanks * kBankBytes / channels, threads);
  int64_t worst = 1;
  for (int64_t first = 0; first < std::min<int64_t>(kBanks, threads); first += lanes) {
    std::array<int64_t, kBanks> ways{};
    for (int64_t lane = first; lane < std::min(first + lanes, threads); ++lane) {
      const int64_t place = lane / block_c;
      const int64_t w = rows_first ? place / block_h : place % block_w;
      const int64_t h = rows_first ? place % block_h : place / block_w;
      const int64_t at = h * step_h * row_pitch + w * tile_channels + lane % block_c * channels;
      for (int64_t byte = 0; byte < channels; byte += kBankBytes) {
        const auto bank = static_cast<size_t>((at + byte) / kBankBytes % kBanks);
        worst = std::max(worst, ++ways[bank]);
      }
    }
  }
  return worst;
}

void Plan::count(const Workload& workload) {
  const Window& window = workload.window;
  const int64_t words = channels / 4, lanes = channels * part;
  const bool centred = workload.weight_zero_point != ZeroPointForm::zero;
  const int64_t row_words = transposed ? groups * quads * channels : in_cols * words;
  const int64_t row_weights = transposed ? row_vectors * words : row_vectors * words * (constants_kept ? 4 : 1);
  const int64_t live_sums = run_w * lanes + (centred ? groups * channels : 0);
  const int64_t overlap = ceil_div((window.kernel_h - 1) * window.dilation_h + 1, window.stride_h);
  const int64_t filter_span = (window.kernel_h - 1) * window.dilation_h + 1;
  int64_t live_rows = run_h == 1 && is_unrolled() ? std::min<int64_t>(window.kernel_h, 2) : 1;
  int64_t live_outputs = std::min(run_h, overlap);
  if (rows_kept()) live_rows = std::min(used_rows, filter_span), live_outputs = 1;
  if (filter_rows_first()) live_rows = std::min(used_rows, run_h * window.stride_h + 1), live_outputs = run_h;
  // Filter rows that an input row, or the compiler ahead of it, needs at once.
  const int64_t filter_rows = rows_kept() || filter_rows_first() ? 1 : live_outputs;
  // Fitted to what ptxas took, and where it spilled, in 827 kernels for sm_89. Under pressure it keeps no constants;
  // but it moves loads up from output row to output row.
  const int64_t constants = constants_kept ? (transposed ? 80 : 50) * (window.kernel_h * row_weights + 2 * lanes)
                                           : 210 * std::min<int64_t>(filter_rows * row_weights, 32);
  const int64_t hundredths = 30 * in_cols * words + 80 * live_rows * row_words + 90 * live_outputs * live_sums +
                             constants + (run_h > 1 ? 75 * run_h * lanes : 0);
  registers = 16 + (run_h > 2 ? 8 : 0) + hundredths / 100;
  const int64_t row_products = transposed ? run_w * quads * lanes : run_w * window.kernel_w * lanes;
  const int64_t row_sums = centred ? (transposed ? groups * quads : run_w * window.kernel_w) * channels : 0;
  products = run_h * window.kernel_h * (row_products + row_sums);
  if (transposed) products += used_rows * groups * quads * words * 8;
  if (!transposed) products += constant_loads() * window.kernel_h * row_vectors * channels;
}

int64_t Plan::ctas_per_sm(const Target& target) const {
  const int64_t most = resident_ctas(registers, threads, smem_bytes, target);
  return roomy ? ceil_div(most, 2) : most;
}

int64_t Plan::channel_at(int64_t position) const {
  const int64_t of_part = position / (padded_channels * part), place = position % (padded_channels * part);
  if (place >= input_channels * part) return -1;
  return part == multiplier ? place : place * multiplier + of_part;
}

Resources resources_of(const Workload& workload, const Plan& plan) {
  Resources resources;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  const int64_t all_threads = plan.threads * plan.ctas;
  resources.inner_products = all_threads * plan.products;
  const int64_t x_bytes = plan.used_rows * plan.in_cols * plan.channels;
  const int64_t weight_bytes = plan.constant_loads() * workload.window.kernel_h * plan.row_vectors * plan.channels;
  const int64_t tile_bytes = plan.tile_cols * plan.tile_rows * plan.tile_channels;
  const bool staged = plan.staging != Staging::none;
  resources.global_load_bytes = all_threads * weight_bytes + (staged ? plan.ctas * tile_bytes : all_threads * x_bytes);
  const int64_t lane_bytes = gives_accumulators(workload) ? 4 : 1;
  resources.global_store_bytes = workload.output.pixels() * plan.covered_lanes * lane_bytes;
  resources.smem_bytes_moved = staged ? plan.ctas * tile_bytes + all_threads * x_bytes : 0;
  return resources;
}

}  // namespace warpwright::depthwise
