// Family join: tensors one behind the other along any axis.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& join_family();

}  // namespace warpwright
