// One device function an operation, by overloads for its types.
#include "search_space/map/instructions.h"

#include <fmt/format.h>

#include "search_space/light/real_family.h"

namespace warpwright::map_kernel {

namespace {

// Unsigned arithmetic wraps around.
constexpr std::string_view kIntegers = R"(
#define WRAPPING(INT, UNSIGNED)                                                                                \
  __device__ __forceinline__ INT map_negate(INT a) { return static_cast<INT>(0 - static_cast<UNSIGNED>(a)); }  \
  __device__ __forceinline__ INT map_absolute(INT a) { return a < 0 ? map_negate(a) : a; }                     \
  __device__ __forceinline__ INT map_sign(INT a) { return (a > 0) - (a < 0); }                                 \
  __device__ __forceinline__ INT map_add(INT a, INT b) {                                                       \
    return static_cast<INT>(static_cast<UNSIGNED>(a) + static_cast<UNSIGNED>(b));                              \
  }                                                                                                            \
  __device__ __forceinline__ INT map_subtract(INT a, INT b) {                                                  \
    return static_cast<INT>(static_cast<UNSIGNED>(a) - static_cast<UNSIGNED>(b));                              \
  }                                                                                                            \
  __device__ __forceinline__ INT map_multiply(INT a, INT b) {                                                  \
    return static_cast<INT>(static_cast<UNSIGNED>(a) * static_cast<UNSIGNED>(b));                              \
  }                                                                                                            \
  __device__ __forceinline__ INT map_divide(INT a, INT b) {                                                    \
    return b == 0 ? 0 : b == -1 ? map_negate(a) : a / b;                                                       \
  }                                                                                                            \
  __device__ __forceinline__ INT map_remainder(INT a, INT b) { return b == 0 || b == -1 ? 0 : a % b; }         \
  __device__ __forceinline__ INT map_modulo(INT a, INT b) {                                                    \
    const INT rest = map_remainder(a, b);                                                                      \
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;                                               \
  }                                                                                                            \
  __device__ __forceinline__ INT map_minimum(INT a, INT b) { return a < b ? a : b; }                           \
  __device__ __forceinline__ INT map_maximum(INT a, INT b) { return a < b ? b : a; }
WRAPPING(int, unsigned)
WRAPPING(long long, unsigned long long)
)";

constexpr std::string_view kFloats = R"(
__device__ __forceinline__ float map_negate(float a) { return -a; }
__device__ __forceinline__ float map_absolute(float a) { return fabsf(a); }
__device__ __forceinline__ float map_sign(float a) { return real_sign(a); }
__device__ __forceinline__ float map_floor(float a) { return floorf(a); }
__device__ __forceinline__ float map_ceil(float a) { return ceilf(a); }
__device__ __forceinline__ float map_round(float a) { return rintf(a); }
__device__ __forceinline__ float map_square_root(float a) { return __fsqrt_rn(a); }
__device__ __forceinline__ float map_reciprocal(float a) { return __frcp_rn(a); }
__device__ __forceinline__ float map_add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float map_subtract(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ float map_multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float map_divide(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ float map_minimum(float a, float b) { return real_minimum(a, b); }
__device__ __forceinline__ float map_maximum(float a, float b) { return real_maximum(a, b); }
__device__ __forceinline__ float map_remainder(float a, float b) { return real_remainder(a, b); }
__device__ __forceinline__ float map_power(float a, float b) { return real_power(a, b); }
__device__ __forceinline__ float map_exponential(float a) { return real_exp(a); }
__device__ __forceinline__ float map_logarithm(float a) { return real_log(a); }
__device__ __forceinline__ float map_error_function(float a) { return real_error_function(a); }
__device__ __forceinline__ float map_tanh(float a) { return real_tanh(a); }
__device__ __forceinline__ float map_sine(float a) { return real_sine(a); }
__device__ __forceinline__ float map_cosine(float a) { return real_cosine(a); }
)";

constexpr std::string_view kOthers = R"(
template <typename T>
__device__ __forceinline__ bool map_equal(T a, T b) { return a == b; }
template <typename T>
__device__ __forceinline__ bool map_less(T a, T b) { return a < b; }
template <typename T>
__device__ __forceinline__ bool map_less_equal(T a, T b) { return a <= b; }
__device__ __forceinline__ bool map_is_nan(float a) { return a != a; }
__device__ __forceinline__ bool map_logical_and(bool a, bool b) { return a & b; }
__device__ __forceinline__ bool map_logical_or(bool a, bool b) { return a | b; }
__device__ __forceinline__ bool map_logical_xor(bool a, bool b) { return a != b; }
__device__ __forceinline__ bool map_logical_not(bool a) { return !a; }
template <typename T>
__device__ __forceinline__ T map_select(bool condition, T a, T b) { return condition ? a : b; }
__device__ __forceinline__ float map_to_f32(float a) { return a; }
__device__ __forceinline__ float map_to_f32(int a) { return __int2float_rn(a); }
__device__ __forceinline__ float map_to_f32(long long a) { return __ll2float_rn(a); }
__device__ __forceinline__ float map_to_f32(bool a) { return a ? 1.0f : 0.0f; }
// float16 as its bits, by the same steps as src/core/half.h.
__device__ __forceinline__ float map_to_f32(unsigned short a) {
  const unsigned magnitude = a & 0x7fffu, shifted = magnitude << 13;
  const unsigned finite = __float_as_uint(__fmul_rn(__uint_as_float(shifted), 5192296858534827628530496329220096.0f));
  return __uint_as_float((magnitude < 0x7c00u ? finite : shifted | 0x7f800000u) | (a & 0x8000u) << 16);
}
__device__ __forceinline__ unsigned short map_to_f16(float a) {
  const unsigned bits = __float_as_uint(a), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  const unsigned tiny = __float_as_uint(__fadd_rn(__uint_as_float(magnitude), 0.5f)) - 0x3f000000u;
  const unsigned normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const unsigned finite = sign | (magnitude < 0x38800000u ? tiny : normal);
  return magnitude > 0x7f800000u ? 0x7fffu : magnitude >= 0x477ff000u ? sign | 0x7c00u : finite;
}
__device__ __forceinline__ int map_to_s32(float a) { return __float2int_rz(a); }
__device__ __forceinline__ int map_to_s32(int a) { return a; }
__device__ __forceinline__ int map_to_s32(long long a) { return static_cast<int>(a); }
__device__ __forceinline__ int map_to_s32(bool a) { return a; }
__device__ __forceinline__ long long map_to_s64(float a) { return a != a ? 0 : __float2ll_rz(a); }
__device__ __forceinline__ long long map_to_s64(int a) { return a; }
__device__ __forceinline__ long long map_to_s64(long long a) { return a; }
__device__ __forceinline__ long long map_to_s64(bool a) { return a; }
template <typename T>
__device__ __forceinline__ bool map_to_boolean(T a) { return a != T(0); }
__device__ __forceinline__ int map_to_s8(int a) { return max(-128, min(127, a)); }
__device__ __forceinline__ int map_to_u8(int a) { return max(0, min(255, a)); }
)";

}  // namespace

std::string_view value_type(DType dtype) {
  if (is_code(dtype)) return "int";
  return dtype == DType::boolean ? "bool" : light::element_type(dtype);
}

std::string functions_source() { return light::real_source().append(kIntegers).append(kFloats).append(kOthers); }

std::string result_source(const Map& map) {
  const std::vector<DType> types = value_types(map);
  std::string parameters, statements;
  size_t value = 0;
  for (; value < map.operands.size(); ++value) {
    if (value > 0) parameters += ", ";
    parameters += fmt::format("{} v{}", value_type(types[value]), value);
  }
  for (const MapInstruction& instruction : map.instructions) {
    std::string arguments;
    for (const int argument : instruction.arguments) {
      arguments += fmt::format("{}v{}", arguments.empty() ? "" : ", ", argument);
    }
    statements +=
        fmt::format("  const {} v{} = map_{}({});\n", value_type(types[value]), value, name(instruction.op), arguments);
    ++value;
  }
  return fmt::format("\n__device__ __forceinline__ {} result({}) {{\n{}  return v{};\n}}\n", value_type(types.back()),
                     parameters, statements, value - 1);
}

}  // namespace warpwright::map_kernel
