// Windows of pools, as text.
#pragma once

#include <string>
#include <string_view>

#include "src/core/workload.h"

namespace warpwright::light {

/// kKernelH, kStrideH, kDilationH, kPadTop, kPadBottom, kH (of x), kOutH and the same for W, kIncludePad, and
/// kAllInside: every tap of every window lies inside the image.
std::string window_constants(const Workload& workload);

/// Device function tap_count(start, kernel, dilation, lo, hi).
std::string_view tap_count_source();

}  // namespace warpwright::light
