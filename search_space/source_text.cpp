// Pieces of CUDA C++ that several families share.
#include "search_space/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "src/core/error.h"

namespace warpwright {

SourceConstants& SourceConstants::add(std::string_view name, int64_t value) {
  const bool wide = value > std::numeric_limits<int32_t>::max() || value < -std::numeric_limits<int32_t>::max();
  text_ += wide ? fmt::format("constexpr long long k{} = {}ll;\n", name, value)
                : fmt::format("constexpr int k{} = {};\n", name, value);
  return *this;
}

std::string dot_source(DType x, DType weights) {
  const char* x_type = x == DType::u8 ? "u32" : "s32";
  const char* weight_type = weights == DType::u8 ? "u32" : "s32";
  return fmt::format(R"(
__device__ __forceinline__ int dot4(int a, int b, int c) {{
  int d;
  asm("dp4a.{0}.{1} %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}}
__device__ __forceinline__ int sum_lanes(int a, int ones, int c) {{
  int d;
  asm("dp4a.{0}.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(ones), "r"(c));
  return d;
}}
__device__ __forceinline__ int sum4(int a, int c) {{ return sum_lanes(a, 0x01010101, c); }}
)",
                     x_type, weight_type);
}

std::string_view guarded_load_source() {
  return R"(
__device__ __forceinline__ void load_words(int (&to)[4], unsigned long long from, int valid) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %5, 0;\n@p ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
      : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3]) : "l"(from), "r"(valid));
}
__device__ __forceinline__ void load_words(int (&to)[2], unsigned long long from, int valid) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %3, 0;\n@p ld.global.nc.v2.b32 {%0, %1}, [%2];\n}"
      : "+r"(to[0]), "+r"(to[1]) : "l"(from), "r"(valid));
}
__device__ __forceinline__ void load_words(int (&to)[1], unsigned long long from, int valid) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %2, 0;\n@p ld.global.nc.b32 %0, [%1];\n}"
      : "+r"(to[0]) : "l"(from), "r"(valid));
}
__device__ __forceinline__ void load_byte(int& to, unsigned long long from, int valid) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p, %2, 0;\n@p ld.global.nc.u8 %0, [%1];\n}" : "+r"(to) : "l"(from), "r"(valid));
}
// Keeps the compiler from computing an address anew wherever it is used.
__device__ __forceinline__ unsigned pinned(unsigned value) {
  unsigned same;
  asm volatile("mov.b32 %0, %1;" : "=r"(same) : "r"(value));
  return same;
}
__device__ __forceinline__ unsigned long long global_address(const void* pointer) {
  unsigned long long address;
  asm("cvta.to.global.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return address;
}
)";
}

std::string_view vector_access_source() {
  return R"(
template <typename Array>
constexpr int kLanesOf = 0;
template <typename Lane, int kCount>
constexpr int kLanesOf<Lane (&)[kCount]> = kCount;
template <int kLanes>
__device__ __forceinline__ void load_values(int (&to)[kLanes], const int* from) {
  if constexpr (kLanes % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kLanes; i += 4) {
      const int4 four = *reinterpret_cast<const int4*>(from + i);
      to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) to[i] = from[i];
  }
}
template <int kLanes>
__device__ __forceinline__ void load_values(float (&to)[kLanes], const float* from) {
  int bits[kLanes];
  load_values(bits, reinterpret_cast<const int*>(from));
#pragma unroll
  for (int i = 0; i < kLanes; ++i) to[i] = __int_as_float(bits[i]);
}
template <bool kSigned>
__device__ __forceinline__ int code_of(int word, int byte) {
  if constexpr (kSigned) return static_cast<signed char>(word >> (8 * byte));
  return (word >> (8 * byte)) & 255;
}
template <bool kSigned, int kLanes>
__device__ __forceinline__ void load_codes(int (&to)[kLanes], const unsigned char* from) {
  if constexpr (kLanes == 1) {
    to[0] = code_of<kSigned>(*from, 0);
  } else {
    int words[kLanes / 4];
    if constexpr (kLanes == 16) {
      const int4 four = *reinterpret_cast<const int4*>(from);
      words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
    } else if constexpr (kLanes == 8) {
      const int2 two = *reinterpret_cast<const int2*>(from);
      words[0] = two.x, words[1] = two.y;
    } else {
      words[0] = *reinterpret_cast<const int*>(from);
    }
#pragma unroll
    for (int i = 0; i < kLanes; ++i) to[i] = code_of<kSigned>(words[i / 4], i % 4);
  }
}
template <int kLanes>
__device__ __forceinline__ void store_values(int* to, const int (&values)[kLanes]) {
  if constexpr (kLanes % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kLanes; i += 4) {
      *reinterpret_cast<int4*>(to + i) = make_int4(values[i], values[i + 1], values[i + 2], values[i + 3]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) to[i] = values[i];
  }
}
template <int kBytes>
__device__ __forceinline__ void copy_vector(unsigned char* to, const unsigned char* from, bool valid) {
  if constexpr (kBytes == 16) {
    *reinterpret_cast<int4*>(to) = valid ? *reinterpret_cast<const int4*>(from) : make_int4(0, 0, 0, 0);
  } else if constexpr (kBytes == 8) {
    *reinterpret_cast<int2*>(to) = valid ? *reinterpret_cast<const int2*>(from) : make_int2(0, 0);
  } else if constexpr (kBytes == 4) {
    *reinterpret_cast<int*>(to) = valid ? *reinterpret_cast<const int*>(from) : 0;
  } else {
    *to = valid ? *from : 0;
  }
}
__device__ __forceinline__ int pack_codes(int a, int b, int c, int d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}
template <int kLanes>
__device__ __forceinline__ void store_codes(unsigned char* to, const int (&codes)[kLanes]) {
  if constexpr (kLanes == 1) {
    *to = static_cast<unsigned char>(codes[0]);
  } else {
    int words[kLanes / 4];
#pragma unroll
    for (int i = 0; i < kLanes / 4; ++i) {
      words[i] = pack_codes(codes[4 * i], codes[4 * i + 1], codes[4 * i + 2], codes[4 * i + 3]);
    }
    if constexpr (kLanes == 16) {
      *reinterpret_cast<int4*>(to) = make_int4(words[0], words[1], words[2], words[3]);
    } else if constexpr (kLanes == 8) {
      *reinterpret_cast<int2*>(to) = make_int2(words[0], words[1]);
    } else {
      *reinterpret_cast<int*>(to) = words[0];
    }
  }
}
)";
}

