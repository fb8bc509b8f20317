// The text of the float32 functions, with the constants of src/core/real_functions.h as bits.
#include "search_space/real_functions_text.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/core/real_functions.h"

namespace warpwright {

namespace {

std::string literal(float value) { return fmt::format("__uint_as_float(0x{:08x}u)", std::bit_cast<uint32_t>(value)); }

/// A function of `t` by Horner's scheme.
std::string polynomial(std::string_view name, std::span<const float> constants) {
  std::string sum = literal(constants.back());
  for (size_t i = constants.size() - 1; i-- > 0;) sum = fmt::format("__fmaf_rn({}, t, {})", sum, literal(constants[i]));
  return fmt::format("__device__ __forceinline__ float {}(float t) {{ return {}; }}\n", name, sum);
}

std::string constant(std::string_view name, float value) {
  return fmt::format("#define {} {}\n", name, literal(value));
}

std::string two_over_pi() {
  std::string words;
  for (const uint32_t word : real::kTwoOverPi) words += fmt::format("0x{:08x}u, ", word);
  return fmt::format("__constant__ unsigned real_two_over_pi[{}] = {{{}}};\n", real::kTwoOverPi.size(), words);
}

constexpr const char* kBasics = R"(
__device__ __forceinline__ float real_maximum(float a, float b) {
  const float more = fmaxf(a, b);
  return a != a ? a : b != b ? b : more;
}
__device__ __forceinline__ float real_minimum(float a, float b) {
  const float less = fminf(a, b);
  return a != a ? a : b != b ? b : less;
}
__device__ __forceinline__ float real_sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x; }
__device__ __forceinline__ float real_with_sign(float magnitude, float of) {
  return __uint_as_float((__float_as_uint(magnitude) & 0x7fffffffu) | (__float_as_uint(of) & 0x80000000u));
}
__device__ __forceinline__ float real_power_of_two(int n) { return __int_as_float((n + 127) << 23); }
__device__ __forceinline__ float real_scaled(float p, int n) {
  const int half = n >> 1;
  return __fmul_rn(__fmul_rn(p, real_power_of_two(half)), real_power_of_two(n - half));
}
struct RealSplit {
  float m, e;
};
__device__ __forceinline__ RealSplit real_split(float x) {
  const bool is_small = x < __uint_as_float(0x00800000u);
  const unsigned bits = __float_as_uint(is_small ? __fmul_rn(x, 8388608.0f) : x);
  const int k = (int)(bits - 0x3f2aaaabu) >> 23;
  return {__uint_as_float(bits - ((unsigned)k << 23)), (float)(is_small ? k - 23 : k)};
}
)";

constexpr const char* kExponentials = R"(
__device__ __forceinline__ float real_exp(float x) {
  const float held = fminf(fmaxf(x, -104.0f), 89.0f);
  const float n = rintf(__fmul_rn(held, kLog2E));
  const float r = __fmaf_rn(n, -kLn2Low, __fmaf_rn(n, -kLn2High, held));
  const float p = __fadd_rn(__fmaf_rn(real_exp_tail(r), __fmul_rn(r, r), r), 1.0f);
  return x != x ? x : real_scaled(p, (int)n);
}
__device__ __forceinline__ float real_log(float x) {
  const RealSplit split = real_split(x);
  const float f = __fsub_rn(split.m, 1.0f), s = __fmul_rn(f, f);
  const float y = __fmaf_rn(split.e, kLn2, __fmaf_rn(s, __fmaf_rn(real_log_tail(f), f, -0.5f), f));
  const float special = x == 0.0f ? -kInfinity : x > 0.0f ? x : kNaN;
  return x > 0.0f && x < kInfinity ? y : special;
}
__device__ __forceinline__ float real_error_function(float x) {
  const float a = fabsf(x);
  if (a < 0.875f || x != x) return __fmaf_rn(real_erf_near(__fmul_rn(a, a)), x, x);
  return real_with_sign(__fsub_rn(1.0f, real_exp(-real_erf_far(fminf(a, 4.0f)))), x);
}
__device__ __forceinline__ float real_tanh(float x) {
  const float a = fabsf(x), s = __fmul_rn(a, a);
  const float near = __fmaf_rn(__fmul_rn(real_tanh_near(s), s), x, x);
  const float far = __fsub_rn(1.0f, __fdiv_rn(2.0f, __fadd_rn(real_exp(__fadd_rn(a, a)), 1.0f)));
  return a < 0.000244140625f ? x : a < 0.625f ? near : real_with_sign(far, x);
}
)";

