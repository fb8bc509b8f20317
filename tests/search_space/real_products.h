// Workloads of real_conv2d and real_matmul for the tests of their families.
#pragma once

#include <array>
#include <vector>

#include "src/core/workload.h"

namespace warpwright::testing {

struct MatmulShape {
  int64_t batch, rows, depth, columns;
};

/// x as n, c, h, w.
Workload real_conv2d_workload(const std::array<int64_t, 4>& x, int64_t outputs, int64_t groups, const Window& window,
                              bool bias = true);
/// With `weights` the second operand is a constant.
Workload real_matmul_workload(const MatmulShape& shape, bool transposed, bool weights, bool bias = false);

/// Small, over every form that a kernel treats in its own way.
std::vector<Workload> awkward_real_convolutions();
std::vector<Workload> awkward_real_matmuls();
/// Layers of known networks.
std::vector<Workload> typical_real_products();

}  // namespace warpwright::testing
