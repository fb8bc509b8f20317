// Family real_gemm: real_conv2d as an implicit matrix product, and real_matmul, in float32 on CUDA cores. Tiles of both
// operands stand in shared memory as [k][row], whatever their order in memory; a thread adds up a block of outputs,
// each in the order of k. K is never split: the order of a sum is part of the law.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& real_gemm_family();

}  // namespace warpwright
