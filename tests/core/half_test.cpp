// float16: every value both ways, and what lies between two of them.
#include "src/core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace warpwright {
namespace {

TEST(Half, EveryValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float real = from_half(half);
    if ((half & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(real));
      EXPECT_EQ(to_half(real), 0x7fff);
    } else {
      EXPECT_EQ(to_half(real), half);
    }
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(from_half(0x3c00), 1.0f);
  EXPECT_EQ(from_half(0x3555), 0.333251953125f);
  EXPECT_EQ(from_half(0x7bff), 65504.0f);
  EXPECT_EQ(from_half(0x0400), 0x1p-14f);
  EXPECT_EQ(from_half(0x0001), 0x1p-24f);
  EXPECT_EQ(from_half(0x83ff), -1023 * 0x1p-24f);
  EXPECT_EQ(from_half(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(from_half(0x8000)));
}

TEST(Half, NearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto below = static_cast<uint16_t>(bits), above = static_cast<uint16_t>(bits + 1);
    const float middle = (from_half(below) + from_half(above)) / 2;  // exact
    EXPECT_EQ(to_half(middle), bits % 2 == 0 ? below : above);
    EXPECT_EQ(to_half(std::nextafter(middle, 0.0f)), below);
    EXPECT_EQ(to_half(std::nextafter(middle, 1e9f)), above);
    EXPECT_EQ(to_half(-middle), 0x8000 | (bits % 2 == 0 ? below : above));
  }
}

TEST(Half, BeyondTheLargest) {
  EXPECT_EQ(to_half(65519.99f), 0x7bff);
  EXPECT_EQ(to_half(65520.0f), 0x7c00);
  EXPECT_EQ(to_half(-1e30f), 0xfc00);
  EXPECT_EQ(to_half(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(to_half(1e-30f), 0);
  EXPECT_EQ(to_half(-1e-40f), 0x8000);
}

}  // namespace
}  // namespace warpwright
