// Family reduce: sums, products, largest and smallest elements of rows, and where these stand.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& reduce_family();

}  // namespace warpwright