constexpr const char* kAngles = R"(
struct RealAngle {
  float r;
  unsigned q;
};
__device__ __forceinline__ RealAngle real_reduced(float x) {
  const float a = fabsf(x);
  if (a < kQuarterPi) return {x, 0u};
  const unsigned bits = __float_as_uint(a), m = (bits & 0x7fffffu) | 0x800000u;
  const unsigned begin = (bits >> 23) - 120u, word = begin >> 5, shift = begin & 31u;
  unsigned window[3];
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    const unsigned long long two =
        (unsigned long long)real_two_over_pi[word + i] << 32 | real_two_over_pi[word + i + 1];
    window[i] = (unsigned)(two >> (32u - shift));
  }
  unsigned long long product = (unsigned long long)m * window[2];
  product = (product >> 32) + (unsigned long long)m * window[1];
  const unsigned long long v =
      ((product >> 32) + (unsigned long long)m * window[0]) << 32 | (product & 0xffffffffull);
  const unsigned long long q = (v + (1ull << 61)) >> 62;
  const long long z = (long long)(v - (q << 62));
  const float h = __ll2float_rn(z), l = __ll2float_rn(z - __float2ll_rz(h));
  const float r = __fmaf_rn(h, kHalfPiHigh, __fmaf_rn(l, kHalfPiHigh, __fmul_rn(h, kHalfPiLow)));
  return x < 0.0f ? RealAngle{-r, 0u - (unsigned)q} : RealAngle{r, (unsigned)q};
}
__device__ __forceinline__ float real_turned(float r, unsigned q) {
  const float s = __fmul_rn(r, r);
  const float sin = __fmaf_rn(__fmul_rn(real_sin_tail(s), s), r, r);
  const float cos = __fmaf_rn(__fmaf_rn(real_cos_tail(s), s, -0.5f), s, 1.0f);
  const float y = (q & 1u) != 0u ? cos : sin;
  return (q & 2u) != 0u ? -y : y;
}
__device__ __forceinline__ float real_sine(float x) {
  if (!(fabsf(x) < kInfinity)) return kNaN;
  const RealAngle angle = real_reduced(x);
  return fabsf(x) < 0.000244140625f ? x : real_turned(angle.r, angle.q);
}
__device__ __forceinline__ float real_cosine(float x) {
  if (!(fabsf(x) < kInfinity)) return kNaN;
  const RealAngle angle = real_reduced(x);
  return real_turned(angle.r, angle.q + 1u);
}
)";

