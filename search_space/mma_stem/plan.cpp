// The arithmetic of one mma_stem kernel.
#include "search_space/mma_stem/plan.h"

#include <algorithm>
#include <array>

#include "search_space/arithmetic.h"
#include "search_space/product_epilogue.h"

namespace warpwright::mma_stem {

namespace {

constexpr int64_t kBanks = 32;

/// Shared-memory wavefronts beyond one for each load of A words, over all groups of flat taps.
int64_t conflicts(const Window& window, int64_t groups, int64_t pitch) {
  int64_t more = 0;
  const int64_t taps = window.kernel_h * window.kernel_w;
  for (int64_t group = 0; group < groups; ++group) {
    std::array<std::array<int64_t, 32>, kBanks> words{};  // those of a bank
    std::array<size_t, kBanks> counts{};
    size_t most = 1;
    for (int64_t lane = 0; lane < 32; ++lane) {
      const int64_t own = group * kGroupTaps + lane % 4, tap = own < taps ? own : 0;
      const int64_t word = lane / 4 * window.stride_w + tap / window.kernel_w * window.dilation_h * pitch +
                           tap % window.kernel_w * window.dilation_w;
      auto& bank = words[static_cast<size_t>(word % kBanks)];
      size_t& count = counts[static_cast<size_t>(word % kBanks)];
      const auto end = bank.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::find(bank.begin(), end, word) == end) *end = word, most = std::max(most, ++count);
    }
    more += static_cast<int64_t>(most) - 1;
  }
  return more;
}

/// The first pitch from `least` on, in steps of `vector`, with the fewest conflicts. Rows of whole groups read one row
/// at a time, so that their conflicts do not depend on it.
int64_t best_pitch(const Window& window, bool flat_taps, int64_t groups, int64_t least, int64_t vector) {
  if (!flat_taps) return least;
  int64_t best = least, fewest = conflicts(window, groups, least);
  for (int64_t pitch = least + vector; pitch < least + kBanks && fewest > 0; pitch += vector) {
    const int64_t now = conflicts(window, groups, pitch);
    if (now < fewest) best = pitch, fewest = now;
  }
  return best;
}

/// Fitted to what NVRTC 13.0 reports.
int64_t estimated_registers(const Workload& workload, const Plan& plan) {
  const bool held = plan.weights_in == WeightsIn::registers;
  const int64_t rows = plan.warp_m / 16;
  const int64_t zero_point = workload.weight_zero_point == ZeroPointForm::zero ? 0 : rows * 4;
  const int64_t weights = plan.column_tiles() * 2 * (held ? plan.steps : 1);
  const int64_t copies = plan.async || plan.tiles == 1 ? 0 : plan.patch_loads * (plan.vector + 1) + 8;
  return 36 + rows * plan.column_tiles() * 4 + zero_point + weights + rows * 4 + copies +
         (plan.flat_taps ? plan.groups : 0);
}

}  // namespace

Plan::Plan(const Workload& workload, const Config& config)
    : instruction(config.at("instruction")),
      tile_h(config.at("tile_h")),
      tile_w(config.at("tile_w")),
      warps_m(config.at("warps_m")),
      warps_n(config.at("warps_n")),
      warp_m(config.at("warp_m")),
      warp_n(config.at("warp_n")),
      flat_taps(config.at("flat_taps") != 0),
      weights_in(static_cast<WeightsIn>(config.at("weights_in"))),
      async(config.at("async") != 0),
      tiles(config.at("tiles")),
      ctas_per_sm(config.at("ctas_per_sm")),
      output_channels(workload.output.c) {
  const Window& window = workload.window;
  const TensorForm& y = workload.output;
  covered_lanes = y.c + pad_lanes(workload);
  threads = warps_m * warps_n * 32;
  tile_n = warps_n * warp_n;
  passes = tile_h * tile_w / (warps_m * warp_m);
  c_blocks = ceil_div(covered_lanes, tile_n);
  w_blocks = ceil_div(y.w, tile_w);
  h_blocks = ceil_div(y.h, tile_h);
  all_tiles = w_blocks * h_blocks * y.n;
  ctas = ceil_div(all_tiles, tiles) * c_blocks;
  row_taps = flat_taps ? window.kernel_w : round_up(window.kernel_w, kGroupTaps);
  groups = ceil_div(window.kernel_h * row_taps, kGroupTaps);
  steps = ceil_div(groups * kGroupTaps, kStepTaps);
  vector = common_power_of_two(4, workload.inputs[0].w);
  lead = (vector - window.pad_left % vector) % vector;
  patch_rows = (tile_h - 1) * window.stride_h + (window.kernel_h - 1) * window.dilation_h + 1;
  row_vectors = ceil_div(lead + (tile_w - 1) * window.stride_w + (row_taps - 1) * window.dilation_w + 1, vector);
  pitch = best_pitch(window, flat_taps, groups, row_vectors * vector, vector);
  patch_vectors = patch_rows * row_vectors;
  patch_loads = ceil_div(patch_vectors, threads);
  patch_bytes = round_up(patch_rows * pitch * 4, 16);
  weight_bytes = warps_n * steps * column_tiles() / 2 * 512;
  smem_weights_at = patch_bytes * std::min<int64_t>(2, tiles);
  smem_bytes = smem_weights_at + (weights_in == WeightsIn::shared ? weight_bytes : 0);
  run = std::min<int64_t>(warp_n / 4, is_code(y.dtype) ? 16 : 4);
  store_lanes = common_power_of_two(run, y.pixel_stride, y.channel_offset, covered_lanes);
  if (store_lanes < 4) store_lanes = 1;
  registers = estimated_registers(workload, *this);
}

Resources resources_of(const Workload& workload, const Plan& plan) {
  const int64_t cta_tiles = plan.all_tiles * plan.c_blocks;
  const int64_t warp_passes = cta_tiles * plan.warps_m * plan.warps_n * plan.passes;
  const int64_t warp_weights = plan.weight_bytes / plan.warps_n;
  Resources resources;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.tensor_products = cta_tiles * plan.tile_h * plan.tile_w * plan.tile_n * plan.steps * kStepTaps * 4;
  const int64_t patches = cta_tiles * plan.patch_vectors * plan.vector * 4;
  resources.global_load_bytes = patches;
  resources.smem_bytes_moved = patches + warp_passes * plan.warp_m * plan.groups * kGroupTaps * 4;
  switch (plan.weights_in) {
    case WeightsIn::shared:
      resources.global_load_bytes += plan.ctas * plan.weight_bytes;
      resources.smem_bytes_moved += plan.ctas * plan.weight_bytes + warp_passes * warp_weights;
      break;
    case WeightsIn::global:
      resources.global_load_bytes += warp_passes * warp_weights;
      break;
    case WeightsIn::registers:
      resources.global_load_bytes += plan.ctas * plan.weight_bytes * plan.warps_m;
      break;
  }
  const int64_t lane_bytes = is_code(workload.output.dtype) ? 1 : 4;
  resources.global_store_bytes = workload.output.pixels() * plan.covered_lanes * lane_bytes;
  return resources;
}

}  // namespace warpwright::mma_stem
