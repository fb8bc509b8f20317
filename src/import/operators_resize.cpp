// Resize and Upsample: by the nearest element a movement of any type, else weighted sums of float32 or of codes.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.h"
#include "src/import/operator_list.h"
#include "src/import/resize_weights.h"

namespace warpwright {

namespace {

/// What is resized, dimension by dimension. Exactly one of scales and sizes holds values.
struct Resize {
  std::vector<AxisResize> axes;
  Shape shape;
};

struct ResizeInputs {
  std::vector<size_t> axes;
  std::vector<float> scales, roi;
  std::vector<int64_t> sizes;
  std::string policy = "stretch";
};

/// Sizes that keep the aspect ratio: one scale for all axes.
void keep_aspect_ratio(const Shape& x, const ResizeInputs& inputs, Resize& resize) {
  float scale = inputs.policy == "not_larger" ? INFINITY : 0.0f;
  for (size_t i = 0; i < inputs.axes.size(); ++i) {
    const float own = static_cast<float>(inputs.sizes[i]) / static_cast<float>(x[inputs.axes[i]]);
    scale = inputs.policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (const size_t axis : inputs.axes) {
    resize.axes[axis].scale = scale;
    resize.shape[axis] = static_cast<int64_t>(std::round(scale * static_cast<float>(x[axis])));
  }
}

Resize read_resize(const Shape& x, const ResizeInputs& inputs) {
  const size_t count = inputs.axes.size();
  const bool by_sizes = !inputs.sizes.empty();
  if ((by_sizes ? inputs.sizes.size() : inputs.scales.size()) != count || (by_sizes && !inputs.scales.empty())) {
    throw UsageError(
        fmt::format("{} scales and {} sizes for {} dimensions", inputs.scales.size(), inputs.sizes.size(), count));
  }
  Resize resize{std::vector<AxisResize>(x.size()), x};
  for (size_t i = 0; i < count; ++i) {
    const auto from = static_cast<float>(x[inputs.axes[i]]);
    AxisResize& axis = resize.axes[inputs.axes[i]];
    axis.scale = by_sizes ? static_cast<float>(inputs.sizes[i]) / from : inputs.scales[i];
    if (!(axis.scale > 0) || !(from * axis.scale < 2147483648.0f))
      throw UsageError(fmt::format("scale {}", axis.scale));
    resize.shape[inputs.axes[i]] = by_sizes ? inputs.sizes[i] : static_cast<int64_t>(std::floor(from * axis.scale));
    if (inputs.roi.empty()) continue;
    for (const float value : inputs.roi) {
      if (!(std::fabs(value) < 1e6f)) throw UsageError(fmt::format("a roi of {}", value));
    }
    if (inputs.roi.size() != 2 * count) throw UsageError(fmt::format("a roi of {} values", inputs.roi.size()));
    axis.start = inputs.roi[i];
    axis.end = inputs.roi[i + count];
  }
  if (inputs.policy != "stretch") {
    if (!by_sizes || (inputs.policy != "not_larger" && inputs.policy != "not_smaller")) {
      throw UsageError(fmt::format("keep_aspect_ratio_policy {} is not supported", inputs.policy));
    }
    keep_aspect_ratio(x, inputs, resize);
  }
  check_shape(resize.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    resize.axes[i].from = x[i];
    resize.axes[i].to = resize.shape[i];
  }
  return resize;
}

/// By regular steps where all axes allow it, else axis by axis by indices.
void finish_nearest(OperatorContext& context, const ResizeRule& rule, const Resize& resize) {
  const Shape x = context.input_tensor(0).shape;
  std::vector<std::vector<int64_t>> indices;
  bool regular = true;
  for (const AxisResize& axis : resize.axes) {
    indices.push_back(nearest_indices(rule, axis));
    regular &= are_regular(indices.back());
  }
  const DType dtype = context.input_tensor(0).dtype;
  if (regular) {
    const Movement from = whole(x);
    Movement movement;
    for (size_t i = 0; i < x.size(); ++i) take_indices(movement, from.axes[i], indices[i]);
    return context.finish(move_node(movement), {context.input(0)}, dtype, Shape(resize.shape));
  }
  TensorId y = context.input(0);
  for (size_t i = 0; i < x.size(); ++i) {
    if (resize.axes[i].from == resize.axes[i].to && are_regular(indices[i]) && indices[i].back() == x[i] - 1) continue;
    y = picked(context, y, i, indices[i], fmt::format("axis{}", i));
  }
  Node identity;
  context.finish(std::move(identity), {y}, dtype, Shape(resize.shape));
}

bool is_resized(const AxisResize& axis) { return axis.from != axis.to || axis.scale != 1.0f; }

/// One axis or two neighbours, as the height and width of [before, 1, h, w] or of [before, 1, w, behind].
TensorId resample(OperatorContext& context, TensorId x, const ResizeRule& rule, const Resize& resize, size_t first,
                  size_t count) {
  const Shape from = context.graph.tensor(x).shape;
  const auto before = element_count(Shape(from.begin(), from.begin() + static_cast<int64_t>(first)));
  const auto behind = element_count(Shape(from.begin() + static_cast<int64_t>(first + count), from.end()));
  const AxisResize h = resize.axes[first];
  const AxisResize w = count == 2 ? resize.axes[first + 1] : AxisResize{behind, behind, 1.0f, 0.0f, 1.0f};
  Node node = step_node(OpKind::resample);
  const auto place = [&](const AxisResize& axis, const std::string& name, int64_t& taps) {
    take_bytes(context.graph, axis.to * 8);
    ResizeWeights weights{1, {}, std::vector<float>(static_cast<size_t>(axis.to), 1.0f), {}};
    for (int64_t i = 0; i < axis.to; ++i) weights.indices.push_back(static_cast<int32_t>(i));
    if (is_resized(axis)) weights = resize_weights(rule, axis);
    taps = weights.taps;
    node.values[name + "_index"] = vector_s32(weights.indices);
    node.values[name + "_weight"] = vector_f32(weights.weights);
  };
  place(h, "h", node.workload.h_taps);
  place(w, "w", node.workload.w_taps);
  const std::string suffix = fmt::format("axis{}", first);
  x = reshaped(context, x, {before, 1, h.from, w.from}, suffix + "_image");
  x = context.add_inner(std::move(node), {x}, DType::f32, {before, 1, h.to, w.to}, suffix);
  Shape shape = from;
  for (size_t i = first; i < first + count; ++i) shape[i] = resize.axes[i].to;
  return reshaped(context, x, std::move(shape), suffix + "_resized");
}

/// The value of tf_crop_and_resize where an element lies outside the image.
TensorId extrapolated(OperatorContext& context, TensorId y, const ResizeRule& rule, const Resize& resize) {
  Formula formula(context.graph);
  Term value = formula.tensor(y);
  for (size_t i = 0; i < resize.axes.size(); ++i) {
    if (!is_resized(resize.axes[i])) continue;
    const ResizeWeights weights = resize_weights(rule, resize.axes[i]);
    Shape shape(resize.axes.size() - i, 1);
    shape[0] = resize.axes[i].to;
    Tensor outside(DType::boolean, shape);
    for (size_t k = 0; k < weights.outside.size(); ++k) outside.bytes[k] = static_cast<std::byte>(weights.outside[k]);
    const Term mask = formula.tensor(add_constant(context, std::move(outside), "outside"));
    value = select(mask, formula.real(rule.extrapolation_value), value);
  }
  return add_formula(context, formula, value, "extrapolated");
}

/// Throws UsageError where codes are not resized here as ONNX Runtime resizes them.
void require_linear_of_codes(const ResizeRule& rule, const Resize& resize) {
  if (rule.mode != "linear" || rule.antialias) throw UsageError("8-bit codes are resized by mode linear alone");
  if (rule.coordinates == "tf_crop_and_resize" || rule.coordinates == "half_pixel_symmetric") {
    throw UsageError(fmt::format("8-bit codes by the coordinates {} are not supported", rule.coordinates));
  }
  const size_t rank = resize.axes.size();
  bool is_plane = rank == 2 || rank == 4;
  for (size_t i = 0; i + 2 < rank; ++i) is_plane = is_plane && !is_resized(resize.axes[i]);
  if (!is_plane) throw UsageError("8-bit codes are resized along the last two of 2 or 4 dimensions alone");
}

/// Linear interpolation of codes as ONNX Runtime does it: four neighbours, each by the product of its weights, summed
/// one by one in float32 and cut off towards zero, which keeps each rounding of the sum in sight.
void finish_linear_of_codes(OperatorContext& context, const ResizeRule& rule, const Resize& resize) {
  require_linear_of_codes(rule, resize);
  const size_t h = resize.axes.size() - 2, w = h + 1;
  const LinearNeighbours rows = linear_neighbours(rule, resize.axes[h]);
  const LinearNeighbours columns = linear_neighbours(rule, resize.axes[w]);
  const TensorId x = context.input(0);
  const DType dtype = context.graph.tensor(x).dtype;
  Formula formula(context.graph);
  const auto weights = [&](const std::vector<float>& values, Shape shape) {
    Tensor tensor = vector_f32(values);
    tensor.shape = std::move(shape);
    return formula.tensor(add_constant(context, std::move(tensor), "weights"));
  };
  const Shape as_rows{resize.axes[h].to, 1}, as_columns{resize.axes[w].to};
  const Term above = weights(rows.first_weight, as_rows), below = weights(rows.second_weight, as_rows);
  const Term left = weights(columns.first_weight, as_columns), right = weights(columns.second_weight, as_columns);
  const TensorId upper = picked(context, x, h, rows.first, "above"),
                 lower = picked(context, x, h, rows.second, "below");
  const auto part = [&](TensorId row, const std::vector<int64_t>& indices, const char* suffix, Term by_column,
                        Term by_row) {
    const Term codes = formula.tensor(picked(context, row, w, indices, suffix));
    return by_column * by_row * converted(codes, DType::f32);
  };
  Term sum = part(upper, columns.first, "above_left", left, above);
  sum = sum + part(upper, columns.second, "above_right", right, above);
  sum = sum + part(lower, columns.first, "below_left", left, below);
  sum = sum + part(lower, columns.second, "below_right", right, below);
  finish_formula(context, formula, converted(sum, dtype));
}

void finish_weighted(OperatorContext& context, const ResizeRule& rule, const Resize& resize) {
  if (is_code(context.input_tensor(0).dtype)) return finish_linear_of_codes(context, rule, resize);
  require_real(context.input_tensor(0));
  TensorId y = context.input(0);
  const size_t rank = resize.axes.size();
  size_t end = rank;
  // The last two axes in one step, others one by one.
  if (rank >= 2 && is_resized(resize.axes[rank - 1])) {
    end = rank - 2;
    y = resample(context, y, rule, resize, end, 2);
  }
  for (size_t i = 0; i < end; ++i) {
    if (is_resized(resize.axes[i])) y = resample(context, y, rule, resize, i, 1);
  }
  if (rule.coordinates == "tf_crop_and_resize") y = extrapolated(context, y, rule, resize);
  Node identity;
  context.finish(std::move(identity), {y}, DType::f32, Shape(resize.shape));
}

void finish_resize(OperatorContext& context, const ResizeRule& rule, const ResizeInputs& inputs) {
  const Resize resize = read_resize(context.input_tensor(0).shape, inputs);
  constexpr int64_t kTableBytes = 32;  // four taps of an element, or four elements under a tap
  for (const AxisResize& axis : resize.axes) take_bytes(context.graph, kTableBytes * (axis.from + axis.to));
  if (rule.mode != "nearest" && rule.mode != "linear" && rule.mode != "cubic") {
    throw UsageError(fmt::format("mode {} is not supported", rule.mode));
  }
  if (rule.mode == "nearest" && rule.coordinates != "tf_crop_and_resize") return finish_nearest(context, rule, resize);
  if (rule.mode == "nearest") throw UsageError("tf_crop_and_resize by the nearest element is not supported");
  finish_weighted(context, rule, resize);
}

}  // namespace

void import_resize(OperatorContext& context) {
  const size_t rank = context.input_tensor(0).shape.size();
  ResizeRule rule;
  rule.mode = context.attributes.text("mode", "nearest");
  ResizeInputs inputs;
  inputs.axes = normalized_axes(std::nullopt, rank);
  if (context.opset < 11) {
    context.require_inputs(2, 2);
    inputs.scales = constant_reals(context, 1);
    return finish_resize(context, rule, inputs);
  }
  context.require_inputs(1, 4);
  rule.coordinates = context.attributes.text("coordinate_transformation_mode", "half_pixel");
  rule.nearest = context.attributes.text("nearest_mode", "round_prefer_floor");
  rule.cubic_coefficient = context.attributes.real("cubic_coeff_a", -0.75f);
  rule.exclude_outside = context.attributes.integer("exclude_outside", 0) != 0;
  rule.antialias = context.attributes.integer("antialias", 0) != 0 && rule.mode != "nearest";
  rule.extrapolation_value = context.attributes.real("extrapolation_value", 0.0f);
  inputs.policy = context.attributes.text("keep_aspect_ratio_policy", "stretch");
  if (context.attributes.has("axes")) inputs.axes = normalized_axes(context.attributes.integers("axes"), rank);
  if (context.has_input(1) && rule.coordinates == "tf_crop_and_resize") inputs.roi = constant_reals(context, 1);
  if (context.has_input(2)) inputs.scales = constant_reals(context, 2);
  if (context.has_input(3)) inputs.sizes = constant_integers(context, 3);
  finish_resize(context, rule, inputs);
}

void import_upsample(OperatorContext& context) {
  context.require_inputs(1, 2);
  ResizeRule rule;
  rule.mode = context.attributes.text("mode", "nearest");
  ResizeInputs inputs;
  inputs.axes = normalized_axes(std::nullopt, context.input_tensor(0).shape.size());
  inputs.scales = context.has_input(1) ? constant_reals(context, 1) : context.attributes.reals("scales");
  finish_resize(context, rule, inputs);
}

}  // namespace warpwright
