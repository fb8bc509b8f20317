// Awkward Workloads of the float32 kinds that light families take, for their tests.
#pragma once

#include <vector>

#include "src/core/workload.h"

namespace warpwright::testing {

/// Operands that are no constants become inputs.
Workload map_workload(const std::vector<int64_t>& extents, std::vector<MapOperand> operands,
                      std::vector<MapInstruction> instructions);
/// softmax, normalize without bias, or reduce to the sum.
Workload rows_workload(OpKind kind, Rows rows);
Workload reduce_workload(ReductionOp op, DType x, Rows rows);

/// Maps, rows, pools, resamples, gathers, joins, and moves of s64 and boolean.
std::vector<Workload> real_kernel_workloads();

/// light_workloads() and these.
std::vector<Workload> all_light_workloads();

}  // namespace warpwright::testing