namespace {

std::string parameter(const KernelArgument& argument) {
  switch (argument.role) {
    case KernelArgument::Role::input:
      return fmt::format("const unsigned char* __restrict__ {}", argument.index == 0 ? "x" : "residual");
    case KernelArgument::Role::output:
      return "unsigned char* __restrict__ y";
    case KernelArgument::Role::constant: {
      const char* type = is_code(argument.dtype) ? "unsigned char" : argument.dtype == DType::f32 ? "float" : "int";
      return fmt::format("const {}* __restrict__ {}", type, argument.name);
    }
    case KernelArgument::Role::scalar:
      return fmt::format("{} {}", argument.dtype == DType::f32 ? "float" : "int", argument.name);
    case KernelArgument::Role::workspace:
      return "int* workspace";
    case KernelArgument::Role::counters:
      return "unsigned* counters";
  }
  throw InternalError("unknown role of a kernel argument");
}

}  // namespace

std::string tap_masks_source(std::string_view name) {
  constexpr const char* kText = R"(
    unsigned across = 0, taps = 0;
#pragma unroll
    for (int s = 0; s < kKernelW; ++s) across |= static_cast<unsigned>(w + s * kDilationW) < kW ? 1u << s : 0u;
#pragma unroll
    for (int r = 0; r < kKernelH; ++r) {
      taps |= static_cast<unsigned>(h + r * kDilationH) < kH ? across << (r * kKernelW) : 0u;
    }
)";
  return fmt::format("{}    {}[i] = taps;\n", kText, name);
}

std::string kernel_signature(const std::string& entry, const std::vector<KernelArgument>& arguments, int64_t threads,
                             int64_t ctas_per_sm) {
  std::string text =
      fmt::format("\nextern \"C\" __global__ void __launch_bounds__({}, {}) {}(", threads, ctas_per_sm, entry);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) text += ",";
    text += "\n    " + parameter(arguments[i]);
  }
  return text + ") {\n";
}

int64_t resident_ctas(int64_t registers, int64_t threads, int64_t smem_bytes, const Target& target) {
  constexpr int64_t kReservedSmemBytes = 1024;
  // Four sub-partitions, each with a quarter of the file.
  const int64_t warps = ceil_div(threads, 32);
  const int64_t by_registers = target.registers_per_sm / 4 / (round_up(registers, 8) * 32) * 4 / warps;
  const int64_t by_smem = target.smem_per_sm_bytes / (smem_bytes + kReservedSmemBytes);
  const int64_t by_warps = target.max_warps_per_sm / warps;
  return std::max<int64_t>(1, std::min({by_registers, by_smem, by_warps, int64_t{target.max_ctas_per_sm}}));
}

std::string shared_memory_declaration(int64_t bytes, LaunchShape& launch, int64_t alignment) {
  if (bytes <= kStaticSmemBytes) {
    return fmt::format("  __shared__ __align__({}) unsigned char smem[{}];\n", alignment, bytes);
  }
  launch.dynamic_smem_bytes = static_cast<uint32_t>(bytes);
  return fmt::format("  extern __shared__ __align__({}) unsigned char smem[];\n", alignment);
}

}  // namespace warpwright
