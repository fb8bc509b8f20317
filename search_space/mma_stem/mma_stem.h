// Family mma_stem: conv2d over at most 4 input channels, four bytes a pixel, on tensor cores.
//
// A CTA holds the input under tile_h x tile_w output pixels in shared memory. K runs over the filter's taps, four bytes
// each, so that a word of a lane's A fragment is one pixel of that input at one tap: no im2col. B fragments are packed
// in the order in which lanes load them, and columns are dealt out so that a lane ends up with neighbouring channels.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& mma_stem_family();

}  // namespace warpwright
