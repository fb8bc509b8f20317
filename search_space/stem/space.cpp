// The space of stem: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/limits.h"
#include "search_space/product_epilogue.h"
#include "search_space/stem/plan.h"

namespace warpwright::stem {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostTaps = 256;
constexpr int64_t kMostTileBytes = 32 << 10;
constexpr int64_t kMostProducts = 4096;

std::optional<std::string> why_bad_shape(const Workload& workload, const Plan& plan, const Target& target) {
  if (plan.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", plan.threads, target.max_threads_per_block, target.name);
  }
  const bool is_all = plan.c_blocks == 1 && plan.w_blocks == 1 && plan.h_blocks == 1;
  if (plan.threads < 32 && !is_all) return fmt::format("{} threads fill no warp", plan.threads);
  const int64_t needed_c = ceil_div(plan.covered_lanes, plan.channels);
  const int64_t needed_w = ceil_div(workload.output.w, plan.run_w);
  if (plan.block_c >= 2 * needed_c || plan.block_w >= 2 * needed_w || plan.block_h >= 2 * workload.output.h) {
    return fmt::format("{} x {} x {} threads are hopeless where {} x {} x {} have work", plan.block_c, plan.block_w,
                       plan.block_h, needed_c, needed_w, workload.output.h);
  }
  if (plan.ctas > kMostIndex) return fmt::format("{} CTAs exceed the grid", plan.ctas);
  return std::nullopt;
}

std::optional<std::string> why_too_much(const Workload& workload, const Plan& plan, const Target& target) {
  const SmDemand demand{.smem_bytes = plan.smem_bytes, .registers = plan.registers, .threads = plan.threads};
  if (auto reason = warpwright::why_too_much(demand, target)) return reason;
  const int64_t products = workload.window.kernel_h * workload.window.kernel_w * plan.run_w * plan.channels;
  if (plan.unrolled && products > kMostProducts) return fmt::format("{} products are too many to unroll", products);
  if (plan.unrolled && workload.window.kernel_h == 1) return "a filter of one row has no loop to unroll";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (workload.kind != OpKind::conv2d || workload.groups != 1) return "it is no conv2d of one group";
  const TensorForm& x = workload.inputs[0];
  if (x.c > 4 || x.pixel_stride != 4) return fmt::format("{} channels do not share one 4-byte pixel", x.c);
  if (target.compute_capability() < 61) return fmt::format("{} has no dp4a", target.name);
  const Window& window = workload.window;
  const int64_t columns = (window.kernel_w - 1) * window.dilation_w + 1;
  if (columns > 64 || window.kernel_h * window.kernel_w > kMostTaps) {
    return fmt::format("a filter of {} taps, {} columns wide, exceeds {} taps or 64 columns",
                       window.kernel_h * window.kernel_w, columns, kMostTaps);
  }
  // 32 output pixels of one row must fit the shared memory of every card.
  const int64_t rows = (window.kernel_h - 1) * window.dilation_h + 1;
  if (4 * rows * (columns + 32 * window.stride_w + 3) > kMostTileBytes) {
    return fmt::format("the input under 32 output pixels exceeds {} bytes", kMostTileBytes);
  }
  if (workload.output.pixels() > kMostIndex / 2 || x.pixels() > kMostIndex / 2) {
    return fmt::format("more than {} pixels", kMostIndex / 2);
  }
  if (window.kernel_h * window.kernel_w * workload.output.pixel_stride > kMostIndex / 64)
    return "more than 2^25 weights";
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const TensorForm& y = workload.output;
  const int64_t lanes = power_of_two_above(round_up(y.c + pad_lanes(workload), 4));
  const int64_t columns = power_of_two_above(y.w), rows = power_of_two_above(y.h);
  std::vector<Knob> knobs = {
      {"channels", powers_of_two(4, std::min<int64_t>(32, lanes))},
      {"run_w", powers_of_two(1, std::min<int64_t>(8, columns))},
      {"block_c", powers_of_two(1, std::min<int64_t>(32, lanes / 4))},
      {"block_w", powers_of_two(1, std::min<int64_t>(32, columns))},
      {"block_h", powers_of_two(1, std::min<int64_t>(32, rows))},
      {"direct_weights", {0, 1}},
      {"unrolled", {0, 1}},
  };
  return Space(kName, kSpaceVersion, std::move(knobs),
               [workload, target](const Config& config) -> std::optional<std::string> {
                 const Plan plan(workload, config);
                 if (auto reason = why_bad_shape(workload, plan, target)) return reason;
                 return why_too_much(workload, plan, target);
               });
}

}  // namespace warpwright::stem
