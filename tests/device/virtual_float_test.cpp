// Single precision of the virtual device: every rounding, saturation, NaN and zero against the host's double precision.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::hard_numbers;
using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

constexpr uint32_t kThreads = 1000;
constexpr uint32_t kNan = 0x7fffffff;

float f(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float value) { return std::isnan(value) ? kNan : std::bit_cast<uint32_t>(value); }

// Floats of all magnitudes, with ties, zeros, infinities, NaN and subnormals among them.
std::vector<uint32_t> hard_floats(size_t count, uint32_t seed) {
  static const float kSpecial[] = {0.0f,          -0.0f,          0.5f,          -0.5f,        1.5f,     2.5f,
                                   -2.5f,         126.5f,         127.5f,        128.5f,       -128.5f,  255.5f,
                                   2147483647.0f, -2147483648.0f, 4294967296.0f, 1e30f,        -1e30f,   1e-40f,
                                   -1e-40f,       8388607.5f,     0.49999997f,   9.223372e18f, -9.3e18f, 1.8446744e19f,
                                   INFINITY,      -INFINITY,      NAN,           3.4028235e38f};
  std::vector<uint32_t> out = hard_numbers(count, seed);
  for (size_t i = 0; i < count; ++i) {
    if (out[i] % 3 == 0) out[i] = std::bit_cast<uint32_t>(kSpecial[out[i] / 3 % std::size(kSpecial)]);
    if (out[i] % 5 == 1)
      out[i] = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(out[i]) % 2001) / 2.0f);
  }
  return out;
}

using Of3 = std::function<uint32_t(uint32_t, uint32_t, uint32_t)>;

void expect_equal(const std::string& instruction, const Of3& expected, bool integers = false) {
  SCOPED_TRACE(instruction);
  const std::string body = R"(
  mul.wide.u32 %rd4, %r0, 12;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.u32 %r1, [%rd5];
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd5+4];
  ld.global.f32 %f3, [%rd5+8];
  mov.f32 %f10, 0f00000000;
  mov.u32 %r10, 0;
  )" + instruction + R"(
  mov.b32 %r11, %f10;
  or.b32 %r10, %r10, %r11;
  mul.wide.u32 %rd6, %r0, 4;
  add.s64 %rd7, %rd3, %rd6;
  st.global.u32 [%rd7], %r10;
)";
  VirtualRun run;
  const auto values = integers ? hard_numbers(3 * kThreads, 5) : hard_floats(3 * kThreads, 5);
  const DeviceAddress a = run.upload(values, "a", true), o = run.device->allocate(4 * kThreads, "o");
  const Outcome outcome = run.run(kernel_of(body), shape_of(1, kThreads), {a, a, o});
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  const std::vector<uint32_t> got = run.download<uint32_t>(o, kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    const uint32_t x = values[3 * i], y = values[3 * i + 1], z = values[3 * i + 2];
    ASSERT_EQ(got[i], expected(x, y, z)) << std::hex << x << " " << y << " " << z;
  }
}

// Through double precision, which holds sums and products of two floats well enough to round once.
TEST(VirtualFloat, ArithmeticRoundsOnce) {
  expect_equal("add.rn.f32 %f10, %f1, %f2;", [](auto x, auto y, auto) { return bits(f(x) + f(y)); });
  expect_equal("sub.f32 %f10, %f1, %f2;", [](auto x, auto y, auto) { return bits(f(x) - f(y)); });
  expect_equal("mul.rn.f32 %f10, %f1, %f2;",
               [](auto x, auto y, auto) { return bits(static_cast<float>(double{f(x)} * double{f(y)})); });
  expect_equal("div.rn.f32 %f10, %f1, %f2;", [](auto x, auto y, auto) { return bits(f(x) / f(y)); });
  expect_equal("rcp.rn.f32 %f10, %f1;", [](auto x, auto, auto) { return bits(1.0f / f(x)); });
  expect_equal("sqrt.rn.f32 %f10, %f1;",
               [](auto x, auto, auto) { return bits(static_cast<float>(std::sqrt(double{f(x)}))); });
  expect_equal("fma.rn.f32 %f10, %f1, %f2, %f3;",
               [](auto x, auto y, auto z) { return bits(std::fma(f(x), f(y), f(z))); });
  expect_equal("mul.rn.f32 %f4, %f1, %f2; add.rn.f32 %f10, %f4, %f3;", [](auto x, auto y, auto z) {
    const float product = static_cast<float>(double{f(x)} * double{f(y)});
    return bits(product + f(z));
  });
  expect_equal("add.rn.sat.f32 %f10, %f1, %f2;", [](auto x, auto y, auto) {
    const float sum = f(x) + f(y);
    return sum > 1 ? bits(1.0f) : sum > 0 ? bits(sum) : 0u;
  });
}

