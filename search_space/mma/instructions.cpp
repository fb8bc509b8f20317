// Tensor-core multiply, ldmatrix and cp.async as device functions.
#include "search_space/mma/instructions.h"

#include <fmt/format.h>

#include "src/core/error.h"

namespace warpwright::mma {

std::string multiply_source(int64_t depth, DType a, DType b) {
  const char* const a_type = a == DType::u8 ? "u8" : "s8";
  const char* const b_type = b == DType::u8 ? "u8" : "s8";
  if (depth == kAmpereDepth) {
    return fmt::format(R"(
__device__ __forceinline__ void multiply(int (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {{
  asm("mma.sync.aligned.m16n8k32.row.col.s32.{}.{}.s32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}}
)",
                       a_type, b_type);
  }
  if (depth != kTuringDepth) throw InternalError(fmt::format("no tensor-core instruction of depth {}", depth));
  return fmt::format(R"(
__device__ __forceinline__ void multiply_8x8(int& sum0, int& sum1, unsigned a, unsigned b) {{
  asm("mma.sync.aligned.m8n8k16.row.col.s32.{}.{}.s32 {{%0, %1}}, {{%2}}, {{%3}}, {{%0, %1}};"
      : "+r"(sum0), "+r"(sum1) : "r"(a), "r"(b));
}}
__device__ __forceinline__ void multiply(int (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {{
  multiply_8x8(sums[0], sums[1], a[0], b[0]);
  multiply_8x8(sums[2], sums[3], a[1], b[0]);
  multiply_8x8(sums[0], sums[1], a[2], b[1]);
  multiply_8x8(sums[2], sums[3], a[3], b[1]);
}}
)",
                     a_type, b_type);
}

std::string_view load_matrices_source() {
  return R"(
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
template <int kRowBytes>
__device__ __forceinline__ constexpr unsigned swizzle(unsigned row) {
  return kRowBytes == 128 ? row % 8 : kRowBytes == 64 ? row / 2 % 4 : row / 4 % 2;
}
__device__ __forceinline__ void store_words(unsigned to, const int (&words)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3]) : "memory");
}
__device__ __forceinline__ void store_words(unsigned to, const int (&words)[2]) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(words[0]), "r"(words[1]) : "memory");
}
__device__ __forceinline__ void store_words(unsigned to, const int (&words)[1]) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(words[0]) : "memory");
}
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from));
}
__device__ __forceinline__ void load_matrices(unsigned (&to)[2], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(from));
}
__device__ __forceinline__ void load_matrices(unsigned (&to)[1], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(to[0]) : "r"(from));
}
)";
}

std::string_view copy_async_source() {
  return R"(
template <int kBytes>
__device__ __forceinline__ void copy_async(unsigned to, unsigned long long from) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes) : "memory");
  }
}
template <int kBytes>
__device__ __forceinline__ void copy_part(unsigned to, unsigned long long from, int bytes) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes), "r"(bytes)
                 : "memory");
  }
}
template <int kBytes>
__device__ __forceinline__ void copy_async(unsigned to, unsigned long long from, unsigned valid) {
  copy_part<kBytes>(to, from, valid != 0 ? kBytes : 0);
}
template <int kBytes>
__device__ __forceinline__ void copy_or_fill(unsigned to, unsigned long long from, unsigned valid, int fill) {
  if constexpr (kBytes == 16) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p cp.async.cg.shared.global [%0], [%1], 16;\n"
        "@!p st.shared.v4.b32 [%0], {%3, %3, %3, %3};\n}" ::"r"(to), "l"(from), "r"(valid), "r"(fill) : "memory");
  } else if constexpr (kBytes == 8) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p cp.async.ca.shared.global [%0], [%1], 8;\n"
        "@!p st.shared.v2.b32 [%0], {%3, %3};\n}" ::"r"(to), "l"(from), "r"(valid), "r"(fill) : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p cp.async.ca.shared.global [%0], [%1], 4;\n"
        "@!p st.shared.b32 [%0], %3;\n}" ::"r"(to), "l"(from), "r"(valid), "r"(fill) : "memory");
  }
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
)";
}

}  // namespace warpwright::mma
