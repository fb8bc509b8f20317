// Family real_pool: max and average pools of float32.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& real_pool_family();

}  // namespace warpwright
