// Awkward Workloads of every float32 kind, for tests of whatever computes them.
#pragma once

#include <vector>

#include "src/core/workload.h"

namespace warpwright::testing {

/// nchw f32 with the output extents that follow from the window.
Workload real_conv2d_workload(TensorForm x, int64_t outputs, int64_t groups, Window window);
/// a by an input b or, with `weights`, by values.
Workload real_matmul_workload(int64_t batch, int64_t rows, int64_t depth, int64_t columns, bool transposed,
                              bool weights);
/// The map over operands of the given steps; its inputs hold just the elements that it reads.
Workload map_workload(Map map);

std::vector<Workload> real_product_workloads();
/// Each operation on each type that it takes, broadcast operands, constants, long lists.
std::vector<Workload> map_workloads();
/// reduce, softmax, normalize, pools, resample, gather, join and movements of s64 and boolean.
std::vector<Workload> real_light_workloads();

}  // namespace warpwright::testing
