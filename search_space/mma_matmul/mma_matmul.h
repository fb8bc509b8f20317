// Family mma_matmul: the matrix product of two activations on tensor cores, sm_75 and up.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& mma_matmul_family();

}  // namespace warpwright
