// Numbers of any type for the naive implementation, and the operations of a map on them.
#pragma once

#include <cstdint>
#include <variant>

#include "src/core/map.h"
#include "src/core/tensor.h"

namespace warpwright::testing {

using Number = std::variant<float, int32_t, int64_t, bool, int8_t, uint8_t, uint16_t>;  // uint16_t: f16

Number number_at(const Tensor& tensor, int64_t index);
void store(Tensor& tensor, int64_t index, const Number& number);

/// NaN if there is one; of two zeros +0 or -0.
float largest(float a, float b);
float smallest(float a, float b);

/// One operation that is no select; of one argument it is a, and b is the same.
Number computed(MapOp op, const Number& a, const Number& b);

}  // namespace warpwright::testing
