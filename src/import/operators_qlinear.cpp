// QOperator forms, taken apart: DequantizeLinear of the inputs, the operator, QuantizeLinear of the result.
#include <fmt/core.h>

#include <cmath>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// Input `index` with scale and zero point behind it, as float32.
TensorId dequantized(OperatorContext& context, int index, const std::string& suffix,
                     std::optional<int64_t> axis = std::nullopt) {
  const TensorId id = context.input(index);
  const GraphTensor& codes = context.graph.tensor(id);
  if (!is_code(codes.dtype)) throw UsageError(fmt::format("\"{}\" is no tensor of 8-bit codes", codes.name));
  Quantization quantization =
      context.quantization(index + 1, index + 2, codes.dtype, axis.value_or(0), codes.name, codes.shape);
  if (!axis && !quantization.per_tensor()) {
    throw UsageError(fmt::format("\"{}\" has more than one scale, which is not supported", codes.name));
  }
  return context.add_inner(dequantize_node(quantization), {id}, DType::f32, Shape(codes.shape), suffix);
}

Quantization output_quantization(OperatorContext& context, int scale_input, DType otherwise) {
  const bool typed = context.has_input(scale_input + 1);
  Quantization quantization =
      context.quantization(scale_input, scale_input + 1, typed ? std::nullopt : std::optional(otherwise), 0, "y", {1});
  if (!quantization.per_tensor()) throw UsageError("the output has more than one scale, which is not supported");
  if (!is_code(quantization.dtype)) throw UsageError("the output is no tensor of 8-bit codes");
  return quantization;
}

/// The int32 bias at input `index` as float32 of scale alpha * x_scale * w_scale, one a channel.
TensorId dequantized_bias(OperatorContext& context, int index, TensorId x, TensorId w, float alpha) {
  if (!context.has_input(index)) return kNoTensor;
  const TensorId id = context.input(index);
  const GraphTensor& bias = context.graph.tensor(id);
  if (bias.dtype != DType::s32) throw UsageError(fmt::format("bias \"{}\" must be int32", bias.name));
  Quantization quantization;
  quantization.dtype = DType::s32;
  float x_scale = 1;
  std::vector<float> w_scale;
  const std::vector<Node>& nodes = context.graph.nodes;  // the two were added last
  for (size_t i = nodes.size(); i-- > 0 && nodes[i].output >= x;) {
    if (nodes[i].output == x) x_scale = nodes[i].quantization.scale[0];
    if (nodes[i].output == w) w_scale = nodes[i].quantization.scale;
  }
  if (w_scale.size() != 1 && Shape{static_cast<int64_t>(w_scale.size())} != bias.shape) {
    throw UsageError(fmt::format("bias \"{}\" has shape {}, the weight has {} scales", bias.name, to_text(bias.shape),
                                 w_scale.size()));
  }
  for (float& scale : w_scale) {
    scale = (alpha * x_scale) * scale;
    if (!(scale > 0) || !std::isfinite(scale)) throw UsageError(fmt::format("the bias has the scale {}", scale));
  }
  quantization.scale = w_scale;
  quantization.zero_point.assign(w_scale.size(), 0);
  return context.add_inner(dequantize_node(quantization), {id}, DType::f32, Shape(bias.shape), "bias");
}

void finish_binary(OperatorContext& context, NodeKind kind) {
  context.require_inputs(7, 8);
  const TensorId a = dequantized(context, 0, "a");
  const TensorId b = dequantized(context, 3, "b");
  UnplacedNode made;
  made.node.kind = kind;
  made.shape = broadcast(context.graph.tensor(a).shape, context.graph.tensor(b).shape);
  finish_product(context, std::move(made), {a, b}, {output_quantization(context, 6, context.input_tensor(0).dtype)});
}

void finish_unary(OperatorContext& context, Node node) {
  context.require_inputs(4, 5);
  const TensorId x = dequantized(context, 0, "x");
  UnplacedNode made{std::move(node), context.graph.tensor(x).shape};
  finish_product(context, std::move(made), {x}, {output_quantization(context, 3, context.input_tensor(0).dtype)});
}

/// A pool; with channels_last between transposes that bring the channels forward and back.
void finish_pool(OperatorContext& context, UnplacedNode (*pool)(OperatorContext&, TensorId)) {
  context.require_inputs(4, 5);
  const TensorId x = dequantized(context, 0, "x");
  const Quantization y = output_quantization(context, 3, DType::u8);
  const auto rank = static_cast<int64_t>(context.graph.tensor(x).shape.size());
  if (context.attributes.integer("channels_last", 0) == 0) {
    return finish_product(context, pool(context, x), {x}, {y});
  }
  if (rank < 3) throw UsageError(fmt::format("channels_last of {} dimensions", rank));
  std::vector<int64_t> forward{0, rank - 1}, back{0};
  for (int64_t i = 1; i < rank - 1; ++i) forward.push_back(i);
  for (int64_t i = 2; i < rank; ++i) back.push_back(i);
  back.push_back(1);
  const TensorId first = transposed(context, x, forward, "channels_first");
  UnplacedNode made = pool(context, first);
  const TensorId real = context.add_inner(std::move(made.node), {first}, DType::f32, Shape(made.shape), "pooled");
  const TensorId codes = context.add_inner(quantize_node(y), {real}, y.dtype, Shape(made.shape), "codes");
  UnplacedNode last = transpose_node(made.shape, back);
  context.finish(std::move(last.node), {codes}, y.dtype, std::move(last.shape));
}

}  // namespace

