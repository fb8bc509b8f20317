// A host tensor: element type, shape, bytes in row-major order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/core/dtype.h"

namespace warpwright {

using Shape = std::vector<int64_t>;

/// Product of the extents; throws UsageError on a negative extent or overflow of int64.
int64_t element_count(const Shape& shape);

struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;  // element_count(shape) * size_bytes(dtype)

  Tensor() = default;
  /// Zero-filled.
  Tensor(DType dtype, Shape shape);

  int64_t size() const;
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  bool operator==(const Tensor&) const = default;
};

/// Whether element `index` of two tensors of one type is the same: equal bits, or two NaN of f32.
bool equal_element(const Tensor& a, const Tensor& b, int64_t index);
/// False for a boolean tensor with a byte that is neither 0 nor 1.
bool holds_booleans(const Tensor& tensor);

Tensor scalar_f32(float value);    // shape [1]
Tensor scalar_s32(int32_t value);  // shape [1]
Tensor vector_f32(std::span<const float> values);
Tensor vector_s32(std::span<const int32_t> values);

}  // namespace warpwright
