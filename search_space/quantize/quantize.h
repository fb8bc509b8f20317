// Family quantize: f32 in nchw to codes in nhwc.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& quantize_family();

}  // namespace warpwright
