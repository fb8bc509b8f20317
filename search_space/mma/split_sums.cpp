// The last of the CTAs that share a tile, and its reads of what the others stored.
#include "search_space/mma/split_sums.h"

namespace warpwright::mma {

std::string_view split_sums_source() {
  return R"(
__device__ __forceinline__ bool comes_last(unsigned* counter, unsigned splits, unsigned char* smem) {
  unsigned* const before = reinterpret_cast<unsigned*>(smem);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *before = atomicInc(counter, splits - 1);  // back to 0 by the last
  __syncthreads();
  const bool last = *before == splits - 1;
  __syncthreads();
  __threadfence();
  return last;
}
template <int kLanes>
__device__ __forceinline__ void load_volatile(int (&to)[kLanes], const int* from) {
  if constexpr (kLanes % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kLanes; i += 4) {
      asm volatile("ld.volatile.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(to[i]), "=r"(to[i + 1]), "=r"(to[i + 2]), "=r"(to[i + 3]) : "l"(global_address(from + i)));
    }
  } else {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) to[i] = *const_cast<const volatile int*>(from + i);
  }
}
)";
}

}  // namespace warpwright::mma
