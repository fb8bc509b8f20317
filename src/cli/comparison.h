// Comparison of tensors: what verify reports.
#pragma once

#include <cstdint>
#include <string>

#include "src/core/json.h"
#include "src/core/tensor.h"

namespace warpwright {

/// All zero: bit for bit, only that every NaN equals every NaN.
struct Tolerance {
  int64_t lsb = 0;            // integer types: steps
  double rtol = 0, atol = 0;  // f32: |got - expected| <= atol + rtol * |expected|
};

struct Difference {
  int64_t elements = 0, wrong = 0;
  int64_t first_wrong = -1;   // linear index
  std::string got, expected;  // there
  double largest = 0;         // |got - expected| over all elements; infinity where one is NaN alone
};

/// Throws UsageError that names `what` when types or shapes differ.
Difference compare(const std::string& what, const Tensor& got, const Tensor& expected, const Tolerance& tolerance);

/// `[0,3,1,7]` of a linear index.
std::string index_text(const Shape& shape, int64_t linear);

Json to_json(const Difference& difference, const Shape& shape);

}  // namespace warpwright
