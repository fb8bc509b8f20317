// The space of depthwise: knobs by shape, constraints as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "search_space/arithmetic.h"
#include "search_space/depthwise/plan.h"
#include "search_space/limits.h"
#include "search_space/source_text.h"

namespace warpwright::depthwise {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostProducts = 2560;
constexpr int64_t kMostBlock = 64;  // threads of a CTA along one direction

/// Those up to `most`, and the first in any case.
std::vector<int64_t> up_to(int64_t most, std::vector<int64_t> values) {
  std::erase_if(values, [&](int64_t value) { return value > most && value != values.front(); });
  return values;
}

/// Powers of two, and for each width of a thread what divides the channels without a rest.
std::vector<int64_t> channel_blocks(const Workload& workload) {
  const int64_t lanes = std::max(padded_channels(workload.inputs[0].c), channels_with_pads(workload));
  std::set<int64_t> values;
  for (int64_t channels = widest_vector(workload); channels >= 4; channels /= 2) {
    const int64_t vectors = ceil_div(lanes, channels);
    for (int64_t value = 1; value <= kMostBlock && value < 2 * vectors; value *= 2) values.insert(value);
    for (int64_t blocks = 1; blocks <= 4; ++blocks) {
      if (vectors % blocks == 0 && vectors / blocks <= kMostBlock) values.insert(vectors / blocks);
    }
  }
  return {values.begin(), values.end()};
}

std::optional<std::string> why_bad_threads(const Workload& workload, const Plan& plan, const Target& target) {
  if (plan.threads > target.max_threads_per_block) {
    return fmt::format("{} threads a CTA exceed the {} of {}", plan.threads, target.max_threads_per_block, target.name);
  }
  const bool alone = plan.c_blocks == 1 && plan.w_blocks == 1 && plan.h_blocks == 1;
  if (!alone && plan.threads < 32) return fmt::format("{} threads fill no warp", plan.threads);
  if (!alone && round_up(plan.threads, 32) * 3 > plan.threads * 4) {
    return fmt::format("{} threads leave more than a quarter of their warps idle", plan.threads);
  }
  const int64_t needed_w = ceil_div(workload.output.w, plan.run_w), needed_h = ceil_div(workload.output.h, plan.run_h);
  if (plan.block_c >= 2 * plan.vectors || plan.block_w >= 2 * needed_w || plan.block_h >= 2 * needed_h) {
    return fmt::format("{} x {} x {} threads are hopeless where {} x {} x {} have work", plan.block_c, plan.block_w,
                       plan.block_h, plan.vectors, needed_w, needed_h);
  }
  const int64_t made = plan.c_blocks * plan.block_c * plan.w_blocks * plan.block_w * plan.run_w * plan.h_blocks *
                       plan.block_h * plan.run_h;
  const int64_t asked = plan.vectors * workload.output.w * workload.output.h;
  if (!alone && made > 2 * asked) {
    return fmt::format("{} places for {} vectors of outputs leave most of the work undone", made, asked);
  }
  if (plan.in_cols > 32) return fmt::format("{} input columns a thread exceed a mask of 32", plan.in_cols);
  if (plan.ctas > kMostIndex) return fmt::format("{} CTAs exceed the grid", plan.ctas);
  return std::nullopt;
}

std::optional<std::string> why_redundant(const Workload& workload, const Plan& plan) {
  const Window& window = workload.window;
  if (plan.rows_kept() && window.stride_h * plan.run_h >= plan.in_rows) {
    return "no input row serves two output rows: none needs to be kept";
  }
  if (plan.run_h == 1 && plan.row_order == 2) return "one output row has one order that unrolls it";
  if (plan.constants_kept && (plan.run_h == 1 || plan.filter_rows_first())) return "every constant is used once";
  if (plan.run_h == 1 && plan.row_order == 1 && window.kernel_h == 1)
    return "a filter of one row has no loop to unroll";
  if (plan.rows_first && (plan.block_w == 1 || plan.block_h == 1)) return "threads lie along one direction only";
  if (plan.channels_last && (plan.c_blocks == 1 || plan.ctas == plan.c_blocks * plan.parts)) {
    return "CTAs lie along one direction only";
  }
  if (plan.transposed && window.kernel_w == 1) return "a filter of one column has no neighbours to transpose";
  return std::nullopt;
}

std::optional<std::string> why_bad_staging(const Workload& workload, const Plan& plan, const Target& target) {
  if (plan.staging == Staging::none) return std::nullopt;
  const Window& window = workload.window;
  if (plan.staging == Staging::copies && target.compute_capability() < 80) return target.name + " has no cp.async";
  if (window.stride_h >= window.kernel_h && window.stride_w >= window.kernel_w) {
    return "no two outputs share an input: shared memory would serve nothing";
  }
  if (const int64_t ways = plan.tile_conflicts(); ways > 1) {
    return fmt::format("reads of the tile meet {}-way bank conflicts", ways);
  }
  return std::nullopt;
}

std::optional<std::string> why_too_much(const Plan& plan, const Target& target) {
  const SmDemand demand{.smem_bytes = plan.smem_bytes, .registers = plan.registers, .threads = plan.threads};
  if (auto reason = warpwright::why_too_much(demand, target)) return reason;
  if (plan.products > kMostProducts && plan.is_unrolled()) {
    return fmt::format("{} instructions are too many to unroll", plan.products);
  }
  if (plan.roomy && resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target) == 1) {
    return "an SM holds one CTA in any case";
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

std::optional<std::string> why_illegal(const Workload& workload, const Plan& plan, const Target& target) {
  if (auto reason = why_bad_threads(workload, plan, target)) return reason;
  if (auto reason = why_redundant(workload, plan)) return reason;
  if (auto reason = why_too_much(plan, target)) return reason;
  return why_bad_staging(workload, plan, target);
}

namespace {

/// The cheap part of why_illegal: what most points of the cross product fail.
class QuickRefusal {
 public:
  QuickRefusal(const Workload& workload, const Target& target, const std::vector<Knob>& knobs)
      : height_(workload.output.h), width_(workload.output.w), most_threads_(target.max_threads_per_block) {
    auto place_of = [&](const char* name) {
      return static_cast<size_t>(std::ranges::find(knobs, name, &Knob::name) - knobs.begin());
    };
    run_w_ = place_of("run_w"), run_h_ = place_of("run_h");
    block_c_ = place_of("block_c"), block_w_ = place_of("block_w"), block_h_ = place_of("block_h");
    row_order_ = place_of("row_order"), constants_kept_ = place_of("constants_kept"),
    rows_first_ = place_of("rows_first");
  }

  bool operator()(std::span<const int64_t> values) const {
    const int64_t w = values[block_w_], h = values[block_h_], threads = values[block_c_] * w * h;
    if (threads > most_threads_) return true;
    const int64_t run_w = values[run_w_], run_h = values[run_h_];
    if (w >= 2 * ceil_div(width_, run_w) || h >= 2 * ceil_div(height_, run_h)) return true;
    const bool is_part = w * run_w < width_ || h * run_h < height_;
    if (is_part && (threads < 32 || round_up(threads, 32) * 3 > threads * 4)) return true;
    if (run_h == 1 && values[row_order_] == 2) return true;
    return (values[constants_kept_] != 0 && (run_h == 1 || values[row_order_] == 2)) ||
           (values[rows_first_] != 0 && (w == 1 || h == 1));
  }

 private:
  int64_t height_, width_, most_threads_;
  size_t run_w_, run_h_, block_c_, block_w_, block_h_, row_order_, constants_kept_, rows_first_;  // places of the knobs
};

}  // namespace

Space make_space(const Workload& workload, const Target& target) {
  const TensorForm& y = workload.output;
  const std::vector<int64_t> runs = {1, 2, 3, 4, 6, 7, 8}, blocks = {1, 2, 4, 7, 8, 14, 16, 28, 32};
  const int64_t columns = power_of_two_above(y.w), rows = power_of_two_above(y.h);
  std::vector<Knob> knobs = {
      {"channels", up_to(widest_vector(workload), {4, 8, 16})},
      {"run_w", up_to(y.w, runs)},
      {"run_h", up_to(y.h, runs)},
      {"block_c", channel_blocks(workload)},
      {"block_w", up_to(columns, blocks)},
      {"block_h", up_to(rows, blocks)},
      {"staging", {0, 1, 2}},
      {"transposed", {0, 1}},
      {"row_order", {0, 1, 2}},
      {"constants_kept", {0, 1}},
      {"rows_first", {0, 1}},
      {"channels_last", {0, 1}},
      {"roomy", {0, 1}},
  };
  const QuickRefusal refuses(workload, target, knobs);
  return Space(
      kName, kSpaceVersion, std::move(knobs),
      [workload, target](const Config& config) {
        return depthwise::why_illegal(workload, Plan(workload, config), target);
      },
      [refuses](std::span<const int64_t> values) { return !refuses(values); });
}

}  // namespace warpwright::depthwise
