// Family movement: Transpose, Slice, Pad, Expand and nearest Resize, as one gather by strides.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& movement_family();

}  // namespace warpwright
