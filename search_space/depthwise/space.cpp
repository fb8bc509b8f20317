// The space of depthwise: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/depthwise/plan.h"

namespace warpwright::depthwise {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostProducts = 2048;

std::vector<int64_t> powers_of_two(int64_t first, int64_t last) {
  std::vector<int64_t> values;
  for (int64_t value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

std::optional<std::string> why_bad_shape(const Workload& workload, const Plan& plan, const Target& target) {
  if (plan.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", plan.threads, target.max_threads_per_block, target.name);
  }
  const int64_t most = plan.c_blocks == 1 && plan.w_blocks == 1 && plan.h_blocks == 1 ? 1 : 32;
  if (plan.threads < most) return fmt::format("{} threads fill no warp", plan.threads);
  const int64_t needed_c = ceil_div(plan.input_channels, plan.channels);
  const int64_t needed_w = ceil_div(workload.output.w, plan.run_w), needed_h = ceil_div(workload.output.h, plan.run_h);
  if (plan.block_c >= 2 * needed_c || plan.block_w >= 2 * needed_w || plan.block_h >= 2 * needed_h) {
    return fmt::format("{} x {} x {} threads are hopeless where {} x {} x {} have work", plan.block_c, plan.block_w,
                       plan.block_h, needed_c, needed_w, needed_h);
  }
  if (plan.in_cols > 32) return fmt::format("{} input columns a thread exceed a mask of 32", plan.in_cols);
  if (plan.ctas > kMostIndex) return fmt::format("{} CTAs exceed the grid", plan.ctas);
  return std::nullopt;
}

std::optional<std::string> why_too_much(const Plan& plan, const Target& target) {
  if (plan.smem_bytes > target.smem_per_block_bytes) {
    return fmt::format("{} bytes of shared memory exceed the {} of a CTA on {}", plan.smem_bytes,
                       target.smem_per_block_bytes, target.name);
  }
  if (plan.registers > target.max_registers_per_thread) {
    return fmt::format("about {} registers a thread exceed {}", plan.registers, target.max_registers_per_thread);
  }
  if (round_up(plan.registers, 8) * plan.threads > target.registers_per_sm) {
    return fmt::format("about {} registers x {} threads exceed the file of {}", plan.registers, plan.threads,
                       target.registers_per_sm);
  }
  if (plan.products > kMostProducts && (plan.unrolled || plan.run_h > 1)) {
    return fmt::format("{} instructions are too many to unroll", plan.products);
  }
  return std::nullopt;
}

std::optional<std::string> why_redundant(const Workload& workload, const Plan& plan) {
  if (!plan.unrolled && plan.run_h > 1) return "several output rows a thread are always unrolled";
  if (!plan.unrolled && workload.window.kernel_h == 1) return "a filter of one row has no loop to keep rolled";
  if (plan.shared_tile && workload.window.kernel_h == 1 && workload.window.kernel_w == 1) {
    return "a 1x1 filter reads nothing twice";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) {
  if (workload.kind != OpKind::conv2d || !workload.is_depthwise()) return "it is no depthwise conv2d";
  if (target.compute_capability() < 61) return fmt::format("{} has no dp4a", target.name);
  if (widest_vector(workload) < 4) return "the channels of a slice of wider pixels do not fill whole words";
  const Window& window = workload.window;
  if ((window.kernel_w - 1) * window.dilation_w + 1 > 32) {
    return fmt::format("a filter {} columns wide exceeds the 32 of a thread",
                       (window.kernel_w - 1) * window.dilation_w + 1);
  }
  if (workload.output.pixels() > kMostIndex / 2 || workload.inputs[0].pixels() > kMostIndex / 2) {
    return fmt::format("more than {} pixels", kMostIndex / 2);
  }
  if (window.kernel_h * window.kernel_w * workload.output.c > kMostIndex / 64) return "more than 2^25 weights";
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const TensorForm& y = workload.output;
  const int64_t words = power_of_two_above(ceil_div(workload.inputs[0].c, 4));
  const int64_t columns = power_of_two_above(y.w), rows = power_of_two_above(y.h);
  std::vector<Knob> knobs = {
      {"channels", powers_of_two(4, widest_vector(workload))},
      {"run_w", powers_of_two(1, std::min<int64_t>(8, columns))},
      {"run_h", powers_of_two(1, std::min<int64_t>(4, rows))},
      {"block_c", powers_of_two(1, std::min<int64_t>(64, words))},
      {"block_w", powers_of_two(1, std::min<int64_t>(32, columns))},
      {"block_h", powers_of_two(1, std::min<int64_t>(32, rows))},
      {"shared_tile", {0, 1}},
      {"transposed", {0, 1}},
      {"unrolled", {0, 1}},
  };
  return Space(kName, kSpaceVersion, std::move(knobs),
               [workload, target](const Config& config) -> std::optional<std::string> {
                 const Plan plan(workload, config);
                 if (auto reason = why_bad_shape(workload, plan, target)) return reason;
                 if (auto reason = why_too_much(plan, target)) return reason;
                 return why_redundant(workload, plan);
               });
}

}  // namespace warpwright::depthwise
