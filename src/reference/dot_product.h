// Exact integer dot products of centred codes, the inner loop of conv2d and dense.
#pragma once

#include <cstdint>

namespace warpwright {

/// Reductions are padded with zeros to a multiple of this.
inline constexpr int64_t kDotUnit = 16;

/// sums[i * 4 + j] = x row i times w row j, wrapping, for `x_rows` (1 or 2) rows of x and 4 rows of w. Rows are
/// `length` long (a multiple of kDotUnit) and lie one behind the other; elements lie in [-255, 255].
void dot_rows(const int16_t* x, int x_rows, const int16_t* w, int64_t length, int32_t* sums);

/// to[i] = from[i] - zero_point.
void centre(const int8_t* from, int64_t count, int32_t zero_point, int16_t* to);
void centre(const uint8_t* from, int64_t count, int32_t zero_point, int16_t* to);

}  // namespace warpwright
