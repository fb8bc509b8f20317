// Family concat: codes of several tensors side by side; also layout where pixels and channels stay.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& concat_family();

}  // namespace warpwright
