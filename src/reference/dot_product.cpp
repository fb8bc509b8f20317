// Dot products by chunks that cannot overflow, added up wrapping.
#include "src/reference/dot_product.h"

#include <algorithm>

#include "src/reference/rounding.h"
#include "src/reference/target_clones.h"

namespace warpwright {

namespace {

// 255 * 255 * kChunk < 2^31: sums of a chunk stay within int32.
constexpr int64_t kChunk = 32768;

WW_TARGET_CLONES void dot_1x4(const int16_t* x, const int16_t* w, int64_t row, int64_t length, int32_t* sums) {
  const int16_t *w0 = w, *w1 = w + row, *w2 = w + 2 * row, *w3 = w + 3 * row;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int64_t i = 0; i < length / kDotUnit * kDotUnit; ++i) {
    const int32_t a = x[i];
    s0 += a * w0[i];
    s1 += a * w1[i];
    s2 += a * w2[i];
    s3 += a * w3[i];
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

WW_TARGET_CLONES void dot_2x4(const int16_t* x, const int16_t* w, int64_t row, int64_t length, int32_t* sums) {
  const int16_t *x0 = x, *x1 = x + row;
  const int16_t *w0 = w, *w1 = w + row, *w2 = w + 2 * row, *w3 = w + 3 * row;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
  for (int64_t i = 0; i < length / kDotUnit * kDotUnit; ++i) {
    const int32_t a = x0[i], b = x1[i];
    s0 += a * w0[i];
    s1 += a * w1[i];
    s2 += a * w2[i];
    s3 += a * w3[i];
    t0 += b * w0[i];
    t1 += b * w1[i];
    t2 += b * w2[i];
    t3 += b * w3[i];
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
  sums[4] = t0, sums[5] = t1, sums[6] = t2, sums[7] = t3;
}

WW_TARGET_CLONES void centre_s8(const int8_t* from, int64_t count, int16_t zero_point, int16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] - zero_point);
}

WW_TARGET_CLONES void centre_u8(const uint8_t* from, int64_t count, int16_t zero_point, int16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] - zero_point);
}

}  // namespace

void dot_rows(const int16_t* x, int x_rows, const int16_t* w, int64_t length, int32_t* sums) {
  std::fill_n(sums, 4 * x_rows, 0);
  for (int64_t begin = 0; begin < length; begin += kChunk) {
    const int64_t part = std::min(kChunk, length - begin);
    int32_t part_sums[8];
    if (x_rows == 2) {
      dot_2x4(x + begin, w + begin, length, part, part_sums);
    } else {
      dot_1x4(x + begin, w + begin, length, part, part_sums);
    }
    for (int i = 0; i < 4 * x_rows; ++i) sums[i] = wrapping_add(sums[i], part_sums[i]);
  }
}

void centre(const int8_t* from, int64_t count, int32_t zero_point, int16_t* to) {
  centre_s8(from, count, static_cast<int16_t>(zero_point), to);
}

void centre(const uint8_t* from, int64_t count, int32_t zero_point, int16_t* to) {
  centre_u8(from, count, static_cast<int16_t>(zero_point), to);
}

}  // namespace warpwright
