// Family map: element by element computations of float32, integer and boolean tensors.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& map_family();

}  // namespace warpwright
