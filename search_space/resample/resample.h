// Family resample: images sampled at other places, by tables of indices and weights.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& resample_family();

}  // namespace warpwright
