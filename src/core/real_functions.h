// The float32 functions that basic operations make up: the law for reference and kernels, with its constants.
//
// Every step is one float32 operation rounded to nearest even, subnormal numbers kept; fma(a, b, c) = fl(a * b + c);
// rint rounds to an integer, half to even; 2^n is exact; {c0, c1, ...}(t) is c0 + t * (c1 + t * ...) by fma from the
// last constant on. A NaN gives NaN unless power says otherwise. Greatest errors in units in the last place:
// exp 0.98, log 0.95, error_function 1.15, tanh 1.35, sine and cosine 1.5, power 0.95 (see
// tests/reference/real_functions_test.cpp).
//
// exp(x): x is held to [-104, 89]; n = rint(x * kLog2E); r = fma(n, -kLn2Low, fma(n, -kLn2High, x));
//   p = fl(fma(kExp(r), fl(r * r), r) + 1); y = scaled(p, n), which is fl(fl(p * 2^(n >> 1)) * 2^(n - (n >> 1))).
// log(x): of 0 -infinity, of x < 0 NaN, of infinity infinity. A subnormal x is multiplied by 2^23 and e = -23, else
//   e = 0. x = m * 2^k with m in [2/3, 4/3) by the bits of x: k = (bits - 0x3f2aaaab) >> 23, an arithmetic shift; e +=
//   k; f = m - 1; s = fl(f * f); y = fma(e, kLn2, fma(s, fma(kLog(f), f, -1/2), f)).
// error_function(x): a = |x|. a < 0.875: fma(kErf(fl(a * a)), x, x). Else, with a held to 4: the sign of x on
//   fl(1 - exp(-kErfc(a))).
// tanh(x): a = |x|. a < 2^-12: x. a < 0.625: fma(fl(kTanh(s) * s), x, x), s = fl(a * a). Else the sign of x on
//   fl(1 - fl(2 / fl(exp(fl(a + a)) + 1))).
// sine(x), cosine(x): of an infinity NaN; sine of |x| < 2^-12 is x. |x| < 0x1.921fb6p-1: r = x, q = 0. Else
//   |x| = m * 2^e with 2^23 <= m < 2^24; w is the number of 96 bits that begins at bit e + 30 of kTwoOverPi, counted
//   from its first as 0; v = bits 32 to 95 of m * w; q = (v + 2^61) >> 62; z = v - q * 2^62 as a signed number;
//   h = z rounded to f32; l = z - h rounded to f32; r = fma(h, kHalfPiHigh, fma(l, kHalfPiHigh, fl(h * kHalfPiLow)));
//   for a negative x, r = -r and q = -q. With s = fl(r * r), sin = fma(fl(kSin(s) * s), r, r) and
//   cos = fma(fma(kCos(s), s, -1/2), s, 1): sine takes sin, cos, -sin, -cos for q mod 4 = 0, 1, 2, 3; cosine for q + 1.
// power(x, y): as pow of C in all special cases: y = 0 or x = 1 gives 1, even beside NaN; x < 0 with a y that is no
//   integer gives NaN; zeros and infinities give 0, 1 or infinity, with the sign of x if y is an odd integer. Else, for
//   a = |x| and the result's sign as above: e and m of a as in log; f = m - 1; u = fl(m + 1), u' = fl(m - fl(u - 1));
//   s = fl(f / u), s' = fl(fma(-s, u', fma(-s, u, f)) / u); z = fl(s * s), z' = fma(fl(s + s), s', fma(s, s, -z));
//   o = fl(z * kAtanh(z)); t = fl(kThird + o), t' = fl(fl(o - fl(t - kThird)) + kThirdLow);
//   v = fl(z * t), v' = fma(z', t, fma(z, t', fma(z, t, -v))); g = fl(s * v), g' = fma(s', v, fma(s, v', fma(s, v,
//   -g))); b = fl(s + g), b' = fl(fl(g - fl(b - s)) + fl(g' + s')); d = fl(b * kTwoOverLn2), d' = fma(b', kTwoOverLn2,
//   fma(b, kTwoOverLn2Low, fma(b, kTwoOverLn2, -d))); c = fl(e + d), c' = fl(fl(d - fl(c - e)) + d'); h = fl(c + c'),
//   h' = fl(c' - fl(h - c)); t = fl(y * h); beyond 160 the result is infinity, below -160 it is 0; n = rint(t); f =
//   fl(fl(t - n) + fma(y, h', fma(y, h, -t))); the result is scaled(fma(kExp2(f), f, 1), n).
// remainder(x, y): what is left of x when |y| is taken away from |x| as often as it goes, exact, with the sign of x. Of
//   an infinite x or a zero y NaN.
#pragma once

