// Family dp4a_gemv: products with few rows on dp4a, bound by the one pass over the weights.
//
// Rows (M) are output pixels, columns (N) output channels. A thread has thread_m rows and thread_n columns; lanes_k
// lanes of a warp and warps_k warps share K, 16 bytes each in turn. Weights are packed in the order in which the warps
// ask for them, `depth` loads of each column in flight; x lies in shared memory, or is read where it is. Sums are added
// by shuffles, then across warps in shared memory, exactly, being int32.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& dp4a_gemv_family();

}  // namespace warpwright
