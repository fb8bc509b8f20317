// The two float32 steps that every requantization ends with, as src/core/workload.h writes them.
#pragma once

#include <cmath>
#include <cstdint>

namespace warpwright {

/// fmin(fmax(v, lo), hi); NaN gives lo. Selects, so that loops over it become vector instructions.
inline float clamp_float(float v, float lo, float hi) {
  const float raised = v > lo ? v : lo;
  return raised < hi ? raised : hi;
}

/// Round half to even under the default rounding mode; `v` must lie within int32.
inline int32_t round_to_int(float v) { return static_cast<int32_t>(std::nearbyint(v)); }

/// Sum that wraps around as two's complement.
inline int32_t wrapping_add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

}  // namespace warpwright
