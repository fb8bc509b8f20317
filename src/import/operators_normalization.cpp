// Normalizations in float32: over rows, over channels, by recorded statistics.
#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

float read_epsilon(OperatorContext& context, float otherwise = 1e-5f) {
  const float epsilon = context.attributes.real("epsilon", otherwise);
  if (!(epsilon >= 0) || !std::isfinite(epsilon)) throw UsageError(fmt::format("epsilon is {}", epsilon));
  return epsilon;
}

/// Rows of x normalized, each by itself.
struct RowNormalization {
  Rows rows;
  float epsilon = 0;
  bool centered = true;
};

Node row_node(const RowNormalization& what) {
  Node node = step_node(OpKind::normalize);
  node.workload.rows = what.rows;
  node.workload.centered = what.centered;
  node.values["epsilon"] = scalar_f32(what.epsilon);
  return node;
}

/// Without scale and bias.
TensorId normalized(OperatorContext& context, TensorId x, const RowNormalization& what) {
  take_bytes(context.graph, what.rows.length * 4);
  Tensor ones(DType::f32, {what.rows.length});
  for (float& value : ones.as<float>()) value = 1.0f;
  const TensorId scale = add_constant(context, std::move(ones), "ones");
  Shape shape = context.graph.tensor(x).shape;
  return context.add_inner(row_node(what), {x, scale}, DType::f32, std::move(shape), "normalized");
}

/// Rows behind `axis` normalized, times scale, plus bias: of the shape of a row, or broadcast to x.
void finish_rows(OperatorContext& context, TensorId x, TensorId scale, TensorId bias, const RowNormalization& what) {
  const Shape shape = context.graph.tensor(x).shape;
  const auto fits = [&](TensorId id) {
    return id == kNoTensor ||
           (context.is_derived_from_constants(id) && element_count(context.graph.tensor(id).shape) == what.rows.length);
  };
  if (fits(scale) && fits(bias)) {
    std::vector<TensorId> inputs{x, scale};
    if (bias != kNoTensor) inputs.push_back(bias);
    return context.finish(row_node(what), std::move(inputs), DType::f32, Shape(shape));
  }
  Formula formula(context.graph);
  Term y = formula.tensor(normalized(context, x, what)) * formula.tensor(scale);
  if (bias != kNoTensor) y = y + formula.tensor(bias);
  finish_formula(context, formula, y);
}

/// The rows of x from `axis` on.
RowNormalization rows_from(OperatorContext& context, const Shape& x, bool centered) {
  const int64_t axis = normalized_axis(context.attributes.integer("axis", -1), x.size());
  const auto split = x.begin() + axis;
  return {{element_count(Shape(x.begin(), split)), element_count(Shape(split, x.end())), 1},
          read_epsilon(context),
          centered};
}

/// Mean and variance over these axes, which stay as extents of 1.
struct Statistics {
  TensorId mean = kNoTensor, centred = kNoTensor, variance = kNoTensor;
};

Statistics statistics(OperatorContext& context, TensorId x, const std::vector<size_t>& axes) {
  Statistics result;
  result.mean = reduced(context, x, axes, ReductionOp::mean, "mean");
  Formula difference(context.graph);
  const Term d = difference.tensor(x) - difference.tensor(result.mean);
  result.centred = add_formula(context, difference, d, "centred");
  Formula squared(context.graph);
  const Term c = squared.tensor(result.centred);
  result.variance =
      reduced(context, add_formula(context, squared, c * c, "squares"), axes, ReductionOp::mean, "variance");
  return result;
}

/// Outputs 1 and 2 of LayerNormalization: mean, and 1 / sqrt(variance + epsilon).
void finish_statistics(OperatorContext& context, float epsilon) {
  const TensorId x = context.input(0);
  const size_t rank = context.graph.tensor(x).shape.size();
  std::vector<size_t> axes(rank - static_cast<size_t>(normalized_axis(context.attributes.integer("axis", -1), rank)));
  std::iota(axes.begin(), axes.end(), rank - axes.size());
  const Statistics of_rows = statistics(context, x, axes);
  Shape shape = context.graph.tensor(of_rows.mean).shape;
  Node identity;
  context.finish(std::move(identity), {of_rows.mean}, DType::f32, std::move(shape), 1);
  Formula formula(context.graph);
  const Term deviation = square_root(formula.tensor(of_rows.variance) + epsilon);
  if (context.outputs() > 2) finish_formula(context, formula, reciprocal(deviation), 2);
}

