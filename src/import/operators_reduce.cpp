// Reductions, ArgMax and ArgMin, Softmax.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// What one of the Reduce operators is asked for.
struct Reduction {
  std::vector<size_t> axes;
  Shape shape;           // of the result
  bool nothing = false;  // no axes, and none means none: only what is done to each element is left
};

Reduction read_reduction(OperatorContext& context, int64_t axes_input_since) {
  const bool by_input = context.opset >= axes_input_since;
  context.require_inputs(1, by_input ? 2 : 1);
  const Shape x = context.input_tensor(0).shape;
  std::optional<std::vector<int64_t>> axes;
  if (by_input && context.has_input(1)) axes = constant_integers(context, 1);
  if (!by_input && context.attributes.has("axes")) axes = context.attributes.integers("axes");
  const bool keep = context.attributes.integer("keepdims", 1) != 0;
  const bool empty_means_none = by_input && context.attributes.integer("noop_with_empty_axes", 0) != 0;
  Reduction reduction;
  if (axes && axes->empty()) axes.reset();
  reduction.nothing = !axes && empty_means_none;
  reduction.axes = normalized_axes(axes, x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const bool goes = std::find(reduction.axes.begin(), reduction.axes.end(), i) != reduction.axes.end();
    if (!goes) reduction.shape.push_back(x[i]);
    if (goes && keep) reduction.shape.push_back(1);
  }
  return reduction;
}

void finish_reshaped(OperatorContext& context, TensorId id, const Shape& shape) {
  Node node;
  node.kind = NodeKind::reshape;
  const DType dtype = context.graph.tensor(id).dtype;
  context.finish(std::move(node), {id}, dtype, Shape(shape));
}

/// x as a type that `reduce` takes: codes and booleans as s32.
TensorId widened(OperatorContext& context, TensorId x) {
  const DType dtype = context.graph.tensor(x).dtype;
  if (dtype == DType::f32 || dtype == DType::s32) return x;
  if (dtype == DType::s64) throw UsageError("reductions of int64 are not supported");
  Formula formula(context.graph);
  return add_formula(context, formula, converted(formula.tensor(x), DType::s32), "wide");
}

TensorId narrowed(OperatorContext& context, TensorId x, DType dtype) {
  if (context.graph.tensor(x).dtype == dtype) return x;
  Formula formula(context.graph);
  return add_formula(context, formula, converted(formula.tensor(x), dtype), "narrow");
}

/// Elementwise behind a reduction.
template <typename Function>
TensorId applied(OperatorContext& context, TensorId x, const std::string& suffix, const Function& function) {
  Formula formula(context.graph);
  const Term result = function(formula.tensor(x));
  return add_formula(context, formula, result, suffix);
}

/// Of a reduction over no axes what it does to each element.
void finish_elementwise(OperatorContext& context, ReductionOp op) {
  if (op != ReductionOp::sum_square && op != ReductionOp::sum_abs) return context.finish_alias();
  Formula formula(context.graph);
  const Term x = formula.tensor(context.input(0));
  finish_formula(context, formula, op == ReductionOp::sum_square ? x * x : absolute(x));
}

/// log(sum(exp(x))), about the largest x where that is finite.
TensorId log_sum_exp(OperatorContext& context, TensorId x, const std::vector<size_t>& axes) {
  const TensorId largest = reduced(context, x, axes, ReductionOp::max, "max");
  const TensorId about = applied(context, largest, "about", [](Term m) {
    return select(absolute(m) < std::numeric_limits<float>::infinity(), m, m.formula->real(0.0f));
  });
  Formula shifted(context.graph);
  const Term e = exponential(shifted.tensor(x) - shifted.tensor(about));
  const TensorId exponentials = add_formula(context, shifted, e, "exponentials");
  const TensorId sum = reduced(context, exponentials, axes, ReductionOp::sum, "sum");
  Formula formula(context.graph);
  const Term y = logarithm(formula.tensor(sum)) + formula.tensor(about);
  return add_formula(context, formula, y, "logarithm");
}

/// A mean over all of an image's pixels is an average pool, which has an 8-bit kernel.
bool is_global_pool(const Shape& x, const std::vector<size_t>& axes) {
  if (x.size() != 3 && x.size() != 4) return false;
  std::vector<size_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return sorted == (x.size() == 3 ? std::vector<size_t>{2} : std::vector<size_t>{2, 3});
}

}  // namespace

