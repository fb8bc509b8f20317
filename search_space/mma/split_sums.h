// How CTAs that share the K of a tile hand their sums on: text for kernels, include-free.
#pragma once

#include <string_view>

namespace warpwright::mma {

/// Device functions, after guarded_load_source:
///   `comes_last(unsigned* counter, unsigned splits, unsigned char* smem)`: called by all threads of a CTA when its
///   sums
///     are stored. True for the last of `splits` CTAs, which then sees what the others stored, and finds `counter` back
///     at 0. Uses the first word of smem, which is free again afterwards.
///   `load_volatile(int (&to)[kLanes], const int* from)`: sums of other CTAs, which no cache of this SM may answer for
std::string_view split_sums_source();

}  // namespace warpwright::mma