void import_qlinear_conv(OperatorContext& context) {
  context.require_inputs(8, 9);
  const TensorId x = dequantized(context, 0, "x");
  const TensorId w = dequantized(context, 3, "w", 0);
  const TensorId bias = dequantized_bias(context, 8, x, w, 1.0f);
  const Quantization y = output_quantization(context, 6, DType::u8);
  finish_product(context, convolution(context, x, w, bias), {x, w, bias}, {y});
}

void import_qlinear_matmul(OperatorContext& context) {
  context.require_inputs(8, 8);
  const TensorId a = dequantized(context, 0, "a");
  const TensorId b = dequantized(context, 3, "b", -1);
  finish_matmul(context, a, b, {output_quantization(context, 6, DType::u8)});
}

void import_qgemm(OperatorContext& context) {
  context.require_inputs(6, 9);
  UnplacedNode made;
  made.node.kind = NodeKind::gemm;
  made.node.transposed_weights = context.attributes.integer("transB", 0) != 0;
  made.node.alpha = context.attributes.real("alpha", 1.0f);
  if (!std::isfinite(made.node.alpha) || !(made.node.alpha > 0)) {
    throw UsageError(fmt::format("alpha {} must be positive and finite", made.node.alpha));
  }
  const TensorId codes = dequantized(context, 0, "a");
  const TensorId b = dequantized(context, 3, "b", made.node.transposed_weights ? 0 : 1);
  context.require_constant(b, "the second operand");
  const TensorId a = first_operand(context, codes);
  const GraphTensor& x = context.graph.tensor(a);
  const GraphTensor& w = context.graph.tensor(b);
  if (x.shape.size() != 2 || w.shape.size() != 2) throw UsageError("both operands must be matrices");
  const int64_t depth = w.shape[made.node.transposed_weights ? 1 : 0];
  const int64_t columns = w.shape[made.node.transposed_weights ? 0 : 1];
  if (depth != x.shape[1]) {
    throw UsageError(
        fmt::format("\"{}\" has {} columns, the second operand expects {}", context.input_name(0), x.shape[1], depth));
  }
  made.shape = {x.shape[0], columns};
  const TensorId bias = dequantized_bias(context, 6, codes, b, made.node.alpha);
  if (bias != kNoTensor && element_count(context.graph.tensor(bias).shape) != columns) {
    throw UsageError(fmt::format("C \"{}\" is no row of {} elements", context.input_name(6), columns));
  }
  ProductResult result;  // without y_scale float32
  if (context.has_input(7)) result.quantized = output_quantization(context, 7, DType::u8);
  finish_product(context, std::move(made), {a, b, bias}, result);
}

void import_qlinear_add(OperatorContext& context) { finish_binary(context, NodeKind::add); }
void import_qlinear_mul(OperatorContext& context) { finish_binary(context, NodeKind::mul); }

void import_qlinear_sigmoid(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::sigmoid;
  finish_unary(context, std::move(node));
}

void import_qlinear_leaky_relu(OperatorContext& context) {
  Node node;
  node.kind = NodeKind::leaky_relu;
  node.alpha = context.attributes.real("alpha", 0.01f);
  if (!std::isfinite(node.alpha)) throw UsageError("alpha is not finite");
  finish_unary(context, std::move(node));
}

void import_qlinear_softmax(OperatorContext& context) {
  context.require_inputs(4, 5);
  const TensorId x = dequantized(context, 0, "x");
  const Shape shape = context.graph.tensor(x).shape;
  const int64_t opset = context.attributes.integer("opset", context.opset);
  if ((opset < 13) != (context.opset < 13)) throw UsageError(fmt::format("opset {} of the operator", opset));
  UnplacedNode made{softmax_node(context, shape, false), shape};
  finish_product(context, std::move(made), {x}, {output_quantization(context, 3, context.input_tensor(0).dtype)});
}

void import_qlinear_average_pool(OperatorContext& context) { finish_pool(context, average_pool_over_whole_windows); }
void import_qlinear_global_average_pool(OperatorContext& context) { finish_pool(context, global_average_pool); }

void import_qlinear_concat(OperatorContext& context) {
  const Quantization y = output_quantization(context, 0, DType::u8);
  if (!context.attributes.has("axis")) throw UsageError("attribute axis is missing");
  const int64_t axis = context.attributes.integer("axis", 0);
  UnplacedNode made;
  made.node.kind = NodeKind::concat;
  std::vector<TensorId> inputs;
  for (int i = 2; context.has_input(i); i += 3) {
    const TensorId id = dequantized(context, i, fmt::format("part{}", inputs.size()));
    const Shape part = context.graph.tensor(id).shape;
    inputs.push_back(id);
    if (i == 2) {
      made.shape = part;
      made.node.axis = normalized_axis(axis, part.size());
      continue;
    }
    const auto at = static_cast<size_t>(made.node.axis);
    Shape other = part;
    if (other.size() == made.shape.size()) other[at] = made.shape[at];
    if (other != made.shape) throw UsageError(fmt::format("part {} does not fit behind the others", inputs.size() - 1));
    made.shape[at] += part[at];
  }
  if (inputs.empty()) throw UsageError("no parts to join");
  finish_product(context, std::move(made), std::move(inputs), {y});
}

}  // namespace warpwright
