// Family add_mul: add and mul of codes, with broadcasting.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& add_mul_family();

}  // namespace warpwright
