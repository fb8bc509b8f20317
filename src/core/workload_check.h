// What the checks of Workloads share.
#pragma once

#include <string>

#include "src/core/value_check.h"
#include "src/core/workload.h"

namespace warpwright {

/// Throws InternalError.
void require(bool condition, const std::string& what);

void check_window(const Workload& workload);
/// check_window, and output extents as they follow from the window.
void check_convolution_window(const Workload& workload);
/// Rows and columns of a, b (if it is an input) and the output of a matmul.
void check_matmul_extents(const Workload& workload);

/// The float32 kinds.
void check_real(const Workload& workload);
void check_real_values(const Workload& workload, ValueCheck& values);

}  // namespace warpwright
