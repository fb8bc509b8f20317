// Family dequantize: codes in nhwc to f32 in nchw.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& dequantize_family();

}  // namespace warpwright
