// Family normalize: rows scaled to mean 0 and variance 1 (layer, instance, group and RMS normalization).
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& normalize_family();

}  // namespace warpwright
