// Family gather: rows of a tensor or table picked by indices.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& gather_family();

}  // namespace warpwright
