// What arithmetic alone says of a kernel's time: bounds by dot products, tensor cores, issue slots, shared memory, L2
// and DRAM.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

struct AnalyticEstimate {
  int64_t resident_ctas = 0;  // an SM holds at once; 0 when not one fits
  double waves = 0;           // ctas / (resident_ctas * SMs)
  double tail_fill = 0;       // share of the last wave's places that are taken, 0 to 1
  // Time in microseconds if nothing but this counted.
  double dot_us = 0, tensor_us = 0, issue_us = 0, smem_us = 0, l2_us = 0, dram_us = 0, latency_us = 0;
  double total_us = 0;  // with waves, tail and launch
};

/// Never zero, negative or infinite.
AnalyticEstimate estimate_analytically(const Workload& workload, const Resources& resources, const Target& target);

/// Bytes that the card must move at least: every input, the weights and the output once.
int64_t least_bytes(const Workload& workload);

}  // namespace warpwright
