// Element by element.
#include "src/cli/comparison.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "src/core/error.h"
#include "src/core/half.h"

namespace warpwright {
namespace {

double distance(float got, float expected) {
  if (std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected)) return 0;
  if (std::isnan(got) != std::isnan(expected)) return std::numeric_limits<double>::infinity();
  return std::isnan(got) ? 0 : std::abs(static_cast<double>(got) - static_cast<double>(expected));
}

bool fits(float got, float expected, const Tolerance& tolerance) {
  if (std::isnan(got) && std::isnan(expected)) return true;
  if (std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected)) return true;
  if (tolerance.rtol == 0 && tolerance.atol == 0) return false;
  const double allowed = tolerance.atol + tolerance.rtol * std::abs(static_cast<double>(expected));
  return distance(got, expected) <= allowed;
}

template <typename Integer>
double distance(Integer got, Integer expected) {
  // Exact before it becomes a double, so that it is 0 of equal numbers alone.
  const __int128 difference = static_cast<__int128>(got) - expected;
  return static_cast<double>(difference < 0 ? -difference : difference);
}

template <typename Integer>
bool fits(Integer got, Integer expected, const Tolerance& tolerance) {
  return distance(got, expected) <= static_cast<double>(tolerance.lsb);
}

template <typename Element>
std::string value_text(Element value) {
  if constexpr (std::is_same_v<Element, float>) return fmt::format("{}", value);
  return fmt::format("{}", static_cast<int64_t>(value));
}

template <typename Element>
Difference compare_elements(const Tensor& got, const Tensor& expected, const Tolerance& tolerance) {
  const auto ours = got.as<Element>();
  const auto theirs = expected.as<Element>();
  Difference difference;
  difference.elements = static_cast<int64_t>(ours.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    difference.largest = std::max(difference.largest, distance(ours[i], theirs[i]));
    if (fits(ours[i], theirs[i], tolerance)) continue;
    if (difference.wrong++ > 0) continue;
    difference.first_wrong = static_cast<int64_t>(i);
    difference.got = value_text(ours[i]);
    difference.expected = value_text(theirs[i]);
  }
  return difference;
}

/// A tensor of f16 as f32.
Tensor widened(const Tensor& halves) {
  Tensor tensor(DType::f32, halves.shape);
  std::ranges::transform(halves.as<uint16_t>(), tensor.as<float>().begin(), from_half);
  return tensor;
}

}  // namespace

Difference compare(const std::string& what, const Tensor& got, const Tensor& expected, const Tolerance& tolerance) {
  if (got.dtype != expected.dtype) {
    throw UsageError(fmt::format("{}: expected type {}, got {}", what, name(expected.dtype), name(got.dtype)));
  }
  if (got.shape != expected.shape) {
    throw UsageError(fmt::format("{}: expected shape [{}], got [{}]", what, fmt::join(expected.shape, ","),
                                 fmt::join(got.shape, ",")));
  }
  switch (got.dtype) {
    case DType::s8:
      return compare_elements<int8_t>(got, expected, tolerance);
    case DType::u8:
      return compare_elements<uint8_t>(got, expected, tolerance);
    case DType::s32:
      return compare_elements<int32_t>(got, expected, tolerance);
    case DType::f32:
      return compare_elements<float>(got, expected, tolerance);
    case DType::f16:
      return compare_elements<float>(widened(got), widened(expected), tolerance);
    case DType::s64:
      return compare_elements<int64_t>(got, expected, tolerance);
    case DType::boolean:
      return compare_elements<uint8_t>(got, expected, tolerance);
  }
  throw InternalError("unknown element type");
}

std::string index_text(const Shape& shape, int64_t linear) {
  Shape index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t extent = std::max<int64_t>(shape[i], 1);
    index[i] = linear % extent;
    linear /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

Json to_json(const Difference& difference, const Shape& shape) {
  Json json{{"elements", difference.elements}, {"wrong", difference.wrong}};
  json["largest_difference"] = std::isfinite(difference.largest) ? Json(difference.largest) : Json("nan");
  if (difference.wrong > 0) {
    json["first_wrong"] = {{"index", index_text(shape, difference.first_wrong)},
                           {"got", difference.got},
                           {"expected", difference.expected}};
  }
  return json;
}

}  // namespace warpwright
