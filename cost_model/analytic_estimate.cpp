// A roofline with occupancy, waves and tail. Its constants are round figures of current cards: it ranks, it does not
// measure, and it knows nothing of the virtual device's clock.
#include "cost_model/analytic_estimate.h"

#include <algorithm>
#include <cmath>

namespace warpwright {
namespace {

constexpr double kDotLanesPerClock = 64;    // dp4a, an SM
constexpr double kWarpsPerClock = 4;        // issued, an SM
constexpr double kSmemBytesPerClock = 100;  // an SM, some conflicts included
constexpr double kL2BytesPerClock = 64;     // an SM; half of what is asked for again is still in L1
constexpr double kDramShare = 0.88;         // of the nominal bandwidth
constexpr double kLaunchUs = 2.5;
constexpr double kFixedCycles = 1000;         // of a CTA: start, first loads, last stores
constexpr double kRefillCycles = 180;         // of a CTA that waits for the next part of its shared memory
constexpr double kCyclesPerIssue = 2.2;       // of one warp, waiting for its own results
constexpr double kOverlap = 1.4;              // exponent: 1 is one after the other, infinity is perfect overlap
constexpr double kInstructionsPerOutput = 8;  // epilogue: convert, scale, clamp, round, store
constexpr double kInstructionsPerLoad = 25;   // 16 bytes a thread: addresses, predicates, narrow loads, the copy
constexpr double kBytesPerAccess = 16;
constexpr double kLeastRefillBytes = 1024;

/// What one CTA asks of its SM.
struct CtaCost {
  double dots = 0, instructions = 0, smem_bytes = 0, l2_bytes = 0;
  double warps = 1;
  double refills = 0;  // of its shared memory
};

CtaCost cost_of_cta(const Workload& workload, const Resources& resources) {
  const double ctas = static_cast<double>(std::max<int64_t>(1, resources.ctas));
  CtaCost cost;
  cost.warps = std::max(1.0, std::ceil(static_cast<double>(resources.threads) / 32));
  cost.dots = static_cast<double>(resources.inner_products) / 32 / ctas;
  cost.smem_bytes = static_cast<double>(resources.smem_bytes_moved) / ctas;
  cost.l2_bytes = static_cast<double>(resources.global_load_bytes + resources.global_store_bytes) / ctas;
  cost.refills = static_cast<double>(resources.global_load_bytes) / ctas /
                 std::max(kLeastRefillBytes, static_cast<double>(resources.smem_bytes));
  const double outputs = static_cast<double>(workload.output.buffer_elements()) / ctas;
  cost.instructions =
      cost.dots + cost.smem_bytes / kBytesPerAccess / 32 +
      static_cast<double>(resources.global_load_bytes) / ctas / kBytesPerAccess / 32 * kInstructionsPerLoad +
      outputs / 32 * kInstructionsPerOutput;
  return cost;
}

struct WaveCycles {
  double dot = 0, issue = 0, smem = 0, l2 = 0, latency = 0;
  double longest() const { return std::max({dot, issue, smem, l2}); }
};

/// Cycles of `ctas` of them on one SM at once.
WaveCycles cycles_of(const CtaCost& cost, double ctas) {
  WaveCycles cycles;
  cycles.dot = ctas * cost.dots * 32 / kDotLanesPerClock;
  cycles.issue = ctas * cost.instructions / kWarpsPerClock;
  cycles.smem = ctas * cost.smem_bytes / kSmemBytesPerClock;
  cycles.l2 = ctas * cost.l2_bytes / kL2BytesPerClock;
  cycles.latency = cost.instructions / cost.warps * kCyclesPerIssue + kFixedCycles + cost.refills * kRefillCycles;
  return cycles;
}

double wave_time(const CtaCost& cost, double ctas) {
  const WaveCycles cycles = cycles_of(cost, ctas);
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
  if (workload.is_matrix_product()) bytes += workload.output.c * workload.reduction_size();
  return bytes;
}

AnalyticEstimate estimate_analytically(const Workload& workload, const Resources& resources, const Target& target) {
  AnalyticEstimate estimate;
  estimate.resident_ctas = resident_ctas(resources, target);
  const double resident = static_cast<double>(std::max<int64_t>(1, estimate.resident_ctas));
  const double sms = std::max(1, target.sm_count);
  const double ctas = static_cast<double>(std::max<int64_t>(1, resources.ctas));
  const double clock_mhz = std::max(1.0, target.sm_clock_mhz);
  const CtaCost cost = cost_of_cta(workload, resources);

  estimate.waves = ctas / (resident * sms);
  const double full_waves = std::floor(estimate.waves);
  const double left = ctas - full_waves * resident * sms;
  estimate.tail_fill = left > 0 ? left / (resident * sms) : 1;

  const WaveCycles all = cycles_of(cost, ctas / sms);
  estimate.dot_us = all.dot / clock_mhz;
  estimate.issue_us = all.issue / clock_mhz;
  estimate.smem_us = all.smem / clock_mhz;
  estimate.l2_us = all.l2 / clock_mhz;
  estimate.latency_us = all.latency / clock_mhz;
  const double bytes = static_cast<double>(least_bytes(workload));
  estimate.dram_us = bytes / (std::max(1.0, target.memory_gb_per_s) * 1e3 * kDramShare);

  double cycles = full_waves * wave_time(cost, resident);
  if (left > 0) cycles += wave_time(cost, std::min(resident, std::ceil(left / sms)));
  const double compute_us = cycles / clock_mhz;
  // Loads and arithmetic overlap, but not at the ends.
  const double longer = std::max(compute_us, estimate.dram_us), shorter = std::min(compute_us, estimate.dram_us);
  estimate.total_us = kLaunchUs + longer + 0.2 * shorter;
  if (estimate.resident_ctas == 0) estimate.total_us *= 16;  // does not fit by this arithmetic: last
  return estimate;
}

}  // namespace warpwright
