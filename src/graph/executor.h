// Runs a Program on the reference.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "src/core/program.h"
#include "src/core/tensor.h"

namespace warpwright {

using NamedTensors = std::map<std::string, Tensor>;

/// Throws UsageError on a missing, unknown or ill-shaped input, naming it. `observe`, if given, sees each step's output
/// buffer.
NamedTensors run_on_reference(const Program& program, const NamedTensors& inputs,
                              const std::function<void(size_t step, const Tensor& buffer)>& observe = {});

/// Checks inputs against the ports; the same checks serve every device.
void check_inputs(const Program& program, const NamedTensors& inputs);

}  // namespace warpwright
