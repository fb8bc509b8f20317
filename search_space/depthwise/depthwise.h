// Family depthwise: conv2d with one input channel a group, any multiplier, filter, stride and dilation.
//
// A thread makes run_h x run_w output pixels of `channels` input channels, four to a 32-bit word. A tap is either one
// dp4a a channel with the other three bytes of the weight zero, or, after a 4 x 4 byte transposition, a quarter of one.
// An output row is requantized and stored as soon as its last input row is there.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& depthwise_family();

}  // namespace warpwright
