// Reference: exact CPU arithmetic for every Workload. The oracle of every verification.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/core/tensor.h"
#include "src/core/workload.h"

namespace warpwright {

/// The output buffer (workload.output.buffer_elements() elements, shape [elements]) from input buffers of the same
/// form. Pad lanes of an nhwc output hold pad_code. Throws InternalError when buffers or values do not fit the
/// Workload.
Tensor run_reference(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs);

/// Random but fixed by (key(workload), seed): inputs and values over their full range, with ties, saturation and
/// extreme codes among them. The values pass check(workload, values).
struct Example {
  std::vector<Tensor> inputs;  // buffers
  Values values;
};
Example make_example(const Workload& workload, uint64_t seed);

}  // namespace warpwright