void import_reduce(OperatorContext& context, ReductionOp op) {
  const Reduction reduction = read_reduction(context, op == ReductionOp::sum ? 13 : 18);
  if (reduction.nothing) return finish_elementwise(context, op);
  const DType dtype = context.input_tensor(0).dtype;
  const TensorId x = widened(context, context.input(0));
  const TensorId y = reduced(context, x, reduction.axes, op, "reduced");
  finish_reshaped(context, narrowed(context, y, dtype), reduction.shape);
}

void import_reduce_mean(OperatorContext& context) {
  const Reduction reduction = read_reduction(context, 18);
  if (reduction.nothing) return context.finish_alias();
  const TensorId x = context.input(0);
  require_real(context.graph.tensor(x));
  if (!is_global_pool(context.graph.tensor(x).shape, reduction.axes)) {
    return finish_reshaped(context, reduced(context, x, reduction.axes, ReductionOp::mean, "reduced"), reduction.shape);
  }
  UnplacedNode made = global_average_pool(context, x);
  const TensorId y = context.add_inner(std::move(made.node), {x}, DType::f32, std::move(made.shape), "pooled");
  finish_reshaped(context, y, reduction.shape);
}

void import_reduce_l2(OperatorContext& context) {
  const Reduction reduction = read_reduction(context, 18);
  require_real(context.input_tensor(0));
  if (reduction.nothing) {
    Formula formula(context.graph);
    const Term x = formula.tensor(context.input(0));
    return finish_formula(context, formula, square_root(x * x));
  }
  const TensorId sum = reduced(context, context.input(0), reduction.axes, ReductionOp::sum_square, "squares");
  finish_reshaped(context, applied(context, sum, "root", [](Term x) { return square_root(x); }), reduction.shape);
}

void import_reduce_log_sum(OperatorContext& context) {
  const Reduction reduction = read_reduction(context, 18);
  require_real(context.input_tensor(0));
  if (reduction.nothing) {
    Formula formula(context.graph);
    return finish_formula(context, formula, logarithm(formula.tensor(context.input(0))));
  }
  const TensorId sum = reduced(context, context.input(0), reduction.axes, ReductionOp::sum, "sum");
  finish_reshaped(context, applied(context, sum, "log", [](Term x) { return logarithm(x); }), reduction.shape);
}

void import_reduce_log_sum_exp(OperatorContext& context) {
  const Reduction reduction = read_reduction(context, 18);
  require_real(context.input_tensor(0));
  if (reduction.nothing) return context.finish_alias();  // log(exp(x))
  finish_reshaped(context, log_sum_exp(context, context.input(0), reduction.axes), reduction.shape);
}

void import_arg(OperatorContext& context, ReductionOp op) {
  context.require_inputs(1, 1);
  const TensorId x = widened(context, context.input(0));
  const Shape shape = context.graph.tensor(x).shape;
  const auto axis = static_cast<size_t>(normalized_axis(context.attributes.integer("axis", 0), shape.size()));
  Node node = step_node(OpKind::reduce);
  node.workload.rows = rows_of(shape, axis);
  node.workload.reduction = op;
  node.workload.select_last = context.attributes.integer("select_last_index", 0) != 0;
  Shape result = shape;
  result[axis] = 1;
  if (context.attributes.integer("keepdims", 1) == 0) result.erase(result.begin() + static_cast<int64_t>(axis));
  context.finish(std::move(node), {x}, DType::s64, std::move(result));
}

Node softmax_node(OperatorContext& context, const Shape& shape, bool logarithm) {
  const bool flattens = context.opset < 13;
  const int64_t axis = context.attributes.integer("axis", flattens ? 1 : -1);
  Node node = step_node(OpKind::softmax);
  node.workload.logarithm = logarithm;
  if (flattens && axis == static_cast<int64_t>(shape.size())) {
    node.workload.rows = {element_count(shape), 1, 1};
    return node;
  }
  node.workload.rows = rows_of(shape, static_cast<size_t>(normalized_axis(axis, shape.size())));
  if (flattens) {
    node.workload.rows.length *= node.workload.rows.inner;
    node.workload.rows.inner = 1;
  }
  return node;
}

void import_softmax(OperatorContext& context, bool logarithm) {
  context.require_inputs(1, 1);
  const GraphTensor& x = context.input_tensor(0);
  require_real(x);
  Node node = softmax_node(context, x.shape, logarithm);
  context.finish(std::move(node), {context.input(0)}, DType::f32, Shape(x.shape));
}

}  // namespace warpwright