#include <array>
#include <cstdint>

namespace warpwright::real {

inline constexpr float kLog2E = 0x1.715476p+0F;
inline constexpr float kLn2 = 0x1.62e430p-1F;
inline constexpr float kLn2High = 0x1.62e400p-1F, kLn2Low = 0x1.7f7d1cp-20F;  // kLn2High has 15 bits: n * it is exact
inline constexpr std::array<float, 5> kExp{0x1.fffffcp-2F, 0x1.55548cp-3F, 0x1.5558b8p-5F, 0x1.123e58p-7F,
                                           0x1.6a4d6ep-10F};
inline constexpr std::array<float, 8> kLog{0x1.555506p-2F, -0x1.fffefap-3F, 0x1.99d05cp-3F, -0x1.559c30p-3F,
                                           0x1.1ed452p-3F, -0x1.f33c0ap-4F, 0x1.1e72a0p-3F, -0x1.07ab70p-3F};
inline constexpr std::array<float, 7> kErf{0x1.06eba8p-3F, -0x1.812740p-2F,  0x1.ce2d5cp-4F, -0x1.b7ff8ap-6F,
                                           0x1.5430c8p-8F, -0x1.a4c2bcp-11F, 0x1.49b02ap-14F};
inline constexpr std::array<float, 8> kErfc{-0x1.5340b4p-13F, 0x1.2123c2p+0F, 0x1.4456fep-1F,   0x1.baecb6p-4F,
                                            -0x1.9a029ep-6F,  0x1.0efab6p-8F, -0x1.bfa4d0p-12F, 0x1.56da46p-16F};
inline constexpr std::array<float, 6> kTanh{-0x1.555554p-2F, 0x1.11107ap-3F,  -0x1.b9f18ap-5F,
                                            0x1.63a588p-6F,  -0x1.0c60aap-7F, 0x1.1a31eap-9F};
inline constexpr std::array<float, 4> kSin{-0x1.555556p-3F, 0x1.111174p-7F, -0x1.a0595ap-13F, 0x1.7c3068p-19F};
inline constexpr std::array<float, 3> kCos{0x1.55554ap-5F, -0x1.6c0c28p-10F, 0x1.99e816p-16F};
inline constexpr float kQuarterPi = 0x1.921fb6p-1F;
inline constexpr float kHalfPiHigh = 0x1.921fb6p-62F, kHalfPiLow = -0x1.777a5cp-87F;  // pi / 2 * 2^-62
/// 32 zero bits, then 2 / pi.
inline constexpr std::array<uint32_t, 8> kTwoOverPi{0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                                    0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
inline constexpr std::array<float, 4> kAtanh{0x1.999994p-3F, 0x1.2495f6p-3F, 0x1.c57646p-4F, 0x1.9b63e4p-4F};
inline constexpr float kThird = 0x1.555556p-2F, kThirdLow = -0x1.555556p-27F;
inline constexpr float kTwoOverLn2 = 0x1.715476p+1F, kTwoOverLn2Low = 0x1.4ae0c0p-25F;
inline constexpr std::array<float, 6> kExp2{0x1.62e430p-1F, 0x1.ebfbdcp-3F,  0x1.c6af72p-5F,
                                            0x1.3b2ddap-7F, 0x1.5f0f74p-10F, 0x1.417a34p-13F};

}  // namespace warpwright::real
