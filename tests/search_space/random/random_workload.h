// Random Workloads of every kind: small, so that thousands can be run, and awkward wherever a kernel may go wrong.
#pragma once

#include "src/reference/reference.h"
#include "tests/search_space/random/draw.h"

namespace warpwright::testing {

/// Passes check(workload).
Workload random_workload(Draw& draw);

/// Inputs and values for it; in some of the cases all inputs, all weights or both are extreme codes.
Example random_example(const Workload& workload, Draw& draw);

}  // namespace warpwright::testing