/// normalized * scale + bias, one of each a channel.
void finish_channels(OperatorContext& context, TensorId x, TensorId scale, TensorId bias,
                     const RowNormalization& what) {
  const size_t rank = context.graph.tensor(x).shape.size();
  const TensorId y = normalized(context, x, what);
  Formula formula(context.graph);
  const Term scaled = formula.tensor(y) * formula.tensor(along_channels(context, scale, rank, "scale"));
  finish_formula(context, formula, scaled + formula.tensor(along_channels(context, bias, rank, "bias")));
}

/// One value a channel.
void require_channels(OperatorContext& context, int index, int64_t channels) {
  const GraphTensor& tensor = context.input_tensor(index);
  require_real(tensor);
  if (tensor.shape != Shape{channels}) {
    throw UsageError(fmt::format("\"{}\" has shape {}, {} channels need [{}]", tensor.name, to_text(tensor.shape),
                                 channels, channels));
  }
}

Shape image_shape(OperatorContext& context) {
  const GraphTensor& x = context.input_tensor(0);
  require_real(x);
  if (x.shape.size() < 2) throw UsageError(fmt::format("\"{}\" of shape {} has no channels", x.name, to_text(x.shape)));
  return x.shape;
}

}  // namespace

void import_layer_normalization(OperatorContext& context) {
  context.require_inputs(2, 3);
  context.attributes.ignore("stash_type");
  for (int i = 0; i < 3 && context.has_input(i); ++i) require_real(context.input_tensor(i));
  const RowNormalization what = rows_from(context, context.input_tensor(0).shape, true);
  finish_rows(context, context.input(0), context.input(1), context.has_input(2) ? context.input(2) : kNoTensor, what);
  if (context.outputs() > 1) finish_statistics(context, what.epsilon);
}

void import_rms_normalization(OperatorContext& context) {
  context.require_inputs(2, 2);
  context.attributes.ignore("stash_type");
  for (int i = 0; i < 2; ++i) require_real(context.input_tensor(i));
  const RowNormalization what = rows_from(context, context.input_tensor(0).shape, false);
  finish_rows(context, context.input(0), context.input(1), kNoTensor, what);
}

/// Inputs: x, skip, gamma, beta, bias; outputs: y, mean, deviation (of training), the sum before.
void import_skip_layer_normalization(OperatorContext& context, bool centered) {
  const int beta = centered ? 3 : -1, bias = centered ? 4 : 3;
  context.require_inputs(3, bias + 1);
  for (int i = 0; i <= bias; ++i) {
    if (context.has_input(i)) require_real(context.input_tensor(i));
  }
  Formula formula(context.graph);
  Term sum = formula.tensor(context.input(0)) + formula.tensor(context.input(1));
  if (context.has_input(bias)) sum = sum + formula.tensor(context.input(bias));
  TensorId x = kNoTensor;
  if (context.outputs() > 3) {
    finish_formula(context, formula, sum, 3);
    x = context.output_tensor(3);
  }
  if (x == kNoTensor) x = add_formula(context, formula, sum, "sum");
  const Shape& shape = context.graph.tensor(x).shape;
  const Rows rows{element_count(shape) / shape.back(), shape.back(), 1};
  const RowNormalization what{rows, read_epsilon(context, 1e-12f), centered};
  const bool has_beta = beta > 0 && context.has_input(beta);
  finish_rows(context, x, context.input(2), has_beta ? context.input(beta) : kNoTensor, what);
}

void import_instance_normalization(OperatorContext& context) {
  context.require_inputs(3, 3);
  const Shape x = image_shape(context);
  for (int i = 1; i < 3; ++i) require_channels(context, i, x[1]);
  const int64_t rows = x[0] * x[1];
  const RowNormalization what{{rows, element_count(x) / rows, 1}, read_epsilon(context), true};
  finish_channels(context, context.input(0), context.input(1), context.input(2), what);
}

