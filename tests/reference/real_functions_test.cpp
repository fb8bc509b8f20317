// The float32 functions against double precision, over every exponent; and their special cases.
#include "src/reference/real_functions.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace warpwright {
namespace {

constexpr int kMantissas = 4096;

/// Distance in units in the last place of the right float.
double ulps(double right, float got) {
  if (std::isnan(right) || std::isnan(got)) return std::isnan(right) == std::isnan(got) ? 0 : 1e9;
  const auto nearest = static_cast<float>(right);
  if (std::isinf(nearest) || std::isinf(got) || right == 0) return nearest == got ? 0 : 1e9;
  int exponent = 0;
  std::frexp(right, &exponent);
  return std::fabs(got - right) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Greatest error over random mantissas of every exponent and sign: two million numbers.
double greatest_error(float (*function)(float), double (*right)(double)) {
  std::mt19937 random(7);
  double greatest = 0;
  for (uint32_t exponent = 0; exponent < 512; ++exponent) {
    for (int i = 0; i < kMantissas; ++i) {
      const auto x = std::bit_cast<float>(exponent << 23 | static_cast<uint32_t>(random()) >> 9);
      greatest = std::max(greatest, ulps(right(x), function(x)));
    }
  }
  return greatest;
}

TEST(RealFunctions, AreAsNearAsTheirTextSays) {
  EXPECT_LE(greatest_error(real::exp, std::exp), 0.98);
  EXPECT_LE(greatest_error(real::log, std::log), 0.95);
  EXPECT_LE(greatest_error(real::error_function, std::erf), 1.15);
  EXPECT_LE(greatest_error(real::tanh, std::tanh), 1.35);
  EXPECT_LE(greatest_error(real::sine, std::sin), 1.50);
  EXPECT_LE(greatest_error(real::cosine, std::cos), 1.50);
}

/// Every mantissa of two exponents, where the functions change most.
TEST(RealFunctions, AreAsNearInEveryFloatAroundOne) {
  double exp = 0, log = 0, erf = 0, tanh = 0, sin = 0, cos = 0;
  for (uint32_t bits = 0x3f000000; bits < 0x40000000; bits += 3) {
    const auto x = std::bit_cast<float>(bits);
    exp = std::max(exp, ulps(std::exp(double{x}), real::exp(x)));
    log = std::max(log, ulps(std::log(double{x}), real::log(x)));
    erf = std::max(erf, ulps(std::erf(double{x}), real::error_function(x)));
    tanh = std::max(tanh, ulps(std::tanh(double{x}), real::tanh(x)));
    sin = std::max(sin, ulps(std::sin(double{x}), real::sine(x)));
    cos = std::max(cos, ulps(std::cos(double{x}), real::cosine(x)));
  }
  EXPECT_LE(exp, 0.98);
  EXPECT_LE(log, 0.95);
  EXPECT_LE(erf, 1.15);
  EXPECT_LE(tanh, 1.35);
  EXPECT_LE(sin, 1.50);
  EXPECT_LE(cos, 1.50);
}

TEST(RealFunctions, PowerIsNearAndRemainderExact) {
  std::mt19937_64 random(11);
  double greatest = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double u = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63);
    const double v = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -63);
    const bool wide = i % 2 == 0;
    const auto x = static_cast<float>(std::exp2(u * (wide ? 120 : 1))), y = static_cast<float>(v * (wide ? 3 : 150));
    greatest = std::max(greatest, ulps(std::pow(double{x}, double{y}), real::power(x, y)));
    const auto a = std::bit_cast<float>(static_cast<uint32_t>(random())), b = i % 3 == 0 ? y : x;
    const float left = real::remainder(a, b), right = std::fmod(a, b);
    ASSERT_TRUE(std::bit_cast<uint32_t>(left) == std::bit_cast<uint32_t>(right) ||
                (std::isnan(left) && std::isnan(right)))
        << a << " " << b;
  }
  EXPECT_LE(greatest, 0.95);
}

TEST(RealFunctions, SpecialCasesAreThoseOfC) {
  const float specials[] = {0.0F,  -0.0F,      1.0F,        -1.0F,      2.0F,   -2.0F,   3.0F,     -3.0F,  0.5F,
                            -0.5F, INFINITY,   -INFINITY,   NAN,        1e-45F, -1e-45F, 3e38F,    -3e38F, 1.0000001F,
                            1e30F, 16777216.F, -16777218.F, 8388607.5F, 2.5F,   -1e30F,  0x1p-126F};
  const auto equal = [](float a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (ulps(b, a) <= 1 && std::signbit(a) == std::signbit(b));
  };
  for (const float x : specials) {
    EXPECT_TRUE(equal(real::exp(x), std::exp(double{x}))) << x;
    EXPECT_TRUE(equal(real::log(x), std::log(double{x}))) << x;
    EXPECT_TRUE(equal(real::error_function(x), std::erf(double{x}))) << x;
    EXPECT_TRUE(equal(real::tanh(x), std::tanh(double{x}))) << x;
    EXPECT_TRUE(equal(real::sine(x), std::sin(double{x}))) << x;
    EXPECT_TRUE(equal(real::cosine(x), std::cos(double{x}))) << x;
    for (const float y : specials) {
      EXPECT_TRUE(equal(real::power(x, y), std::pow(double{x}, double{y}))) << x << "^" << y;
      EXPECT_TRUE(equal(real::remainder(x, y), std::fmod(x, y))) << x << " % " << y;
    }
  }
  EXPECT_TRUE(std::signbit(real::minimum(0.0F, -0.0F)) && std::signbit(real::minimum(-0.0F, 0.0F)));
  EXPECT_FALSE(std::signbit(real::maximum(0.0F, -0.0F)) || std::signbit(real::maximum(-0.0F, 0.0F)));
  EXPECT_TRUE(std::isnan(real::maximum(NAN, 1.0F)) && std::isnan(real::minimum(1.0F, NAN)));
}

}  // namespace
}  // namespace warpwright
