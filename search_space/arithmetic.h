// Small integer arithmetic of shapes and tiles.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace warpwright {

constexpr int64_t ceil_div(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
constexpr int64_t round_up(int64_t value, int64_t unit) { return ceil_div(value, unit) * unit; }
/// The smallest power of two that is at least `value` (>= 1).
constexpr int64_t power_of_two_above(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
}
/// The largest power of two up to `most` that divides every value; 0 counts as divisible.
template <typename... Values>
constexpr int64_t common_power_of_two(int64_t most, Values... values) {
  int64_t unit = most;
  while (unit > 1 && ((values % unit != 0) || ...)) unit /= 2;
  return unit;
}

/// 1, 2, 4 ... times `least`, up to `most`.
inline std::vector<int64_t> powers_of_two(int64_t least, int64_t most) {
  std::vector<int64_t> values;
  for (int64_t value = least; value <= most; value *= 2) values.push_back(value);
  return values;
}

}  // namespace warpwright
