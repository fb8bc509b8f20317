// Coordinates, nearest elements, linear and cubic weights.
#include "src/import/resize_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.h"

namespace warpwright {

namespace {

float original_coordinate(const std::string& rule, int64_t index, const AxisResize& axis) {
  const auto x = static_cast<float>(index), from = static_cast<float>(axis.from), to = static_cast<float>(axis.to);
  const float scale = axis.scale;
  if (rule == "asymmetric") return x / scale;
  if (rule == "half_pixel") return (x + 0.5f) / scale - 0.5f;
  if (rule == "pytorch_half_pixel") return axis.to > 1 ? (x + 0.5f) / scale - 0.5f : 0.0f;
  if (rule == "tf_half_pixel_for_nn") return (x + 0.5f) / scale;
  if (rule == "align_corners") return axis.to == 1 ? 0.0f : x * (from - 1) / (to - 1);
  if (rule == "half_pixel_symmetric") {
    // The scale may differ from the ratio of the extents; the middle stays the middle.
    const float adjustment = to / (scale * from);
    return from / 2 * (1 - adjustment) + (x + 0.5f) / scale - 0.5f;
  }
  if (rule == "tf_crop_and_resize") {
    if (axis.to == 1) return 0.5f * (axis.start + axis.end) * (from - 1);
    return axis.start * (from - 1) + x * (axis.end - axis.start) * (from - 1) / (to - 1);
  }
  throw UsageError(fmt::format("coordinate_transformation_mode {} is not supported", rule));
}

float nearest(const std::string& rule, float x) {
  if (rule == "floor") return std::floor(x);
  if (rule == "ceil") return std::ceil(x);
  if (rule == "round_prefer_floor") return std::ceil(x - 0.5f);
  if (rule == "round_prefer_ceil") return std::round(x);  // below 0 all is clamped
  throw UsageError(fmt::format("nearest_mode {} is not supported", rule));
}

double linear(double distance) { return std::max(0.0, 1.0 - std::fabs(distance)); }

double cubic(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

}  // namespace

std::vector<int64_t> nearest_indices(const ResizeRule& rule, const AxisResize& axis) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < axis.to; ++i) {
    const float x = nearest(rule.nearest, original_coordinate(rule.coordinates, i, axis));
    indices.push_back(std::clamp<int64_t>(static_cast<int64_t>(x), 0, axis.from - 1));
  }
  return indices;
}

LinearNeighbours linear_neighbours(const ResizeRule& rule, const AxisResize& axis) {
  LinearNeighbours result;
  for (int64_t i = 0; i < axis.to; ++i) {
    const float given = axis.scale == 1.0f ? static_cast<float>(i) : original_coordinate(rule.coordinates, i, axis);
    const float x = std::clamp(given, 0.0f, static_cast<float>(axis.from - 1));
    const auto first = static_cast<int64_t>(x), second = std::min(first + 1, axis.from - 1);
    const bool is_one = first == second;
    result.first.push_back(first);
    result.second.push_back(second);
    result.first_weight.push_back(is_one ? 0.5f : std::fabs(x - static_cast<float>(second)));
    result.second_weight.push_back(is_one ? 0.5f : std::fabs(x - static_cast<float>(first)));
  }
  return result;
}

ResizeWeights resize_weights(const ResizeRule& rule, const AxisResize& axis) {
  ResizeWeights result;
  const double stretch = rule.antialias ? std::max(1.0, 1.0 / static_cast<double>(axis.scale)) : 1.0;
  const double reach = (rule.mode == "cubic" ? 2.0 : 1.0) * stretch;
  result.taps = static_cast<int64_t>(std::ceil(2 * reach));
  if (rule.antialias) ++result.taps;
  if (result.taps > axis.from + (1 << 16)) throw UsageError("the antialiasing filter is too large");
  for (int64_t i = 0; i < axis.to; ++i) {
    float x = original_coordinate(rule.coordinates, i, axis);
    const bool outside = rule.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<float>(axis.from - 1));
    result.outside.push_back(outside);
    // Linear interpolation never looks beyond the edge.
    if (rule.mode == "linear" && !rule.antialias) x = std::clamp(x, 0.0f, static_cast<float>(axis.from - 1));
    const auto first = static_cast<int64_t>(std::floor(static_cast<double>(x) - reach)) + 1;
    std::vector<double> weights;
    double sum = 0;
    for (int64_t tap = 0; tap < result.taps; ++tap) {
      const double distance = (static_cast<double>(first + tap) - static_cast<double>(x)) / stretch;
      double weight = rule.mode == "cubic" ? cubic(distance, rule.cubic_coefficient) : linear(distance);
      const bool inside = first + tap >= 0 && first + tap < axis.from;
      if (rule.exclude_outside && !inside) weight = 0;
      weights.push_back(weight);
      sum += weight;
    }
    const bool normalizes = rule.exclude_outside || rule.antialias;
    for (int64_t tap = 0; tap < result.taps; ++tap) {
      const double weight = weights[static_cast<size_t>(tap)];
      result.weights.push_back(static_cast<float>(normalizes && sum != 0 ? weight / sum : weight));
      result.indices.push_back(static_cast<int32_t>(std::clamp<int64_t>(first + tap, 0, axis.from - 1)));
    }
  }
  return result;
}

}  // namespace warpwright
