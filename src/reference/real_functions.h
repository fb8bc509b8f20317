// The functions of src/core/real_functions.h, on the host. Always inline where a loop over them should take the
// instructions of the function that it stands in (target_clones.h).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "src/core/real_functions.h"

namespace warpwright::real {

#define WW_INLINE [[gnu::always_inline]] inline

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

WW_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WW_INLINE float rint(float x) { return __builtin_nearbyintf(x); }

/// Of -0 and +0, +0; NaN if there is one.
inline float maximum(float a, float b) {
  const float more = a > b || (a == b && !std::signbit(a)) ? a : b;
  return a != a ? a : b != b ? b : more;
}
/// Of -0 and +0, -0; NaN if there is one.
inline float minimum(float a, float b) {
  const float less = a < b || (a == b && std::signbit(a)) ? a : b;
  return a != a ? a : b != b ? b : less;
}

template <size_t N>
WW_INLINE float polynomial(const std::array<float, N>& constants, float t) {
  float sum = constants[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = fma(sum, t, constants[i]);
  return sum;
}

/// 2^n for n in [-126, 127].
WW_INLINE float power_of_two(int32_t n) { return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23); }
/// p * 2^n for n in [-252, 254], rounded once in the end.
WW_INLINE float scaled(float p, int32_t n) {
  const int32_t half = n >> 1;
  return p * power_of_two(half) * power_of_two(n - half);
}

WW_INLINE float exp(float x) {
  float held = x > -104.0F ? x : -104.0F;
  held = held < 89.0F ? held : 89.0F;
  const float n = rint(held * kLog2E);
  const float r = fma(n, -kLn2Low, fma(n, -kLn2High, held));
  const float y = scaled(fma(polynomial(kExp, r), r * r, r) + 1.0F, static_cast<int32_t>(n));
  return x != x ? x : y;
}

/// A positive finite number as m * 2^e with m in [2/3, 4/3).
struct Split {
  float m, e;
};
WW_INLINE Split split(float x) {
  const bool small = x < std::numeric_limits<float>::min();
  const uint32_t bits = std::bit_cast<uint32_t>(small ? x * 0x1p23F : x);
  const int32_t k = static_cast<int32_t>(bits - 0x3f2aaaab) >> 23;
  return {std::bit_cast<float>(bits - (static_cast<uint32_t>(k) << 23)), static_cast<float>(small ? k - 23 : k)};
}

WW_INLINE float log(float x) {
  const auto [m, e] = split(x);
  const float f = m - 1.0F, s = f * f;
  const float y = fma(e, kLn2, fma(s, fma(polynomial(kLog, f), f, -0.5F), f));
  const float special = x == 0.0F ? -kInfinity : x > 0.0F ? x : kNaN;
  return x > 0.0F && x < kInfinity ? y : special;
}

WW_INLINE float error_function(float x) {
  const float a = std::fabs(x);
  const float near = fma(polynomial(kErf, a * a), x, x);
  const float held = a < 4.0F ? a : 4.0F;
  const float far = std::copysign(1.0F - exp(-polynomial(kErfc, held)), x);
  return a < 0.875F || x != x ? near : far;
}

WW_INLINE float tanh(float x) {
  const float a = std::fabs(x), s = a * a;
  const float near = fma(polynomial(kTanh, s) * s, x, x);
  const float far = std::copysign(1.0F - 2.0F / (exp(a + a) + 1.0F), x);
  return a < 0x1p-12F ? x : a < 0.625F ? near : far;
}

/// x as r + q * pi / 2.
struct Angle {
  float r;
  uint32_t q;  // its two low bits count
};
inline Angle reduced(float x) {
  const float a = std::fabs(x);
  if (a < kQuarterPi) return {x, 0};
  const uint32_t bits = std::bit_cast<uint32_t>(a);
  const uint32_t m = (bits & 0x7fffff) | 0x800000;
  const uint32_t begin = (bits >> 23) - 150 + 30, word = begin >> 5, shift = begin & 31;
  uint32_t window[3];
  for (uint32_t i = 0; i < 3; ++i) {
    const uint64_t two = uint64_t{kTwoOverPi[word + i]} << 32 | kTwoOverPi[word + i + 1];
    window[i] = static_cast<uint32_t>(two >> (32 - shift));
  }
  uint64_t product = uint64_t{m} * window[2];
  product = (product >> 32) + uint64_t{m} * window[1];
  const uint64_t v = ((product >> 32) + uint64_t{m} * window[0]) << 32 | (product & 0xffffffff);
  const uint64_t q = (v + (uint64_t{1} << 61)) >> 62;
  const auto z = static_cast<int64_t>(v - (q << 62));
  const auto h = static_cast<float>(z);
  const auto l = static_cast<float>(z - static_cast<int64_t>(h));
  const float r = fma(h, kHalfPiHigh, fma(l, kHalfPiHigh, h * kHalfPiLow));
  return x < 0.0F ? Angle{-r, static_cast<uint32_t>(-q)} : Angle{r, static_cast<uint32_t>(q)};
}

/// sin(r + q * pi / 2).
inline float turned(float r, uint32_t q) {
  const float s = r * r;
  const float sin = fma(polynomial(kSin, s) * s, r, r);
  const float cos = fma(fma(polynomial(kCos, s), s, -0.5F), s, 1.0F);
  const float y = (q & 1) != 0 ? cos : sin;
  return (q & 2) != 0 ? -y : y;
}
WW_INLINE float reciprocal(float x) { return 1.0F / x; }

inline float sine(float x) {
  if (!(std::fabs(x) < kInfinity)) return kNaN;
  const auto [r, q] = reduced(x);
  return std::fabs(x) < 0x1p-12F ? x : turned(r, q);
}
inline float cosine(float x) {
  if (!(std::fabs(x) < kInfinity)) return kNaN;
  const auto [r, q] = reduced(x);
  return turned(r, q + 1);
}

/// log2 of a positive finite number as h + l.
inline std::pair<float, float> log2_pair(float a) {
  const auto [m, e] = split(a);
  const float f = m - 1.0F, u = m + 1.0F, u_low = m - (u - 1.0F);
  const float s = f / u, s_low = fma(-s, u_low, fma(-s, u, f)) / u;
  const float z = s * s, z_low = fma(s + s, s_low, fma(s, s, -z));
  const float o = z * polynomial(kAtanh, z);
  const float t = kThird + o, t_low = (o - (t - kThird)) + kThirdLow;
  const float v = z * t, v_low = fma(z_low, t, fma(z, t_low, fma(z, t, -v)));
  const float g = s * v, g_low = fma(s_low, v, fma(s, v_low, fma(s, v, -g)));
  const float b = s + g, b_low = (g - (b - s)) + (g_low + s_low);
  const float d = b * kTwoOverLn2;
  const float d_low = fma(b_low, kTwoOverLn2, fma(b, kTwoOverLn2Low, fma(b, kTwoOverLn2, -d)));
  const float c = e + d, c_low = (d - (c - e)) + d_low;
  const float h = c + c_low;
  return {h, c_low - (h - c)};
}

/// a^y of a positive finite a and a finite y.
inline float positive_power(float a, float y) {
  const auto [h, h_low] = log2_pair(a);
  const float t = y * h;
  if (t > 160.0F) return kInfinity;
  if (t < -160.0F) return 0.0F;
  const float n = rint(t), f = (t - n) + fma(y, h_low, fma(y, h, -t));
  return scaled(fma(polynomial(kExp2, f), f, 1.0F), static_cast<int32_t>(n));
}

inline float power(float x, float y) {
  if (y == 0.0F || x == 1.0F) return 1.0F;
  if (x != x || y != y) return kNaN;
  const float a = std::fabs(x);
  const bool integer = rint(y) == y, odd = integer && std::fabs(y) < 0x1p24F && rint(y * 0.5F) != y * 0.5F;
  if (std::fabs(y) == kInfinity) return a == 1.0F ? 1.0F : (a > 1.0F) == (y > 0.0F) ? kInfinity : 0.0F;
  if (x < 0.0F && a < kInfinity && !integer) return kNaN;
  const bool ends = a == 0.0F || a == kInfinity;
  const float end = (a == 0.0F) == (y > 0.0F) ? 0.0F : kInfinity;
  const float magnitude = ends ? end : positive_power(a, y);
  return odd && std::signbit(x) ? -magnitude : magnitude;
}

inline float remainder(float x, float y) {
  const float a = std::fabs(x), b = std::fabs(y);
  if (!(a < kInfinity) || y != y || b == 0.0F) return kNaN;
  if (a < b) return x;
  const auto exponent = [](uint32_t bits) { return std::max<uint32_t>(bits >> 23, 1); };
  const auto mantissa = [](uint32_t bits) { return bits < 0x800000 ? bits : (bits & 0x7fffff) | 0x800000; };
  const uint32_t a_bits = std::bit_cast<uint32_t>(a), b_bits = std::bit_cast<uint32_t>(b), divisor = mantissa(b_bits);
  uint32_t left = mantissa(a_bits) % divisor;
  for (uint32_t shifts = exponent(a_bits) - exponent(b_bits); shifts > 0;) {
    const uint32_t step = std::min<uint32_t>(shifts, 8);
    left = (left << step) % divisor;
    shifts -= step;
  }
  return std::copysign(scaled(static_cast<float>(left), static_cast<int32_t>(exponent(b_bits)) - 150), x);
}

#undef WW_INLINE

}  // namespace warpwright::real
