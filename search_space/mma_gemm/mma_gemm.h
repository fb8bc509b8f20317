// Family mma_gemm: conv2d and dense as an implicit GEMM on tensor cores.
//
// Rows (M) are output pixels, columns (N) the output channels of a group, the reduction (K) runs over the filter's taps
// and the group's channels, padded to the vector. A CTA of warps_m x warps_n x warps_k warps makes a tile of outputs,
// tile_k bytes of K a step, from swizzled shared memory filled stages ahead; warps_k slices share the K of a step,
// split_k CTAs the K of a tile, and are summed exactly, being int32.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& mma_gemm_family();

/// A tile as vendors name them: CTA tile, stages, warps along each axis and the depth of the instruction (16, 32).
struct VendorTile {
  int64_t cta_m, cta_n, cta_k, stages, warps_m, warps_n, warps_k, depth;
};

/// The Config of mma_gemm with that tile and everything else as the vendors have it: stages by cp.async, except for two
/// or one by registers (depth 16). It may be illegal: kernel_families' why_illegal says so.
Config config_of_tile(const VendorTile& tile, const Workload& workload, const Target& target);
/// Tiles of CUTLASS (sm_75 and sm_80) and of vLLM (sm_89).
const std::vector<VendorTile>& vendor_tiles();

}  // namespace warpwright
