// The space of real_direct: knobs by shape, constraints as sentences, and the default.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/limits.h"
#include "search_space/real_direct/plan.h"
#include "src/core/error.h"

namespace warpwright::real_direct {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostElements = kMostIndex - 65536;  // runs and CTAs reach beyond the last
constexpr int64_t kMostGroupChannels = 16, kMostTaps = 64, kMostOutputs = 128, kMostProducts = 2048, kMostLoads = 192;

int64_t products_of_body(const Plan& plan) { return plan.outputs() * plan.taps * plan.unroll; }

SmDemand demand_of(const Plan& plan) { return {0, plan.registers, plan.threads, plan.ctas_per_sm}; }

std::string sentence(const Workload& workload, const Plan& plan, const Target& target) {
  if (plan.group_outputs % plan.thread_k != 0) {
    return fmt::format("{} outputs of a group are no multiple of {}", plan.group_outputs, plan.thread_k);
  }
  if (plan.outputs() > kMostOutputs) {
    return fmt::format("{} outputs a thread are more than {}", plan.outputs(), kMostOutputs);
  }
  if (products_of_body(plan) > kMostProducts) {
    return fmt::format("{} products in the body of the loop are too many", products_of_body(plan));
  }
  if (plan.unroll > plan.group_channels) {
    return fmt::format("cannot unroll {} of {} channels", plan.unroll, plan.group_channels);
  }
  if (plan.loads_of_body > kMostLoads) {
    return fmt::format("{} loads in the body of the loop are too many", plan.loads_of_body);
  }
  if (plan.ctas > kMostIndex) return fmt::format("{} CTAs exceed the grid", plan.ctas);
  if (plan.threads > 32 && plan.threads >= 2 * plan.items) {
    return fmt::format("{} threads are hopeless where {} have work", plan.threads, plan.items);
  }
  if (auto reason = why_too_much(demand_of(plan), target)) return *reason;
  return fmt::format("rows of {} and runs of {} give no aligned vectors of {}", workload.inputs[0].w, plan.run_w,
                     plan.vector);
}

}  // namespace

// Every Workload has a legal Config: the one with a single output a thread.
bool is_legal(const Workload& workload, const Plan& plan, const Target& target) {
  const int64_t x_step = plan.run_w * workload.window.stride_w;
  return plan.group_outputs % plan.thread_k == 0 && plan.outputs() <= kMostOutputs &&
         (plan.outputs() * plan.unroll * plan.vector == 1 ||
          (products_of_body(plan) <= kMostProducts && plan.loads_of_body <= kMostLoads)) &&
         plan.unroll <= plan.group_channels &&
         (plan.vector == 1 || (workload.inputs[0].w % plan.vector == 0 && x_step % plan.vector == 0 &&
                               plan.vector <= power_of_two_above(plan.window_w))) &&
         plan.ctas <= kMostIndex && (plan.threads == 32 || plan.threads < 2 * plan.items) &&
         !why_too_much(demand_of(plan), target);
}

std::optional<std::string> why_unsupported(const Workload& workload) {
  if (workload.kind != OpKind::real_conv2d) return "it is no real_conv2d";
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  const Window& window = workload.window;
  const int64_t channels = x.c / workload.groups;
  if (channels > kMostGroupChannels) return fmt::format("{} channels a group are many", channels);
  if (window.kernel_h * window.kernel_w > kMostTaps) {
    return fmt::format("a kernel of {} x {} is large", window.kernel_h, window.kernel_w);
  }
  const int64_t weights = y.c * workload.reduction_size();
  const int64_t most = std::max({x.buffer_elements(), y.buffer_elements(), weights});
  if (most > kMostElements) return fmt::format("a tensor has {} elements, more than {}", most, kMostElements);
  const int64_t widest = std::max(x.h + window.pad_top + window.pad_bottom, x.w + window.pad_left + window.pad_right);
  if (widest > kMostIndex / 4) return fmt::format("with its padding the image is {} wide", widest);
  return std::nullopt;
}

Space make_space(const Workload& workload, const Target& target) {
  const int64_t outputs = workload.output.c / workload.groups, channels = workload.inputs[0].c / workload.groups;
  const auto up_to = [](int64_t most) { return powers_of_two(1, power_of_two_above(most)); };
  std::vector<Knob> knobs = {
      {"threads", {32, 64, 128, 256}},
      {"thread_k", powers_of_two(1, common_power_of_two(16, outputs))},
      {"run_h", up_to(std::min<int64_t>(8, workload.output.h))},
      {"run_w", up_to(std::min<int64_t>(8, workload.output.w))},
      {"vector", powers_of_two(1, common_power_of_two(4, workload.inputs[0].w))},
      {"unroll", powers_of_two(1, std::min<int64_t>(4, channels))},
      {"ctas_per_sm", {1, 2, 4, 8}},
  };
  auto why_illegal = [workload, target](const Config& config) -> std::optional<std::string> {
    const Plan plan(workload, knobs_of(config));
    if (is_legal(workload, plan, target)) return std::nullopt;
    return sentence(workload, plan, target);
  };
  auto may_be_legal = [workload, target](std::span<const int64_t> values) {
    return is_legal(workload, Plan(workload, knobs_of(values)), target);
  };
  return Space(kName, kSpaceVersion, std::move(knobs), why_illegal, may_be_legal);
}

}  // namespace warpwright::real_direct
