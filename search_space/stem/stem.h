// Family stem: conv2d over at most 4 input channels, four bytes a pixel, so that a tap is one dp4a.
//
// A CTA holds the input under its output pixels in shared memory; a thread makes run_w neighbouring pixels of
// `channels` neighbouring output channels.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& stem_family();

}  // namespace warpwright
