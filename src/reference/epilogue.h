// Epilogue: from int32 accumulators to outputs, as src/core/workload.h gives it at conv2d.
#pragma once

#include <cstdint>
#include <vector>

#include "src/reference/operators.h"

namespace warpwright {

class EpilogueStep {
 public:
  explicit EpilogueStep(const Operation& operation);

  /// Writes output channels [first, first + count) of one pixel from their accumulators.
  void write(int64_t n, int64_t p, int64_t q, int64_t first, int64_t count, const int32_t* accumulators) const;

 private:
  struct Constants {
    float lo = 0, hi = 0, conv_scale = 0, residual_scale = 0, y_scale = 0, sum_lo = 0, sum_hi = 0;
    int32_t residual_zero_point = 0, y_zero_point = 0;
  };
  static constexpr int64_t kBatch = 64;

  static void requantize_plain(const Constants& constants, const int32_t* bias, const float* multiplier, int64_t count,
                               const int32_t* accumulators, int32_t* codes);
  static void requantize_residual(const Constants& constants, bool rounded, const int32_t* bias,
                                  const float* multiplier, const int32_t* residual, int64_t count,
                                  const int32_t* accumulators, int32_t* codes);
  void read_residual(int64_t n, int64_t p, int64_t q, int64_t first, int64_t count, int32_t* to) const;
  void write_accumulators(int64_t offset, int64_t stride, int64_t first, int64_t count,
                          const int32_t* accumulators) const;
  void store(int64_t offset, int64_t stride, int64_t count, const int32_t* codes) const;

  const Operation& operation_;
  Constants constants_;
  std::vector<int32_t> bias_;
  const float* multiplier_ = nullptr;
  const uint8_t* table_ = nullptr;
};

}  // namespace warpwright
