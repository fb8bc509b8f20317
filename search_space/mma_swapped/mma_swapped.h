// Family mma_swapped: products with few rows on tensor cores, the operands swapped.
//
// Weights are the instruction's A: 16 output channels; rows (M, output pixels) are its B, 8 at a time. A warp has
// 16 * warp_tiles channels and 8 * row_tiles rows; warps_k warps of a CTA and `splits` CTAs share K, 64 bytes each in
// turn. Weights are packed in the order of the fragments, so that they go from global memory straight to the registers
// that the instruction wants, 16 bytes a lane, or by cp.async by way of a place of shared memory that only this lane
// uses. Since K may be taken in any order, a lane reads 16 neighbouring bytes of a row of x for two instructions.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& mma_swapped_family();

}  // namespace warpwright
