// Family pool: max_pool and average_pool, global ones too.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& pool_family();

}  // namespace warpwright
