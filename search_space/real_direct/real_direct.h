// Family real_direct: real_conv2d with few channels a group (depthwise, grouped, first layers) without shared memory. A
// thread walks over the rows of its window, keeps one of them in registers and adds it to all outputs that it belongs
// to.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& real_direct_family();

}  // namespace warpwright
