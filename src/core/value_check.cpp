// ValueCheck: type, length and range of one value.
#include "src/core/value_check.h"

#include <fmt/core.h>

#include <cmath>

#include "src/core/workload_check.h"

namespace warpwright {

const Tensor& ValueCheck::take(const std::string& name, DType dtype, int64_t length) {
  auto found = values_.find(name);
  require(found != values_.end(), fmt::format("value '{}' is missing", name));
  const Tensor& value = found->second;
  require(value.dtype == dtype && value.size() == length && element_count(value.shape) == length,
          fmt::format("value '{}' must be {} of {} elements", name, warpwright::name(dtype), length));
  ++taken_;
  return value;
}

void ValueCheck::scale(const std::string& name) {
  float value = take(name, DType::f32, 1).as<float>()[0];
  require(std::isfinite(value) && value > 0, fmt::format("value '{}' must be finite and positive", name));
}

void ValueCheck::zero_point(const std::string& name, DType dtype) {
  int32_t value = take(name, DType::s32, 1).as<int32_t>()[0];
  require(value >= code_min(dtype) && value <= code_max(dtype),
          fmt::format("value '{}' = {} is no {} code", name, value, warpwright::name(dtype)));
}

void ValueCheck::bounds(const std::string& lo_name, const std::string& hi_name,
                        std::optional<std::pair<DType, int32_t>> code) {
  float lo = take(lo_name, DType::f32, 1).as<float>()[0];
  float hi = take(hi_name, DType::f32, 1).as<float>()[0];
  require(lo <= hi && std::nearbyint(lo) == lo && std::nearbyint(hi) == hi,
          fmt::format("values '{}' and '{}' must be ordered integers", lo_name, hi_name));
  if (!code) {
    require(lo >= -255 && hi <= 255, fmt::format("values '{}' and '{}' exceed 255", lo_name, hi_name));
  } else {
    auto [dtype, zero_point] = *code;
    require(static_cast<int32_t>(lo) + zero_point >= code_min(dtype) &&
                static_cast<int32_t>(hi) + zero_point <= code_max(dtype),
            fmt::format("values '{}' and '{}' leave the {} codes", lo_name, hi_name, warpwright::name(dtype)));
  }
}

void ValueCheck::done() const { require(taken_ == values_.size(), "values that the kind does not know"); }

}  // namespace warpwright
