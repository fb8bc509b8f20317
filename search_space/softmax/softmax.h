// Family softmax: softmax and its logarithm along any axis.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& softmax_family();

}  // namespace warpwright
