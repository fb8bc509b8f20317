// The arithmetic of one real_direct kernel.
#include "search_space/real_direct/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/named_knobs.h"

namespace warpwright::real_direct {

namespace {

const NamedKnobs<Knobs, 7> kKnobs = {{{"threads", &Knobs::threads},
                                      {"thread_k", &Knobs::thread_k},
                                      {"run_h", &Knobs::run_h},
                                      {"run_w", &Knobs::run_w},
                                      {"vector", &Knobs::vector},
                                      {"unroll", &Knobs::unroll},
                                      {"ctas_per_sm", &Knobs::ctas_per_sm}}};

int64_t span_of(int64_t outputs, int64_t stride, int64_t taps, int64_t dilation) {
  return (outputs - 1) * stride + (taps - 1) * dilation + 1;
}

/// Those that are `output * stride + tap * dilation` plus `skip`, in units of `unit`, in order.
std::vector<int64_t> used(int64_t outputs, int64_t stride, int64_t taps, int64_t dilation, int64_t skip, int64_t unit) {
  std::vector<int64_t> places;
  for (int64_t output = 0; output < outputs; ++output) {
    for (int64_t tap = 0; tap < taps; ++tap) places.push_back((output * stride + tap * dilation + skip) / unit);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

/// Whether windows of `blocks` runs reach beyond the image.
bool leaves(int64_t first, int64_t last, int64_t extent) { return first < 0 || last > extent; }

int64_t estimate_registers(const Plan& plan) {
  const int64_t row = plan.vectors() * plan.vector;
  const int64_t weights = plan.thread_k * std::min<int64_t>(plan.taps, 12);
  return 28 + plan.outputs() + std::min<int64_t>(row, 64) * (plan.unroll > 1 ? 2 : 1) + weights;
}

}  // namespace

Knobs knobs_of(const Config& config) { return knobs_from(kKnobs, config); }

Knobs knobs_of(std::span<const int64_t> values) { return knobs_from(kKnobs, values); }

Config config_of(const Knobs& knobs) { return config_from(kKnobs, knobs, {kName, kSpaceVersion, {}}); }

Plan::Plan(const Workload& workload, const Knobs& knobs)
    : Knobs(knobs),
      group_channels(workload.inputs[0].c / workload.groups),
      group_outputs(workload.output.c / workload.groups),
      taps(workload.window.kernel_h * workload.window.kernel_w),
      p_blocks(ceil_div(workload.output.h, run_h)),
      q_blocks(ceil_div(workload.output.w, run_w)),
      k_blocks(workload.output.c / thread_k),
      items(workload.output.n * k_blocks * p_blocks * q_blocks),
      ctas(ceil_div(items, threads)) {
  const TensorForm& x = workload.inputs[0];
  const Window& window = workload.window;
  window_h = span_of(run_h, window.stride_h, window.kernel_h, window.dilation_h);
  window_w = span_of(run_w, window.stride_w, window.kernel_w, window.dilation_w);
  skip = round_up(window.pad_left, vector) - window.pad_left;
  store_lanes = common_power_of_two(std::min<int64_t>(4, run_w), workload.output.w);
  const int64_t last_h = (p_blocks - 1) * run_h * window.stride_h - window.pad_top + window_h;
  const int64_t last_w = (q_blocks - 1) * run_w * window.stride_w - window.pad_left - skip + vectors() * vector;
  leaves_h = leaves(-window.pad_top, last_h, x.h);
  leaves_w = leaves(-window.pad_left - skip, last_w, x.w);
  const int64_t rows = std::min(window_h, run_h * window.kernel_h);
  loads_of_body = (rows * vectors() * vector + thread_k * taps) * unroll;
  registers = estimate_registers(*this);
}

std::vector<int64_t> used_rows(const Workload& workload, const Plan& plan) {
  const Window& window = workload.window;
  return used(plan.run_h, window.stride_h, window.kernel_h, window.dilation_h, 0, 1);
}

std::vector<int64_t> used_vectors(const Workload& workload, const Plan& plan) {
  const Window& window = workload.window;
  return used(plan.run_w, window.stride_w, window.kernel_w, window.dilation_w, plan.skip, plan.vector);
}

Resources resources_of(const Workload& workload, const Plan& plan, const Target& target) {
  Resources resources;
  const auto rows = static_cast<int64_t>(used_rows(workload, plan).size());
  const auto vectors = static_cast<int64_t>(used_vectors(workload, plan).size());
  const int64_t warps = plan.ctas * plan.threads / 32;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas;
  const int64_t most = target.registers_per_sm / (plan.threads * plan.ctas_per_sm) / 8 * 8;
  const int64_t wanted = 16 + plan.outputs() + plan.loads_of_body;
  resources.registers = std::max(plan.registers, std::min({wanted, most, int64_t{target.max_registers_per_thread}}));
  resources.inner_products = warps * 32 * plan.outputs() * plan.taps * plan.group_channels;
  // Of a channel: loads with their zeros and predicates, weights, addresses.
  const int64_t loads = rows * vectors * (1 + plan.vector + (plan.leaves_h || plan.leaves_w ? 1 : 0));
  const int64_t weights = plan.taps * ceil_div(plan.thread_k, 4);
  resources.other_instructions = warps * (plan.group_channels * (loads + weights + 6) + 40);
  const int64_t new_floats = std::min(vectors * plan.vector, plan.run_w * workload.window.stride_w);
  resources.global_load_bytes = plan.items * plan.group_channels * rows * new_floats * 4;
  resources.global_store_bytes = workload.output.buffer_bytes();
  resources.steps = plan.group_channels;
  return resources;
}

}  // namespace warpwright::real_direct
