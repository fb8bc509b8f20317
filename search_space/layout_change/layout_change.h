// Family layout_change: the same codes in NCHW-linear order under another layout or shape.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& layout_change_family();

}  // namespace warpwright
