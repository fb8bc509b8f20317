// Host tensors.
#include "src/core/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/core/error.h"
#include "src/core/half.h"

namespace warpwright {

namespace {

template <typename T>
Tensor vector_of(DType dtype, std::span<const T> values) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size())});
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), values.size_bytes());
  return tensor;
}

}  // namespace

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) throw UsageError(fmt::format("negative extent {} in a shape", extent));
    if (__builtin_mul_overflow(count, extent, &count)) throw UsageError("a shape has more than 2^63 elements");
  }
  return count;
}

Tensor::Tensor(DType dtype_, Shape shape_) : dtype(dtype_), shape(std::move(shape_)) {
  bytes.resize(static_cast<size_t>(element_count(shape)) * size_bytes(dtype));
}

int64_t Tensor::size() const { return static_cast<int64_t>(bytes.size() / size_bytes(dtype)); }

bool equal_element(const Tensor& a, const Tensor& b, int64_t index) {
  const size_t size = size_bytes(a.dtype), at = static_cast<size_t>(index) * size;
  if (std::memcmp(a.bytes.data() + at, b.bytes.data() + at, size) == 0) return true;
  if (a.dtype == DType::f16) {
    const auto i = static_cast<size_t>(index);
    return std::isnan(from_half(a.as<uint16_t>()[i])) && std::isnan(from_half(b.as<uint16_t>()[i]));
  }
  if (a.dtype != DType::f32) return false;
  return std::isnan(a.as<float>()[static_cast<size_t>(index)]) && std::isnan(b.as<float>()[static_cast<size_t>(index)]);
}

bool holds_booleans(const Tensor& tensor) {
  return tensor.dtype != DType::boolean || std::ranges::all_of(tensor.as<uint8_t>(), [](uint8_t b) { return b <= 1; });
}

Tensor scalar_f32(float value) { return vector_of(DType::f32, std::span<const float>(&value, 1)); }
Tensor scalar_s32(int32_t value) { return vector_of(DType::s32, std::span<const int32_t>(&value, 1)); }
Tensor vector_f32(std::span<const float> values) { return vector_of(DType::f32, values); }
Tensor vector_s32(std::span<const int32_t> values) { return vector_of(DType::s32, values); }

}  // namespace warpwright
