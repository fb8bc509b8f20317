// A roofline with occupancy, waves and tail. Its constants are round figures of current cards: it ranks, it does not
// measure, and it knows nothing of the virtual device's clock.
#include "cost_model/analytic_estimate.h"

#include <algorithm>
#include <cmath>

namespace warpwright {
namespace {

constexpr double kDotLanesPerClock = 64;  // dp4a, an SM; float32 fma up to sm_80
constexpr double kWideFmaLanesPerClock = 128;
constexpr double kWarpsPerClock = 4;  // issued, an SM
constexpr double kSubPartitions = 4;  // of an SM, each with its own tensor core
constexpr double kSmemShare = 0.8;    // of shared memory's bandwidth, some conflicts included
constexpr double kL1Share = 0.5;      // of the loads through L1 that it cannot serve
constexpr double kDramShare = 0.88;   // of the nominal bandwidth
constexpr double kLaunchUs = 2.5;
constexpr double kFixedCycles = 1000;         // of a CTA: start, first loads, last stores
constexpr double kRefillCycles = 180;         // of a CTA that waits for the next part of its shared memory
constexpr double kLoadCycles = 400;           // from the request of a part to its arrival
constexpr double kStepCycles = 60;            // of a step: barriers, and the first fragments
constexpr double kSplitCycles = 800;          // of a CTA that hands over partial sums: fence and counter
constexpr double kCyclesPerIssue = 2.2;       // of one warp, waiting for its own results
constexpr double kOverlap = 1.4;              // exponent: 1 is one after the other, infinity is perfect overlap
constexpr double kInstructionsPerOutput = 8;  // epilogue: convert, scale, clamp, round, store
constexpr double kInstructionsPerLoad = 25;   // 16 bytes a thread: addresses, predicates, narrow loads, the copy
constexpr double kInstructionsPerAsyncLoad = 6;
constexpr double kBytesPerAccess = 16;
constexpr double kLeastRefillBytes = 1024;

/// What an SM of the card does in a clock.
struct SmRates {
  double tensor = 0;      // multiply-adds by m16n8k32
  double smem_bytes = 0;  // moved
  double l2_bytes = 0;    // received, all SMs at once
};

SmRates rates_of(const Target& target) {
  const int capability = target.compute_capability();
  if (capability < 80) return {1024, 64, 20};
  if (capability == 80) return {2048, 128, 47};
  if (capability == 87) return {2048, 128, 24};
  if (capability < 90) return {1024, 128, 16};
  if (capability < 120) return {4096 * 0.62, 128, 28};  // what mma.sync reaches of wgmma's rate
  return {1024, 128, 16};
}

/// Inner products of an SM a clock: dp4a, or fma of the float32 kinds.
double inner_product_rate(const Workload& workload, const Target& target) {
  const bool is_real = workload.kind == OpKind::real_conv2d || workload.kind == OpKind::real_matmul;
  return is_real && target.compute_capability() > 80 ? kWideFmaLanesPerClock : kDotLanesPerClock;
}

/// m8n8k16 reached 0.9 of m16n8k32's rate on sm_86 (docs/virtual_clock.md).
double tensor_rate(const Resources& resources, const Target& target) {
  const double rate = rates_of(target).tensor;
  return resources.tensor_depth < 32 && target.compute_capability() >= 80 ? 0.9 * rate : rate;
}

/// What one CTA asks of its SM.
struct CtaCost {
  double dots = 0, dot_cycles = 0, tensor_cycles = 0, instructions = 0, smem_bytes = 0, l2_bytes = 0;
  double warps = 1;
  double waits = 0;  // cycles that its own loads take, however few CTAs there are
  double steps = 0;  // 0: unknown
  double ahead = 1;  // steps that its loads run ahead
};

/// Cycles of the partial sums of split K: a CTA writes its own, and the last one of a tile reads them all.
double split_cycles(const Workload& workload, const Resources& resources) {
  if (resources.workspace_bytes == 0) return 0;
  const double partial = static_cast<double>(resources.workspace_bytes) / static_cast<double>(resources.ctas);
  const double outputs = static_cast<double>(std::max<int64_t>(1, workload.output.buffer_elements()));
  const double splits = std::max(1.0, static_cast<double>(resources.workspace_bytes) / (4 * outputs));
  constexpr double kBytesPerClock = 64;  // one SM alone
  return kSplitCycles + (1 + splits) * partial / kBytesPerClock;
}

CtaCost cost_of_cta(const Workload& workload, const Resources& resources, const Target& target) {
  const double ctas = static_cast<double>(std::max<int64_t>(1, resources.ctas));
  const double load_bytes = static_cast<double>(resources.global_load_bytes) / ctas;
  const double store_bytes = static_cast<double>(resources.global_store_bytes + 2 * resources.workspace_bytes) / ctas;
  const bool is_tensor = resources.tensor_products > 0, is_counted = resources.other_instructions > 0;
  CtaCost cost;
  cost.warps = std::max(1.0, std::ceil(static_cast<double>(resources.threads) / 32));
  cost.dots = static_cast<double>(resources.inner_products) / 32 / ctas;
  cost.dot_cycles = cost.dots * 32 / inner_product_rate(workload, target);
  const double products = static_cast<double>(resources.tensor_products) / ctas;
  cost.tensor_cycles = products / tensor_rate(resources, target);
  cost.smem_bytes = static_cast<double>(resources.smem_bytes_moved) / ctas;
  cost.l2_bytes = load_bytes * (is_tensor || is_counted ? 1 : kL1Share) + store_bytes;
  const double outputs = static_cast<double>(workload.output.buffer_elements()) / ctas;
  const double guessed =
      cost.smem_bytes / kBytesPerAccess / 32 +
      load_bytes / kBytesPerAccess / 32 * (is_tensor ? kInstructionsPerAsyncLoad : kInstructionsPerLoad);
  cost.instructions = cost.dots + products / (resources.tensor_depth < 32 ? 8 * 8 * 16 : 16 * 8 * 32) +
                      (is_counted ? static_cast<double>(resources.other_instructions) / ctas : guessed) +
                      outputs / 32 * kInstructionsPerOutput;
  cost.waits = kFixedCycles + split_cycles(workload, resources);
  cost.steps = static_cast<double>(resources.steps);
  cost.ahead = static_cast<double>(std::max<int64_t>(1, resources.stages - 1));
  if (resources.steps == 0) {
    cost.waits += load_bytes / std::max(kLeastRefillBytes, static_cast<double>(resources.smem_bytes)) * kRefillCycles;
  }
  return cost;
}

struct WaveCycles {
  double dot = 0, tensor = 0, issue = 0, smem = 0, l2 = 0, latency = 0;
  double longest() const { return std::max({dot, tensor, issue, smem, l2}); }
};

/// Cycles of `ctas` of them on one SM at once.
WaveCycles cycles_of(const CtaCost& cost, double ctas, const Target& target) {
  const SmRates rates = rates_of(target);
  WaveCycles cycles;
  cycles.dot = ctas * cost.dot_cycles;
  cycles.tensor = ctas * cost.tensor_cycles * std::max(1.0, kSubPartitions / (ctas * cost.warps));
  cycles.issue = ctas * cost.instructions / kWarpsPerClock;
  cycles.smem = ctas * cost.smem_bytes / (rates.smem_bytes * kSmemShare);
  cycles.l2 = ctas * cost.l2_bytes / rates.l2_bytes;
  const double own = cost.instructions / cost.warps * kCyclesPerIssue;
  cycles.latency = cost.waits + std::max(own + cost.steps * kStepCycles, cost.steps * kLoadCycles / cost.ahead);
  return cycles;
}

double wave_time(const CtaCost& cost, double ctas, const Target& target) {
  const WaveCycles cycles = cycles_of(cost, ctas, target);
  return std::pow(std::pow(cycles.longest(), kOverlap) + std::pow(cycles.latency, kOverlap), 1 / kOverlap);
}

int64_t resident_ctas(const Resources& resources, const Target& target) {
  const int64_t threads = std::max<int64_t>(1, resources.threads);
  const int64_t warps = (threads + 31) / 32;
  const int64_t registers = warps * 32 * ((std::max<int64_t>(16, resources.registers) + 7) / 8 * 8);
  int64_t ctas = std::min<int64_t>(target.max_ctas_per_sm, target.max_warps_per_sm / warps);
  ctas = std::min(ctas, target.registers_per_sm / registers);
  ctas = std::min(ctas, target.smem_per_sm_bytes / (resources.smem_bytes + 1024));  // 1 KiB of each is the system's
  return std::max<int64_t>(0, ctas);
}

}  // namespace

int64_t least_bytes(const Workload& workload) {
  int64_t bytes = workload.output.buffer_bytes();
  for (const TensorForm& input : workload.inputs) bytes += input.buffer_bytes();
  const int64_t weights = workload.output.c * workload.reduction_size();
  if (workload.is_matrix_product()) bytes += weights;
  if (workload.kind == OpKind::real_conv2d) bytes += 4 * weights;
  if (workload.kind == OpKind::real_matmul && workload.inputs.size() == 1) bytes += 4 * weights * workload.batch;
  return bytes;
}

AnalyticEstimate estimate_analytically(const Workload& workload, const Resources& resources, const Target& target) {
  AnalyticEstimate estimate;
  estimate.resident_ctas = resident_ctas(resources, target);
  const double resident = static_cast<double>(std::max<int64_t>(1, estimate.resident_ctas));
  const double sms = std::max(1, target.sm_count);
  const double ctas = static_cast<double>(std::max<int64_t>(1, resources.ctas));
  const double clock_mhz = std::max(1.0, target.sm_clock_mhz);
  const CtaCost cost = cost_of_cta(workload, resources, target);

  estimate.waves = ctas / (resident * sms);
  const double full_waves = std::floor(estimate.waves);
  const double left = ctas - full_waves * resident * sms;
  estimate.tail_fill = left > 0 ? left / (resident * sms) : 1;

  const WaveCycles all = cycles_of(cost, ctas / sms, target);
  estimate.dot_us = all.dot / clock_mhz;
  estimate.tensor_us = all.tensor / clock_mhz;
  estimate.issue_us = all.issue / clock_mhz;
  estimate.smem_us = all.smem / clock_mhz;
  estimate.l2_us = all.l2 / clock_mhz;
  estimate.latency_us = all.latency / clock_mhz;
  const double bytes = static_cast<double>(least_bytes(workload));
  estimate.dram_us = bytes / (std::max(1.0, target.memory_gb_per_s) * 1e3 * kDramShare);

  double cycles = full_waves * wave_time(cost, resident, target);
  if (left > 0) cycles += wave_time(cost, std::min(resident, std::ceil(left / sms)), target);
  const double compute_us = cycles / clock_mhz;
  // Loads and arithmetic overlap, but not at the ends.
  const double longer = std::max(compute_us, estimate.dram_us), shorter = std::min(compute_us, estimate.dram_us);
  estimate.total_us = kLaunchUs + longer + 0.2 * shorter;
  if (estimate.resident_ctas == 0) estimate.total_us *= 16;  // does not fit by this arithmetic: last
  return estimate;
}

}  // namespace warpwright
