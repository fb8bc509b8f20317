// Shared text of the float32 kinds.
#include "search_space/light/real_family.h"

#include <fmt/format.h>

#include "search_space/arithmetic.h"
#include "search_space/real_functions_text.h"

namespace warpwright::light {

std::string_view RealFamily::access_source() const {
  return R"(
template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Vector {
  T lanes[kCount];
};
// Elements of one access: 16 bytes at most.
template <typename T, int kCount>
constexpr int kAccess = kCount * sizeof(T) > 16 ? static_cast<int>(16 / sizeof(T)) : kCount;
template <typename T, int kCount>
__device__ __forceinline__ void load_vector(T (&to)[kCount], const T* from) {
  constexpr int kEach = kAccess<T, kCount>;
#pragma unroll
  for (int i = 0; i < kCount; i += kEach) {
    const Vector<T, kEach> vector = *reinterpret_cast<const Vector<T, kEach>*>(from + i);
#pragma unroll
    for (int j = 0; j < kEach; ++j) to[i + j] = vector.lanes[j];
  }
}
template <typename T, int kCount>
__device__ __forceinline__ void store_vector(T* to, const T (&values)[kCount]) {
  constexpr int kEach = kAccess<T, kCount>;
#pragma unroll
  for (int i = 0; i < kCount; i += kEach) {
    Vector<T, kEach> vector;
#pragma unroll
    for (int j = 0; j < kEach; ++j) vector.lanes[j] = values[i + j];
    *reinterpret_cast<Vector<T, kEach>*>(to + i) = vector;
  }
}
// The same where only `count` elements are there; the others read as 0.
template <typename T, int kCount>
__device__ __forceinline__ void load_some(T (&to)[kCount], const T* from, int count) {
  if (count >= kCount) return load_vector(to, from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = i < count ? from[i] : T(0);
}
template <typename T, int kCount>
__device__ __forceinline__ void store_some(T* to, const T (&values)[kCount], int count) {
  if (count >= kCount) return store_vector(to, values);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < count) to[i] = values[i];
  }
}
)";
}

std::vector<int64_t> element_vectors(int64_t bytes) { return powers_of_two(1, 16 / bytes); }

std::string element_pointer(const std::string& parameter, DType dtype) {
  return dtype == DType::s8 ? fmt::format("reinterpret_cast<const signed char*>({})", parameter) : parameter;
}

std::string real_source() {
  return real_functions_text() + R"(
__device__ __forceinline__ float largest(float a, float b) { return real_maximum(a, b); }
__device__ __forceinline__ float smallest(float a, float b) { return real_minimum(a, b); }
__device__ __forceinline__ int largest(int a, int b) { return max(a, b); }
__device__ __forceinline__ int smallest(int a, int b) { return min(a, b); }
)";
}

}  // namespace warpwright::light
