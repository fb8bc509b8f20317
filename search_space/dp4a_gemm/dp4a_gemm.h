// Family dp4a_gemm: conv2d and dense as an implicit GEMM on dp4a.
//
// Rows (M) are output pixels, columns (N) the output channels of a group, the reduction (K) runs over the filter's taps
// and, innermost, the group's channels, padded to the vector. A CTA makes tile_m x tile_n outputs from tile_k bytes of
// K a step; lanes_k x warps_k slices share the K of a step and are summed at the end, exactly, being int32.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& dp4a_gemm_family();

}  // namespace warpwright
