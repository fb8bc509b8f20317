// Operators that work element by element.
#include <fmt/core.h>

#include <cmath>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// One float32 input of any shape.
void finish_unary(OperatorContext& context, Node node) {
  context.require_inputs(1, 1);
  const GraphTensor& x = context.input_tensor(0);
  require_real(x);
  context.finish(std::move(node), {context.input(0)}, DType::f32, Shape(x.shape));
}

float finite(float value, const char* what) {
  if (!std::isfinite(value)) throw UsageError(fmt::format("{} is {}", what, value));
  return value;
}

void finish_binary(OperatorContext& context, NodeKind kind) {
  context.require_inputs(2, 2);
  Node node;
  node.kind = kind;
  const TensorId a = context.input(0), b = context.input(1);
  const DType dtype = context.graph.tensor(a).dtype;
  if (dtype != DType::f32 && dtype == context.graph.tensor(b).dtype) {
    return import_binary_operation(context, kind == NodeKind::add ? MapOp::add : MapOp::multiply);
  }
  require_real(context.graph.tensor(a));
  require_real(context.graph.tensor(b));
  Shape shape = broadcast(context.graph.tensor(a).shape, context.graph.tensor(b).shape);
  context.finish(std::move(node), {a, b}, DType::f32, std::move(shape));
}

/// A bound of a Clip on codes.
float code_bound(OperatorContext& context, int index, DType dtype, float otherwise) {
  if (!context.has_input(index)) return otherwise;
  const OnnxConstant* constant = context.constant_input(index);
  const int type = dtype == DType::u8 ? kUint8 : kInt8;
  if (!constant || constant->type != type || constant->size() != 1) {
    throw UsageError(fmt::format("bound \"{}\" must be one constant {}", context.input_name(index), name(dtype)));
  }
  const auto byte = static_cast<uint8_t>(constant->bytes()[0]);
  return dtype == DType::u8 ? static_cast<float>(byte) : static_cast<float>(static_cast<int8_t>(byte));
}

/// Constants of one element, of floats or codes.
bool has_constant_bounds(OperatorContext& context) {
  const DType dtype = context.input_tensor(0).dtype;
  for (int i = 1; i < 3; ++i) {
    if (context.has_input(i) && (!context.constant_input(i) || !(is_code(dtype) || dtype == DType::f32))) return false;
  }
  return true;
}

/// Clip by bounds that are known when it runs, or of integers.
void finish_running_clip(OperatorContext& context) {
  context.require_inputs(1, 3);
  Formula formula(context.graph);
  const DType dtype = context.input_tensor(0).dtype;
  // Codes are compared as s32.
  const auto operand = [&](int index) {
    const Term term = formula.tensor(context.input(index));
    if (formula.dtype(term) != dtype) throw UsageError("the bounds have another type");
    return is_code(dtype) ? converted(term, DType::s32) : term;
  };
  Term y = operand(0);
  if (context.has_input(1)) y = maximum(y, operand(1));
  if (context.has_input(2)) y = minimum(y, operand(2));
  if (formula.is_operand(y)) return context.finish_alias();
  finish_formula(context, formula, converted(y, dtype));
}

}  // namespace

void import_relu(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::relu;
  finish_unary(context, std::move(node));
}

void import_clip(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::clip;
  const GraphTensor& x = context.input_tensor(0);
  if (context.opset >= 11 && !has_constant_bounds(context)) return finish_running_clip(context);
  if (context.opset < 11) {
    context.require_inputs(1, 1);
    node.lo = context.attributes.real("min", node.lo);
    node.hi = context.attributes.real("max", node.hi);
  } else {
    context.require_inputs(1, 3);
    if (is_code(x.dtype)) {
      node.lo = code_bound(context, 1, x.dtype, static_cast<float>(code_min(x.dtype)));
      node.hi = code_bound(context, 2, x.dtype, static_cast<float>(code_max(x.dtype)));
    } else {
      if (context.has_input(1)) node.lo = context.constant_real(1);
      if (context.has_input(2)) node.hi = context.constant_real(2);
    }
  }
  if (std::isnan(node.lo) || std::isnan(node.hi)) throw UsageError("a bound is NaN");
  if (!is_code(x.dtype)) require_real(x);
  context.finish(std::move(node), {context.input(0)}, x.dtype, Shape(x.shape));
}

void import_hard_sigmoid(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::hard_sigmoid;
  node.alpha = finite(context.attributes.real("alpha", 0.2f), "alpha");
  node.beta = finite(context.attributes.real("beta", 0.5f), "beta");
  finish_unary(context, std::move(node));
}

void import_hard_swish(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::hard_swish;
  finish_unary(context, std::move(node));
}

void import_sigmoid(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::sigmoid;
  finish_unary(context, std::move(node));
}

void import_leaky_relu(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::leaky_relu;
  node.alpha = finite(context.attributes.real("alpha", 0.01f), "alpha");
  finish_unary(context, std::move(node));
}

void import_tanh(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::tanh;
  finish_unary(context, std::move(node));
}

void import_add(OperatorContext& context) { finish_binary(context, NodeKind::add); }
void import_mul(OperatorContext& context) { finish_binary(context, NodeKind::mul); }

}  // namespace warpwright
