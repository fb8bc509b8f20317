// A second implementation of src/core/workload.h: one output element at a time, int64 sums, library rounding.
#pragma once

#include <span>

#include "src/core/tensor.h"
#include "src/core/workload.h"

namespace warpwright::testing {

/// The same contract as run_reference, written without a line in common.
Tensor run_naive(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs);
/// Its float32 kinds.
Tensor run_naive_real(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs);

}  // namespace warpwright::testing
