// The space of mma_stem: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/limits.h"
#include "search_space/mma_stem/plan.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"

namespace warpwright::mma_stem {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostTaps = 256;
constexpr int64_t kMostTileBytes = 32 << 10;
constexpr int64_t kMostProducts = 512;  // mma instructions in the body of the loop over pixels
constexpr int64_t kMostLoads = 16;      // of a thread for one tile

std::optional<std::string> why_bad_tile(const Workload& workload, const Plan& plan, const Target& target) {
  if (plan.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", plan.threads, target.max_threads_per_block, target.name);
  }
  if (plan.passes * plan.warps_m * plan.warp_m != plan.tile_h * plan.tile_w) {
    return fmt::format("{} warps of {} pixels do not share {} x {}", plan.warps_m, plan.warp_m, plan.tile_h,
                       plan.tile_w);
  }
  const int64_t columns = std::max<int64_t>(16, workload.output.w);
  if (plan.tile_w >= 2 * columns || plan.tile_h >= 2 * std::max<int64_t>(2, workload.output.h)) {
    return fmt::format("a tile of {} x {} pixels is hopeless where {} x {} have work", plan.tile_h, plan.tile_w,
                       workload.output.h, workload.output.w);
  }
  if (plan.tile_n >= 2 * std::max<int64_t>(16, plan.covered_lanes)) {
    return fmt::format("{} channels a CTA are hopeless where {} have work", plan.tile_n, plan.covered_lanes);
  }
  if (plan.tiles > plan.all_tiles) return fmt::format("there are {} tiles, no CTA has {}", plan.all_tiles, plan.tiles);
  if (plan.ctas > kMostIndex) return fmt::format("{} CTAs exceed the grid", plan.ctas);
  return std::nullopt;
}

std::optional<std::string> why_too_much(const Plan& plan, const Target& target) {
  const SmDemand demand{.smem_bytes = plan.smem_bytes, .registers = plan.registers, .threads = plan.threads};
  if (auto reason = warpwright::why_too_much(demand, target)) return reason;
  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  if (plan.ctas_per_sm > resident) {
    return fmt::format("an SM holds {} CTAs, not {}", resident, plan.ctas_per_sm);
  }
  const int64_t products = plan.steps * (plan.warp_m / 16) * plan.column_tiles();
  if (products > kMostProducts) return fmt::format("{} products are too many to unroll", products);
  if (plan.patch_loads > kMostLoads) {
    return fmt::format("{} loads of a thread for one tile exceed {}", plan.patch_loads, kMostLoads);
  }
  return std::nullopt;
}

std::optional<std::string> why_redundant(const Workload& workload, const Plan& plan) {
  const Window& window = workload.window;
  if (plan.flat_taps && (window.kernel_w % kGroupTaps == 0 || window.kernel_h == 1)) {
    return fmt::format("flat taps gain nothing for a filter of {} x {}", window.kernel_h, window.kernel_w);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (workload.kind != OpKind::conv2d || workload.groups != 1) return "it is no conv2d of one group";
  const TensorForm& x = workload.inputs[0];
  if (x.c > 4 || x.pixel_stride != 4) return fmt::format("{} channels do not share one 4-byte pixel", x.c);
  if (target.compute_capability() < 75) return fmt::format("{} has no INT8 tensor cores", target.name);
  const Window& window = workload.window;
  const int64_t columns = (round_up(window.kernel_w, kGroupTaps) - 1) * window.dilation_w + 1;
  if (columns > 64 || window.kernel_h * window.kernel_w > kMostTaps) {
    return fmt::format("a filter of {} taps, {} columns wide, exceeds {} taps or 64 columns",
                       window.kernel_h * window.kernel_w, columns, kMostTaps);
  }
  // 16 output pixels of one row must fit the shared memory of every card.
  const int64_t rows = (window.kernel_h - 1) * window.dilation_h + 1;
  if (4 * rows * (columns + 16 * window.stride_w + 6) > kMostTileBytes) {
    return fmt::format("the input under 16 output pixels exceeds {} bytes", kMostTileBytes);
  }
  if (workload.output.pixels() > kMostIndex / 2 || x.pixels() > kMostIndex / 2) {
    return fmt::format("more than {} pixels", kMostIndex / 2);
  }
  if (window.kernel_h * columns * workload.output.pixel_stride > kMostIndex / 64) return "more than 2^25 weights";
  return std::nullopt;
}

std::optional<std::string> why_illegal(const Workload& workload, const Plan& plan, const Target& target) {
  if (auto reason = why_bad_tile(workload, plan, target)) return reason;
  if (auto reason = why_too_much(plan, target)) return reason;
  return why_redundant(workload, plan);
}

QuickCheck quick_check(const Workload& workload) {
  const int64_t most_w = 2 * std::max<int64_t>(16, workload.output.w);
  const int64_t most_h = 2 * std::max<int64_t>(2, workload.output.h);
  const int64_t most_n = 2 * std::max<int64_t>(16, workload.output.c + pad_lanes(workload));
  // The first knobs of make_space.
  return [=](std::span<const int64_t> values) {
    const int64_t tile_h = values[1], tile_w = values[2];
    return tile_h * tile_w % (values[3] * values[5]) == 0 && tile_w < most_w && tile_h < most_h &&
           values[4] * values[6] < most_n;
  };
}

Space make_space(const Workload& workload, const Target& target) {
  const TensorForm& y = workload.output;
  const int64_t lanes = power_of_two_above(y.c + pad_lanes(workload));
  const int64_t columns = power_of_two_above(y.w), rows = power_of_two_above(y.h);
  const bool has_ampere = target.compute_capability() >= 80;
  const std::vector<int64_t> since_ampere = has_ampere ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0};
  std::vector<Knob> knobs = {
      {"instruction", has_ampere ? std::vector<int64_t>{16, 32} : std::vector<int64_t>{16}},
      {"tile_h", powers_of_two(1, std::clamp<int64_t>(rows, 2, 32))},
      {"tile_w", powers_of_two(8, std::clamp<int64_t>(columns, 16, 64))},
      {"warps_m", powers_of_two(1, 8)},
      {"warps_n", powers_of_two(1, std::clamp<int64_t>(lanes / 16, 1, 4))},
      {"warp_m", powers_of_two(16, 64)},
      {"warp_n", powers_of_two(16, std::clamp<int64_t>(lanes, 16, 64))},
      {"flat_taps", {0, 1}},
      {"weights_in", {0, 1, 2}},
      {"async", since_ampere},
      {"tiles", {1, 2, 4, 8}},
      {"ctas_per_sm", {1, 2, 3, 4, 6, 8}},
  };
  return Space(
      kName, kSpaceVersion, std::move(knobs),
      [workload, target](const Config& config) { return why_illegal(workload, Plan(workload, config), target); },
      quick_check(workload));
}

}  // namespace warpwright::mma_stem
