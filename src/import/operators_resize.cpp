// Resize and Upsample by the nearest element: indices as ONNX Runtime computes them, in float32.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

struct ResizeRule {
  std::string coordinates = "asymmetric", nearest = "floor";
};

float original_coordinate(const std::string& rule, int64_t index, float scale, int64_t from, int64_t to) {
  const auto x = static_cast<float>(index);
  if (rule == "asymmetric") return x / scale;
  if (rule == "half_pixel") return (x + 0.5f) / scale - 0.5f;
  if (rule == "pytorch_half_pixel") return to > 1 ? (x + 0.5f) / scale - 0.5f : 0.0f;
  if (rule == "tf_half_pixel_for_nn") return (x + 0.5f) / scale;
  if (rule == "align_corners") {
    return to == 1 ? 0.0f : x * static_cast<float>(from - 1) / static_cast<float>(to - 1);
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

std::vector<int64_t> source_indices(const ResizeRule& rule, float scale, int64_t from, int64_t to) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < to; ++i) {
    const float x = nearest(rule.nearest, original_coordinate(rule.coordinates, i, scale, from, to));
    indices.push_back(std::clamp<int64_t>(static_cast<int64_t>(x), 0, from - 1));
  }
  return indices;
}

std::vector<float> constant_reals(const OperatorContext& context, int index) {
  const OnnxConstant* constant = context.constant_input(index);
  if (!constant || constant->type != kFloat32) {
    throw UsageError(fmt::format("\"{}\" is no constant of float32", context.input_name(index)));
  }
  return elements<float>(*constant);
}

/// By how much each dimension grows, and to what. Exactly one of scales and sizes holds values.
struct Growth {
  std::vector<float> scales;
  Shape shape;
};

Growth growth_of(const Shape& x, const std::vector<size_t>& axes, const std::vector<float>& scales,
                 const std::vector<int64_t>& sizes) {
  if (std::max(scales.size(), sizes.size()) != axes.size() || (!scales.empty() && !sizes.empty())) {
    throw UsageError(fmt::format("{} scales and {} sizes for {} dimensions", scales.size(), sizes.size(), axes.size()));
  }
  Growth growth{std::vector<float>(x.size(), 1.0f), x};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto from = static_cast<float>(x[axes[i]]);
    const float scale = sizes.empty() ? scales[i] : static_cast<float>(sizes[i]) / from;
    if (!(scale > 0) || !(from * scale < 2147483648.0f)) throw UsageError(fmt::format("scale {}", scale));
    growth.scales[axes[i]] = scale;
    growth.shape[axes[i]] = sizes.empty() ? static_cast<int64_t>(std::floor(from * scale)) : sizes[i];
  }
  check_shape(growth.shape);
  return growth;
}

void finish_resize(OperatorContext& context, const ResizeRule& rule, const std::vector<size_t>& axes,
                   const std::vector<float>& scales, const std::vector<int64_t>& sizes) {
  const Shape x = context.input_tensor(0).shape;
  const Growth growth = growth_of(x, axes, scales, sizes);
  const Movement from = whole(x);
  Movement movement;
  for (size_t i = 0; i < x.size(); ++i) {
    take_indices(movement, from.axes[i], source_indices(rule, growth.scales[i], x[i], growth.shape[i]));
  }
  const DType dtype = context.input_tensor(0).dtype;
  context.finish(move_node(movement), {context.input(0)}, dtype, Shape(growth.shape));
}

void require_nearest(OperatorContext& context) {
  const std::string mode = context.attributes.text("mode", "nearest");
  if (mode != "nearest") throw UsageError(fmt::format("mode {} is not supported", mode));
}

}  // namespace

void import_resize(OperatorContext& context) {
  require_nearest(context);
  const size_t rank = context.input_tensor(0).shape.size();
  if (context.opset < 11) {
    context.require_inputs(2, 2);
    return finish_resize(context, {}, normalized_axes(std::nullopt, rank), constant_reals(context, 1), {});
  }
  context.require_inputs(1, 4);
  for (const char* unused : {"cubic_coeff_a", "exclude_outside", "extrapolation_value"}) {
    context.attributes.ignore(unused);
  }
  if (context.attributes.integer("antialias", 0) != 0) throw UsageError("antialias is not supported");
  if (context.attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    throw UsageError("keep_aspect_ratio_policy is not supported");
  }
  const ResizeRule rule{context.attributes.text("coordinate_transformation_mode", "half_pixel"),
                        context.attributes.text("nearest_mode", "round_prefer_floor")};
  std::optional<std::vector<int64_t>> axes;
  if (context.attributes.has("axes")) axes = context.attributes.integers("axes");
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  if (context.has_input(2)) scales = constant_reals(context, 2);
  if (context.has_input(3)) sizes = constant_integers(context, 3);
  finish_resize(context, rule, normalized_axes(axes, rank), scales, sizes);
}

void import_upsample(OperatorContext& context) {
  require_nearest(context);
  context.require_inputs(1, 2);
  const size_t rank = context.input_tensor(0).shape.size();
  const std::vector<float> scales =
      context.has_input(1) ? constant_reals(context, 1) : context.attributes.reals("scales");
  finish_resize(context, {}, normalized_axes(std::nullopt, rank), scales, {});
}

}  // namespace warpwright
