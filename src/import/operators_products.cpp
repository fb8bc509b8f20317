// Conv and Gemm in float32, with constant weights, and what becomes of their results.
#include <fmt/core.h>

#include <cmath>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

UnplacedNode convolution(OperatorContext& context, TensorId x_id, TensorId w_id, TensorId bias_id) {
  const GraphTensor& x = context.graph.tensor(x_id);
  const GraphTensor& w = context.graph.tensor(w_id);
  context.require_constant(w_id, "the weight");
  if (x.shape.size() != 3 && x.shape.size() != 4) {
    throw UsageError(
        fmt::format("input \"{}\" has {} dimensions; 1-D and 2-D convolutions are supported", x.name, x.shape.size()));
  }
  if (w.shape.size() != x.shape.size()) {
    throw UsageError(fmt::format("weight \"{}\" has {} dimensions, input \"{}\" has {}", w.name, w.shape.size(), x.name,
                                 x.shape.size()));
  }
  const std::vector<int64_t> kernel(w.shape.begin() + 2, w.shape.end());
  const WindowShape window = read_window(context.attributes, x.shape, kernel, false);
  const int64_t groups = context.attributes.integer("group", 1);
  if (groups < 1 || groups > x.shape[1] || x.shape[1] % groups != 0 || w.shape[0] % groups != 0) {
    throw UsageError(
        fmt::format("{} groups do not divide {} input and {} output channels", groups, x.shape[1], w.shape[0]));
  }
  if (w.shape[1] != x.shape[1] / groups) {
    throw UsageError(fmt::format("input \"{}\" has {} channels in {} groups, weight \"{}\" expects {} a group", x.name,
                                 x.shape[1], groups, w.name, w.shape[1]));
  }
  if (bias_id != kNoTensor) {
    const GraphTensor& bias = context.graph.tensor(bias_id);
    context.require_constant(bias_id, "the bias");
    if (bias.shape != Shape{w.shape[0]}) {
      throw UsageError(fmt::format("bias \"{}\" has shape {}, {} output channels need [{}]", bias.name,
                                   to_text(bias.shape), w.shape[0], w.shape[0]));
    }
  }
  UnplacedNode result;
  result.node.kind = NodeKind::conv;
  result.node.window = window.window;
  result.node.groups = groups;
  result.shape = {x.shape[0], w.shape[0]};
  result.shape.insert(result.shape.end(), window.output.begin(), window.output.end());
  return result;
}

void import_conv(OperatorContext& context) {
  context.require_inputs(2, 3);
  require_real(context.input_tensor(0));
  require_real(context.input_tensor(1));
  const TensorId bias = context.has_input(2) ? context.input(2) : kNoTensor;
  if (bias != kNoTensor) require_real(context.graph.tensor(bias));
  UnplacedNode made = convolution(context, context.input(0), context.input(1), bias);
  context.finish(std::move(made.node), {context.input(0), context.input(1), bias}, DType::f32, std::move(made.shape));
}

TensorId first_operand(OperatorContext& context, TensorId x) {
  if (context.attributes.integer("transA", 0) == 0) return x;
  return transposed(context, x, {1, 0}, "transposed");
}

namespace {

/// C as a float32 tensor that broadcasts to the product; of one number, as a row of it.
TensorId addend(OperatorContext& context, const Shape& product) {
  if (!context.has_input(2)) return kNoTensor;
  const TensorId id = context.input(2);
  require_real(context.graph.tensor(id));
  const Shape shape = context.graph.tensor(id).shape;
  if (broadcast(shape, product) != product) {
    throw UsageError(fmt::format("C of shape {} does not broadcast to {}", to_text(shape), to_text(product)));
  }
  if (element_count(shape) == 1 && context.is_derived_from_constants(id)) {
    return expanded(context, reshaped(context, id, {1}, "c"), {product[1]}, "row");
  }
  return id;
}

}  // namespace

void import_gemm(OperatorContext& context) {
  context.require_inputs(2, 3);
  Node node;
  node.kind = NodeKind::gemm;
  node.transposed_weights = context.attributes.integer("transB", 0) != 0;
  node.alpha = context.attributes.real("alpha", 1.0f);
  node.beta = context.attributes.real("beta", 1.0f);
  if (!std::isfinite(node.alpha) || !std::isfinite(node.beta)) {
    throw UsageError(fmt::format("alpha {} and beta {}: both must be finite", node.alpha, node.beta));
  }
  for (int i = 0; i < 2; ++i) {
    const GraphTensor& operand = context.input_tensor(i);
    require_real(operand);
    if (operand.shape.size() != 2) throw UsageError("both operands must be matrices");
  }
  const TensorId x_id = first_operand(context, context.input(0));
  TensorId w_id = context.input(1);
  const Shape x = context.graph.tensor(x_id).shape, w = context.graph.tensor(w_id).shape;
  const int64_t depth = w[node.transposed_weights ? 1 : 0], columns = w[node.transposed_weights ? 0 : 1];
  if (depth != x[1]) {
    throw UsageError(fmt::format("\"{}\" has {} columns, \"{}\" expects {}", context.input_name(0), x[1],
                                 context.input_name(1), depth));
  }
  const Shape shape{x[0], columns};
  const TensorId c = addend(context, shape);
  if (context.is_derived_from_constants(w_id)) {
    return context.finish(std::move(node), {x_id, w_id, c}, DType::f32, Shape(shape));
  }
  if (node.transposed_weights) w_id = transposed(context, w_id, {1, 0}, "b_transposed");
  Node product;
  product.kind = NodeKind::matmul;
  if (node.alpha == 1.0f && c == kNoTensor) {
    return context.finish(std::move(product), {x_id, w_id}, DType::f32, Shape(shape));
  }
  const TensorId y = context.add_inner(std::move(product), {x_id, w_id}, DType::f32, Shape(shape), "product");
  Formula formula(context.graph);
  Term result = formula.tensor(y);
  if (node.alpha != 1.0f) result = result * node.alpha;
  if (c != kNoTensor) {
    const Term addition = formula.tensor(c);
    result = result + (node.beta == 1.0f ? addition : addition * node.beta);
  }
  finish_formula(context, formula, result);
}

namespace {

Node integer_node() {
  Node node;
  node.kind = NodeKind::integer;
  return node;
}

}  // namespace

TensorId inner_product(OperatorContext& context, UnplacedNode made, std::vector<TensorId> inputs,
                       const ProductResult& result) {
  const Shape shape = made.shape;
  const TensorId id = context.add_inner(std::move(made.node), std::move(inputs), DType::f32, Shape(shape), "product");
  if (result.quantized) {
    return context.add_inner(quantize_node(*result.quantized), {id}, result.quantized->dtype, Shape(shape), "codes");
  }
  return result.as_integers ? context.add_inner(integer_node(), {id}, DType::s32, Shape(shape), "sums") : id;
}

void finish_product(OperatorContext& context, UnplacedNode made, std::vector<TensorId> inputs,
                    const ProductResult& result) {
  const Shape shape = made.shape;
  if (!result.quantized && !result.as_integers) {
    return context.finish(std::move(made.node), std::move(inputs), DType::f32, Shape(shape));
  }
  const TensorId real = inner_product(context, std::move(made), std::move(inputs), {});
  if (result.quantized) {
    return context.finish(quantize_node(*result.quantized), {real}, result.quantized->dtype, Shape(shape));
  }
  context.finish(integer_node(), {real}, DType::s32, Shape(shape));
}

}  // namespace warpwright
