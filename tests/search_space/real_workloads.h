// Awkward Workloads of the float32 kinds that light families take, for their tests.
#pragma once

#include <vector>

#include "src/core/workload.h"

namespace warpwright::testing {

/// Maps, rows, pools, resamples, gathers, joins, and moves of s64 and boolean.
std::vector<Workload> real_kernel_workloads();

/// light_workloads() and these.
std::vector<Workload> all_light_workloads();

}  // namespace warpwright::testing