/// Before opset 21 scale and bias are one a group.
void import_group_normalization(OperatorContext& context) {
  context.require_inputs(3, 3);
  context.attributes.ignore("stash_type");
  const Shape x = image_shape(context);
  const int64_t groups = context.attributes.integer("num_groups", 0);
  if (groups < 1 || groups > x[1] || x[1] % groups != 0) {
    throw UsageError(fmt::format("{} groups do not divide {} channels", groups, x[1]));
  }
  const bool by_group = context.opset < 21;
  std::vector<TensorId> factors;
  for (int i = 1; i < 3; ++i) {
    require_channels(context, i, by_group ? groups : x[1]);
    TensorId id = context.input(i);
    if (by_group) {
      const std::string suffix = i == 1 ? "scale" : "bias";
      id = reshaped(context, id, {groups, 1}, suffix + "_groups");
      id = reshaped(context, expanded(context, id, {groups, x[1] / groups}, suffix + "_channels"), {x[1]}, suffix);
    }
    factors.push_back(id);
  }
  const int64_t rows = x[0] * groups;
  const RowNormalization what{{rows, element_count(x) / rows, 1}, read_epsilon(context), true};
  finish_channels(context, context.input(0), factors[0], factors[1], what);
}

/// x * (scale / sqrt(variance + epsilon)) + (bias - mean * that).
void import_batch_normalization(OperatorContext& context) {
  context.require_inputs(5, 5);
  context.attributes.ignore("momentum");
  if (context.attributes.integer("training_mode", 0) != 0) throw UsageError("training_mode is not supported");
  if (context.attributes.integer("spatial", 1) != 1) throw UsageError("spatial 0 is not supported");
  if (context.opset < 7) context.attributes.ignore("is_test");
  const float epsilon = read_epsilon(context);
  const Shape shape = image_shape(context);
  for (int i = 1; i < 5; ++i) require_channels(context, i, shape[1]);
  Formula factor(context.graph);
  const Term deviation = square_root(factor.tensor(context.input(4)) + epsilon);
  const TensorId scale = add_formula(context, factor, factor.tensor(context.input(1)) / deviation, "scale");
  Formula rest(context.graph);
  const Term shift = rest.tensor(context.input(2)) - rest.tensor(context.input(3)) * rest.tensor(scale);
  const TensorId bias = add_formula(context, rest, shift, "bias");
  Formula formula(context.graph);
  const TensorId scales = along_channels(context, scale, shape.size(), "scales");
  const TensorId biases = along_channels(context, bias, shape.size(), "biases");
  finish_formula(context, formula, formula.tensor(context.input(0)) * formula.tensor(scales) + formula.tensor(biases));
}

void import_lp_normalization(OperatorContext& context) {
  context.require_inputs(1, 1);
  require_real(context.input_tensor(0));
  const int64_t p = context.attributes.integer("p", 2);
  if (p != 1 && p != 2) throw UsageError(fmt::format("p {} is not supported", p));
  const TensorId x = context.input(0);
  const size_t rank = context.graph.tensor(x).shape.size();
  const auto axis = static_cast<size_t>(normalized_axis(context.attributes.integer("axis", -1), rank));
  const TensorId norm = reduced(context, x, {axis}, p == 1 ? ReductionOp::sum_abs : ReductionOp::sum_square, "norm");
  Formula formula(context.graph);
  const Term divisor = p == 1 ? formula.tensor(norm) : square_root(formula.tensor(norm));
  // Where the norm is 0, so is the result.
  const Term quotient = formula.tensor(x) / divisor;
  const Term zero = formula.real(0.0f);
  finish_formula(context, formula, select(formula.apply(MapOp::equal, {divisor, zero}), zero, quotient));
}

/// (x - mean) / (standard deviation + 1e-9) over the axes.
void import_mean_variance_normalization(OperatorContext& context) {
  context.require_inputs(1, 1);
  require_real(context.input_tensor(0));
  std::vector<int64_t> axes{0, 2, 3};
  if (context.attributes.has("axes")) axes = context.attributes.integers("axes");
  const TensorId x = context.input(0);
  const Statistics of_axes = statistics(context, x, normalized_axes(axes, context.graph.tensor(x).shape.size()));
  Formula formula(context.graph);
  const Term deviation = square_root(formula.tensor(of_axes.variance)) + 1e-9f;
  finish_formula(context, formula, formula.tensor(of_axes.centred) / deviation);
}

}  // namespace warpwright