TEST(VirtualFloat, MinAndMaxDropNanAndOrderZeros) {
  const auto less = [](float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
  const auto of = [less](uint32_t x, uint32_t y, bool least) {
    if (std::isnan(f(x))) return bits(f(y));
    if (std::isnan(f(y))) return x;
    return less(f(x), f(y)) == least ? x : y;
  };
  expect_equal("min.f32 %f10, %f1, %f2;", [of](auto x, auto y, auto) { return of(x, y, true); });
  expect_equal("max.f32 %f10, %f1, %f2;",
               [of, less](auto x, auto y, auto) { return x == y && !std::isnan(f(x)) ? x : of(x, y, false); });
  expect_equal("abs.f32 %f10, %f1;", [](auto x, auto, auto) { return x & 0x7fffffff; });
}

double rounded(double value, const std::string& how) {
  if (how == "rni") return std::nearbyint(value);
  if (how == "rzi") return std::trunc(value);
  return how == "rmi" ? std::floor(value) : std::ceil(value);
}

TEST(VirtualFloat, FloatToIntegerSaturates) {
  for (const std::string how : {"rni", "rzi", "rmi", "rpi"}) {
    const auto to = [how](uint32_t x, double least, double most) -> int64_t {
      if (std::isnan(f(x))) return 0;
      return static_cast<int64_t>(std::clamp(rounded(f(x), how), least, most));
    };
    expect_equal("cvt." + how + ".s32.f32 %r10, %f1;",
                 [=](auto x, auto, auto) { return static_cast<uint32_t>(to(x, -2147483648.0, 2147483647.0)); });
    expect_equal("cvt." + how + ".u32.f32 %r10, %f1;",
                 [=](auto x, auto, auto) { return static_cast<uint32_t>(to(x, 0.0, 4294967295.0)); });
    expect_equal("cvt." + how + ".sat.s8.f32 %r10, %f1;",
                 [=](auto x, auto, auto) { return static_cast<uint32_t>(to(x, -128.0, 127.0)); });
    expect_equal("cvt." + how + ".sat.u8.f32 %r10, %f1;",
                 [=](auto x, auto, auto) { return static_cast<uint32_t>(to(x, 0.0, 255.0)); });
    expect_equal("cvt." + how + ".f32.f32 %f10, %f1;",
                 [=](auto x, auto, auto) { return bits(static_cast<float>(rounded(f(x), how))); });
  }
  expect_equal("cvt.rzi.s64.f32 %rd12, %f1; shr.u64 %rd13, %rd12, 32; cvt.u32.u64 %r10, %rd13;",
               [](auto x, auto, auto) {
                 const float value = f(x);
                 const int64_t whole = std::isnan(value) || value < -9.223372e18f ? INT64_MIN
                                       : value >= 9.223372e18f                    ? INT64_MAX
                                                                                  : static_cast<int64_t>(value);
                 return static_cast<uint32_t>(static_cast<uint64_t>(whole) >> 32);
               });
}

TEST(VirtualFloat, IntegerToFloatRounds) {
  const auto directed = [](int64_t value, const std::string& how) {
    const float near = static_cast<float>(value);
    const auto back = static_cast<double>(near), exact = static_cast<double>(value);  // exact below 2^53
    const bool up = how == "rp" || (how == "rz" && value < 0), down = how == "rm" || (how == "rz" && value > 0);
    if (up && back < exact) return bits(std::nextafterf(near, INFINITY));
    if (down && back > exact) return bits(std::nextafterf(near, -INFINITY));
    return bits(near);
  };
  for (const std::string how : {"rn", "rz", "rm", "rp"}) {
    expect_equal(
        "cvt." + how + ".f32.s32 %f10, %r1;",
        [=](auto x, auto, auto) { return directed(static_cast<int32_t>(x), how); }, true);
    expect_equal(
        "cvt." + how + ".f32.u32 %f10, %r1;", [=](auto x, auto, auto) { return directed(x, how); }, true);
  }
  expect_equal(
      "cvt.rn.f32.s8 %f10, %r1;", [](auto x, auto, auto) { return bits(static_cast<int8_t>(x)); }, true);
  expect_equal(
      "mul.wide.u32 %rd12, %r1, 1048577; cvt.rn.f32.u64 %f10, %rd12;",
      [](auto x, auto, auto) { return bits(static_cast<float>(static_cast<long double>(uint64_t{x} * 1048577))); },
      true);
}

TEST(VirtualFloat, ComparisonsWithNan) {
  const auto check = [](const std::string& how, const std::function<bool(float, float)>& holds) {
    expect_equal("setp." + how + ".f32 %p1, %f1, %f2; selp.u32 %r10, 1, 0, %p1;",
                 [=](auto x, auto y, auto) { return holds(f(x), f(y)) ? 1u : 0u; });
  };
  check("lt", [](float a, float b) { return a < b; });
  check("ne", [](float a, float b) { return !std::isnan(a) && !std::isnan(b) && a != b; });
  check("neu", [](float a, float b) { return std::isnan(a) || std::isnan(b) || a != b; });
  check("equ", [](float a, float b) { return std::isnan(a) || std::isnan(b) || a == b; });
  check("geu", [](float a, float b) { return !(a < b); });
  check("num", [](float a, float b) { return !std::isnan(a) && !std::isnan(b); });
  check("nan", [](float a, float b) { return std::isnan(a) || std::isnan(b); });
}

}  // namespace
}  // namespace warpwright