constexpr const char* kPowers = R"(
__device__ __forceinline__ float real_positive_power(float a, float y) {
  const RealSplit split = real_split(a);
  const float m = split.m, e = split.e;
  const float f = __fsub_rn(m, 1.0f), u = __fadd_rn(m, 1.0f), u_low = __fsub_rn(m, __fsub_rn(u, 1.0f));
  const float s = __fdiv_rn(f, u), s_low = __fdiv_rn(__fmaf_rn(-s, u_low, __fmaf_rn(-s, u, f)), u);
  const float z = __fmul_rn(s, s), z_low = __fmaf_rn(__fadd_rn(s, s), s_low, __fmaf_rn(s, s, -z));
  const float o = __fmul_rn(z, real_atanh_tail(z));
  const float t = __fadd_rn(kThird, o), t_low = __fadd_rn(__fsub_rn(o, __fsub_rn(t, kThird)), kThirdLow);
  const float v = __fmul_rn(z, t), v_low = __fmaf_rn(z_low, t, __fmaf_rn(z, t_low, __fmaf_rn(z, t, -v)));
  const float g = __fmul_rn(s, v), g_low = __fmaf_rn(s_low, v, __fmaf_rn(s, v_low, __fmaf_rn(s, v, -g)));
  const float b = __fadd_rn(s, g), b_low = __fadd_rn(__fsub_rn(g, __fsub_rn(b, s)), __fadd_rn(g_low, s_low));
  const float d = __fmul_rn(b, kTwoOverLn2);
  const float d_low = __fmaf_rn(b_low, kTwoOverLn2, __fmaf_rn(b, kTwoOverLn2Low, __fmaf_rn(b, kTwoOverLn2, -d)));
  const float c = __fadd_rn(e, d), c_low = __fadd_rn(__fsub_rn(d, __fsub_rn(c, e)), d_low);
  const float h = __fadd_rn(c, c_low), h_low = __fsub_rn(c_low, __fsub_rn(h, c));
  const float x = __fmul_rn(y, h);
  if (x > 160.0f) return kInfinity;
  if (x < -160.0f) return 0.0f;
  const float n = rintf(x);
  const float w = __fadd_rn(__fsub_rn(x, n), __fmaf_rn(y, h_low, __fmaf_rn(y, h, -x)));
  return real_scaled(__fmaf_rn(real_exp2_tail(w), w, 1.0f), (int)n);
}
__device__ __forceinline__ float real_power(float x, float y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return kNaN;
  const float a = fabsf(x), half = __fmul_rn(y, 0.5f);
  const bool integer = rintf(y) == y, odd = integer && fabsf(y) < 16777216.0f && rintf(half) != half;
  if (fabsf(y) == kInfinity) return a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? kInfinity : 0.0f;
  if (x < 0.0f && a < kInfinity && !integer) return kNaN;
  float magnitude = (a == 0.0f) == (y > 0.0f) ? 0.0f : kInfinity;
  if (a != 0.0f && a != kInfinity) magnitude = real_positive_power(a, y);
  return odd ? real_with_sign(magnitude, x) : magnitude;
}
__device__ __forceinline__ float real_remainder(float x, float y) {
  const float a = fabsf(x), b = fabsf(y);
  if (!(a < kInfinity) || y != y || b == 0.0f) return kNaN;
  if (a < b) return x;
  const unsigned a_bits = __float_as_uint(a), b_bits = __float_as_uint(b);
  const unsigned a_exponent = max(a_bits >> 23, 1u), b_exponent = max(b_bits >> 23, 1u);
  const unsigned divisor = b_bits < 0x800000u ? b_bits : (b_bits & 0x7fffffu) | 0x800000u;
  unsigned left = (a_bits < 0x800000u ? a_bits : (a_bits & 0x7fffffu) | 0x800000u) % divisor;
  for (unsigned shifts = a_exponent - b_exponent; shifts > 0u;) {
    const unsigned step = min(shifts, 8u);
    left = (left << step) % divisor;
    shifts -= step;
  }
  return real_with_sign(real_scaled((float)left, (int)b_exponent - 150), x);
}
)";

}  // namespace

std::string real_functions_text() {
  std::string text = "#define kInfinity __uint_as_float(0x7f800000u)\n#define kNaN __uint_as_float(0x7fffffffu)\n";
  text += constant("kLog2E", real::kLog2E) + constant("kLn2", real::kLn2);
  text += constant("kLn2High", real::kLn2High) + constant("kLn2Low", real::kLn2Low);
  text += constant("kQuarterPi", real::kQuarterPi);
  text += constant("kHalfPiHigh", real::kHalfPiHigh) + constant("kHalfPiLow", real::kHalfPiLow);
  text += constant("kThird", real::kThird) + constant("kThirdLow", real::kThirdLow);
  text += constant("kTwoOverLn2", real::kTwoOverLn2) + constant("kTwoOverLn2Low", real::kTwoOverLn2Low);
  text += polynomial("real_exp_tail", real::kExp) + polynomial("real_log_tail", real::kLog);
  text += polynomial("real_erf_near", real::kErf) + polynomial("real_erf_far", real::kErfc);
  text += polynomial("real_tanh_near", real::kTanh);
  text += polynomial("real_sin_tail", real::kSin) + polynomial("real_cos_tail", real::kCos);
  text += polynomial("real_atanh_tail", real::kAtanh) + polynomial("real_exp2_tail", real::kExp2);
  return text + two_over_pi() + kBasics + kExponentials + kAngles + kPowers;
}

}  // namespace warpwright
