// Formulas: operands, instructions, the activations in terms of them.
#include "src/graph/formula.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "src/core/error.h"

namespace warpwright {

namespace {

Term apply(MapOp op, const std::vector<Term>& arguments) { return arguments[0].formula->apply(op, arguments); }

}  // namespace

MapOp conversion_to(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return MapOp::to_f32;
    case DType::s32:
      return MapOp::to_s32;
    case DType::s64:
      return MapOp::to_s64;
    case DType::boolean:
      return MapOp::to_boolean;
    case DType::s8:
      return MapOp::to_s8;
    case DType::u8:
      return MapOp::to_u8;
    case DType::f16:
      return MapOp::to_f16;
  }
  throw InternalError("unknown element type");
}

Term Formula::tensor(TensorId id) {
  const auto found = std::find(operands_.begin(), operands_.end(), id);
  const auto number = static_cast<int>(found - operands_.begin());
  if (found == operands_.end()) operands_.push_back(id);
  return {this, false, number};
}

Term Formula::constant(Tensor tensor) {
  for (const TensorId id : operands_) {
    if (graph_.is_constant(id) && *graph_.tensor(id).constant == tensor) return this->tensor(id);
  }
  const TensorId id = graph_.add_tensor("constant", tensor.dtype, tensor.shape);
  graph_.tensor(id).constant = std::move(tensor);
  return this->tensor(id);
}

Term Formula::real(float value) {
  Tensor tensor(DType::f32, {});
  tensor.as<float>()[0] = value;
  return constant(std::move(tensor));
}

Term Formula::integer(DType dtype, int64_t value) {
  Tensor tensor(dtype, {});
  std::memcpy(tensor.bytes.data(), &value, tensor.bytes.size());  // little endian
  return constant(std::move(tensor));
}

DType Formula::dtype(Term term) const {
  return term.computed ? computed_[static_cast<size_t>(term.number)].dtype
                       : graph_.tensor(operands_[static_cast<size_t>(term.number)]).dtype;
}

Term Formula::apply(MapOp op, const std::vector<Term>& arguments) {
  const DType first = dtype(arguments[op == MapOp::select ? 1 : 0]);
  computed_.push_back({op, arguments, result_type(op, first)});
  return {this, true, static_cast<int>(computed_.size()) - 1};
}

Node Formula::step(Term result) const {
  const auto last = static_cast<int>(computed_.size()) - 1;
  if (result.computed ? result.number != last : last >= 0 || operands_.size() != 1) {
    throw InternalError("a formula's result is not what it computes last");
  }
  const auto first = static_cast<int>(operands_.size());
  Node node;
  node.kind = NodeKind::step;
  node.workload.kind = OpKind::map;
  for (const Computed& computed : computed_) {
    MapInstruction instruction{computed.op, {}};
    for (const Term term : computed.arguments) {
      instruction.arguments.push_back(term.computed ? first + term.number : term.number);
    }
    node.workload.map.instructions.push_back(std::move(instruction));
  }
  node.inputs = operands_;
  return node;
}

Term operator+(Term a, Term b) { return apply(MapOp::add, {a, b}); }
Term operator-(Term a, Term b) { return apply(MapOp::subtract, {a, b}); }
Term operator*(Term a, Term b) { return apply(MapOp::multiply, {a, b}); }
Term operator/(Term a, Term b) { return apply(MapOp::divide, {a, b}); }
Term operator-(Term a) { return apply(MapOp::negate, {a}); }
Term operator+(Term a, float b) { return a + a.formula->real(b); }
Term operator-(float a, Term b) { return b.formula->real(a) - b; }
Term operator*(Term a, float b) { return a * a.formula->real(b); }
Term operator<(Term a, Term b) { return apply(MapOp::less, {a, b}); }
Term operator<(Term a, float b) { return a < a.formula->real(b); }

Term absolute(Term x) { return apply(MapOp::absolute, {x}); }
Term exponential(Term x) { return apply(MapOp::exponential, {x}); }
Term logarithm(Term x) { return apply(MapOp::logarithm, {x}); }
Term error_function(Term x) { return apply(MapOp::error_function, {x}); }
Term tanh(Term x) { return apply(MapOp::tanh, {x}); }
Term square_root(Term x) { return apply(MapOp::square_root, {x}); }
Term reciprocal(Term x) { return apply(MapOp::reciprocal, {x}); }
Term minimum(Term a, Term b) { return apply(MapOp::minimum, {a, b}); }
Term maximum(Term a, Term b) { return apply(MapOp::maximum, {a, b}); }
Term select(Term condition, Term a, Term b) { return apply(MapOp::select, {condition, a, b}); }

Term converted(Term x, DType dtype) {
  const DType from = x.formula->dtype(x);
  if (from == dtype) return x;
  // From and to float16 by way of float32.
  if (from != DType::f32 && dtype != DType::f32 && (from == DType::f16 || dtype == DType::f16)) {
    return converted(apply(MapOp::to_f32, {x}), dtype);
  }
  // To codes from s32 alone.
  if (is_code(dtype) && from != DType::s32) x = apply(MapOp::to_s32, {x});
  return apply(conversion_to(dtype), {x});
}

Term clamped(Term x, float lo, float hi) {
  if (lo > -std::numeric_limits<float>::infinity()) x = maximum(x, x.formula->real(lo));
  if (hi < std::numeric_limits<float>::infinity()) x = minimum(x, x.formula->real(hi));
  return x;
}

Term sigmoid(Term x) { return reciprocal(exponential(-x) + 1.0f); }

Term softplus(Term x) {
  // log(1 + exp(x)) without overflow.
  return maximum(x, x.formula->real(0.0f)) + logarithm(exponential(-absolute(x)) + 1.0f);
}

Term hard_sigmoid(Term x, float alpha, float beta) { return clamped(x * alpha + beta, 0.0f, 1.0f); }

Term gelu(Term x) {
  constexpr float kSqrtHalf = 0.70710678118654752f;
  return x * 0.5f * (error_function(x * kSqrtHalf) + 1.0f);
}

Term gelu_by_tanh(Term x) {
  constexpr float kSqrtTwoByPi = 0.79788456080286536f;
  return x * 0.5f * (tanh((x * x * x * 0.044715f + x) * kSqrtTwoByPi) + 1.0f);
}

Term meaning(const Node& node, Term x, Term other) {
  switch (node.kind) {
    case NodeKind::relu:
      return maximum(x, x.formula->real(0.0f));
    case NodeKind::clip:
      return clamped(x, node.lo, node.hi);
    case NodeKind::hard_sigmoid:
      return hard_sigmoid(x, node.alpha, node.beta);
    case NodeKind::hard_swish:
      return x * hard_sigmoid(x, 1.0f / 6.0f, 0.5f);
    case NodeKind::sigmoid:
      return sigmoid(x);
    case NodeKind::leaky_relu:
      return select(x < 0.0f, x * node.alpha, x);
    case NodeKind::tanh:
      return tanh(x);
    case NodeKind::add:
      return x + other;
    case NodeKind::mul:
      return x * other;
    default:
      throw InternalError(fmt::format("{} is not elementwise", name(node.kind)));
  }
}

}  // namespace warpwright
