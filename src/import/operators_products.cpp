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

void import_gemm(OperatorContext& context) {
  context.require_inputs(2, 3);
  Node node;
  node.kind = NodeKind::gemm;
  node.transposed_weights = context.attributes.integer("transB", 0) != 0;
  node.alpha = context.attributes.real("alpha", 1.0f);
  node.beta = context.attributes.real("beta", 1.0f);
  if (!std::isfinite(node.alpha) || !std::isfinite(node.beta) || !(node.alpha > 0)) {
    throw UsageError(fmt::format("alpha {} and beta {}: alpha must be positive, both finite", node.alpha, node.beta));
  }
  const TensorId x_id = first_operand(context, context.input(0)), w_id = context.input(1);
  const TensorId bias_id = context.has_input(2) ? context.input(2) : kNoTensor;
  const GraphTensor& x = context.graph.tensor(x_id);
  const GraphTensor& w = context.graph.tensor(w_id);
  require_real(x);
  require_real(w);
  context.require_constant(w_id, "the second operand");
  if (x.shape.size() != 2 || w.shape.size() != 2) throw UsageError("both operands must be matrices");
  const int64_t depth = w.shape[node.transposed_weights ? 1 : 0], columns = w.shape[node.transposed_weights ? 0 : 1];
  if (depth != x.shape[1]) {
    throw UsageError(fmt::format("\"{}\" has {} columns, \"{}\" expects {}", x.name, x.shape[1], w.name, depth));
  }
  if (bias_id != kNoTensor) {
    const GraphTensor& bias = context.graph.tensor(bias_id);
    require_real(bias);
    context.require_constant(bias_id, "C");
    const Shape& shape = bias.shape;
    const bool row = !shape.empty() && shape.back() == columns && (shape.size() == 1 || shape == Shape{1, columns});
    if (!row) {
      throw UsageError(
          fmt::format("C \"{}\" of shape {} is no row of {} elements", bias.name, to_text(shape), columns));
    }
  }
  context.finish(std::move(node), {x_id, w_id, bias_id}, DType::f32, {x.shape[0], columns});
}

void finish_product(OperatorContext& context, UnplacedNode made, std::vector<TensorId> inputs,
                    const ProductResult& result) {
  Shape shape = made.shape;
  if (!result.quantized && !result.as_integers) {
    return context.finish(std::move(made.node), std::move(inputs), DType::f32, std::move(shape));
  }
  const TensorId real =
      context.add_inner(std::move(made.node), std::move(inputs), DType::f32, std::move(made.shape), "y");
  if (result.quantized) {
    return context.finish(quantize_node(*result.quantized), {real}, result.quantized->dtype, std::move(shape));
  }
  Node integer;
  integer.kind = NodeKind::integer;
  context.finish(std::move(integer), {real}, DType::s32, std::move(shape));
}

}  // namespace warpwright
