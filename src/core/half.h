// float16 (IEEE binary16) as bits, to float32 and back.
#pragma once

#include <bit>
#include <cstdint>

namespace warpwright {

/// Exact.
inline float from_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffU, shifted = magnitude << 13;
  const float finite = std::bit_cast<float>(shifted) * 0x1p112f;
  const uint32_t bits = magnitude < 0x7c00U ? std::bit_cast<uint32_t>(finite) : shifted | 0x7f800000U;
  return std::bit_cast<float>(bits | (half & 0x8000U) << 16);
}

/// The nearest, half to even; from 65520 on infinity. NaN is 0x7fff.
inline uint16_t to_half(float real) {
  const auto bits = std::bit_cast<uint32_t>(real);
  const uint32_t magnitude = bits & 0x7fffffffU, sign = bits >> 16 & 0x8000U;
  if (magnitude > 0x7f800000U) return 0x7fff;
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);
  // Below 2^-14 the last bit of x + 0.5 is that of a subnormal float16.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000U;
  const uint32_t normal = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  return static_cast<uint16_t>(sign | (magnitude < 0x38800000U ? small : normal));
}

}  // namespace warpwright
