// Random Workloads of the float32 kinds.
#pragma once

#include "src/core/workload.h"
#include "tests/search_space/random/draw.h"

namespace warpwright::testing {

/// Of any size, maybe without an output.
Workload random_real_workload(Draw& draw);

}  // namespace warpwright::testing
