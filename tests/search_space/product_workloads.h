// Workloads of conv2d and dense for the tests of their families: awkward ones to compute, typical ones to tune.
#pragma once

#include <vector>

#include "src/core/workload.h"

namespace warpwright::testing {

/// Small, over every form that a kernel treats in its own way.
std::vector<Workload> awkward_products();
/// Layers of known networks at batch 1, and matrix products.
std::vector<Workload> typical_products();

}  // namespace warpwright::testing
