// Steps that operators are made of: formulas, reductions, constants and tensors in shapes that broadcast.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "src/core/error.h"
#include "src/import/operators.h"

namespace warpwright {

namespace {

/// Shape and type of the result.
std::pair<Shape, DType> result_of(OperatorContext& context, const Formula& formula, Term result) {
  const Node node = formula.step(result);
  Map map = node.workload.map;
  Shape shape;
  for (const TensorId operand : formula.operands()) {
    const GraphTensor& tensor = context.graph.tensor(operand);
    shape = broadcast(shape, tensor.shape);
    map.operands.push_back({tensor.dtype, false, {}});
  }
  try {
    return {std::move(shape), value_types(map).back()};
  } catch (const InternalError& error) {
    throw UsageError(fmt::format("its types are not supported: {}", error.what()));
  }
}

}  // namespace

void finish_formula(OperatorContext& context, const Formula& formula, Term result, int output) {
  auto [shape, dtype] = result_of(context, formula, result);
  context.finish(formula.step(result), formula.operands(), dtype, std::move(shape), output);
}

TensorId add_formula(OperatorContext& context, const Formula& formula, Term result, const std::string& suffix) {
  auto [shape, dtype] = result_of(context, formula, result);
  return context.add_inner(formula.step(result), formula.operands(), dtype, std::move(shape), suffix);
}

Node step_node(OpKind kind) {
  Node node;
  node.kind = NodeKind::step;
  node.workload.kind = kind;
  return node;
}

TensorId add_constant(OperatorContext& context, Tensor tensor, const std::string& suffix) {
  const TensorId id = context.graph.add_tensor(suffix, tensor.dtype, tensor.shape);
  context.graph.tensor(id).constant = std::move(tensor);
  return id;
}

TensorId along_channels(OperatorContext& context, TensorId id, size_t rank, const std::string& suffix) {
  Shape shape(rank - 1, 1);
  shape[0] = element_count(context.graph.tensor(id).shape);
  return reshaped(context, id, std::move(shape), suffix);
}

TensorId spread_along(OperatorContext& context, TensorId values, const Shape& shape, int64_t axis, const char* what) {
  const std::string name = context.graph.tensor(values).name;
  const Shape given = context.graph.tensor(values).shape;
  if (element_count(given) == 1) return reshaped(context, values, {}, name + "_scalar");
  const auto at = static_cast<size_t>(normalized_axis(axis, shape.size()));
  if (given != Shape{shape[at]}) {
    throw UsageError(fmt::format("{} \"{}\" has the shape {}: one value or one for each of the {} indices of axis {}",
                                 what, name, to_text(given), shape[at], at));
  }
  Shape wide(shape.size() - at, 1);
  wide[0] = shape[at];
  return reshaped(context, values, std::move(wide), name + "_along");
}

TensorId expanded(OperatorContext& context, TensorId id, const Shape& shape, const std::string& suffix) {
  const Shape x = context.graph.tensor(id).shape;
  if (element_count(x) == element_count(shape)) return reshaped(context, id, shape, suffix);
  const DType dtype = context.graph.tensor(id).dtype;
  return context.add_inner(move_node(expansion(x, shape)), {id}, dtype, Shape(shape), suffix);
}

std::vector<float> constant_reals(const OperatorContext& context, int index) {
  const OnnxConstant* constant = context.constant_input(index);
  if (!constant || constant->type != kFloat32) {
    throw UsageError(fmt::format("\"{}\" is no constant of float32", context.input_name(index)));
  }
  const Tensor tensor = to_tensor(*constant);
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

void take_bytes(Graph& graph, int64_t bytes) {
  if (graph.constant_budget.take(bytes)) return;
  throw UsageError(
      fmt::format("it asks for a constant of {} bytes; with those computed before that is too much", bytes));
}

Rows rows_of(const Shape& shape, size_t axis) {
  const auto at = shape.begin() + static_cast<int64_t>(axis);
  return {element_count(Shape(shape.begin(), at)), *at, element_count(Shape(at + 1, shape.end()))};
}

TensorId reduced(OperatorContext& context, TensorId x, const std::vector<size_t>& axes, ReductionOp op,
                 const std::string& suffix) {
  const Shape shape = context.graph.tensor(x).shape;
  std::vector<bool> goes(shape.size(), false);
  for (const size_t axis : axes) goes[axis] = true;
  Shape result = shape;
  Rows rows;
  std::vector<int64_t> kept, gone;
  bool neighbours = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (goes[i]) {
      neighbours &= gone.empty() || gone.back() + 1 == static_cast<int64_t>(i);
      gone.push_back(static_cast<int64_t>(i));
      result[i] = 1;
      rows.length *= shape[i];
    } else {
      (gone.empty() ? rows.outer : rows.inner) *= shape[i];
      kept.push_back(static_cast<int64_t>(i));
    }
  }
  if (!neighbours) {
    kept.insert(kept.end(), gone.begin(), gone.end());
    x = transposed(context, x, kept, suffix + "_rows");
    rows = {rows.outer * rows.inner, rows.length, 1};
  }
  Node node = step_node(OpKind::reduce);
  node.workload.rows = rows;
  node.workload.reduction = op;
  const bool gives_index = op == ReductionOp::arg_max || op == ReductionOp::arg_min;
  const DType dtype = gives_index ? DType::s64 : context.graph.tensor(x).dtype;
  return context.add_inner(std::move(node), {x}, dtype, std::move(result), suffix);
}

}  // namespace warpwright
