// Why nodes are left over when all passes have run.
#include "src/graph/refusal.h"

#include <fmt/core.h>

#include "src/graph/passes/chain.h"

namespace warpwright {

namespace {

std::string why_product(const Graph& graph, const GraphIndex& index, const Node& node) {
  const GraphTensor& x = graph.tensor(node.inputs[0]);
  const GraphTensor& w = graph.tensor(node.inputs[1]);
  if (!dequantized_codes(graph, index, node.inputs[0])) {
    return fmt::format("its input \"{}\" does not come from 8-bit codes with one scale", x.name);
  }
  const Node* dequantize = producer_of_kind(graph, index, node.inputs[1], NodeKind::dequantize);
  if (!dequantize || !is_code(dequantize->quantization.dtype)) {
    return fmt::format("its weight \"{}\" does not come from constant 8-bit codes", w.name);
  }
  if (!dequantize->quantization.per_tensor()) {
    const int64_t axis = node.kind == NodeKind::gemm && !node.transposed_weights ? 1 : 0;
    if (dequantize->quantization.axis != axis) {
      return fmt::format("its weight \"{}\" has scales along axis {}, output channels lie along axis {}", w.name,
                         dequantize->quantization.axis, axis);
    }
  }
  return "its bias is no constant that can become int32";
}

std::string why_matmul(const Graph& graph, const GraphIndex& index, const Node& node) {
  for (const TensorId input : node.inputs) {
    if (!dequantized_codes(graph, index, input)) {
      return fmt::format("its operand \"{}\" does not come from 8-bit codes with one scale", graph.tensor(input).name);
    }
  }
  return "it stays in float32";
}

std::string why_quantize(const Graph& graph, const GraphIndex& index, const Node& node) {
  if (!node.quantization.per_tensor()) return "an activation with more than one scale is not supported";
  const ClampChain chain = clamp_chain(graph, index, node.inputs[0]);
  const int producer = index.producer(chain.source);
  if (producer < 0) return "what it quantizes is no graph input";
  const Node& before = graph.nodes[static_cast<size_t>(producer)];
  if (before.kind == NodeKind::product) return "the scale of the product before it exceeds float32";
  return fmt::format("what it quantizes comes from node '{}' ({}), which is left in float32", before.name,
                     name(before.kind));
}

std::string why_binary(const Graph& graph, const GraphIndex& index, const Node& node) {
  for (TensorId input : node.inputs) {
    if (graph.is_constant(input) && graph.tensor(input).constant->size() != 1) {
      return fmt::format("its operand \"{}\" is a constant of more than one element", graph.tensor(input).name);
    }
    const int producer = index.producer(input);
    if (producer < 0 && !graph.is_constant(input)) {
      return fmt::format("its operand \"{}\" is float32 and no result of 8-bit codes", graph.tensor(input).name);
    }
  }
  return "it stays in float32: both operands must come from 8-bit codes, and QuantizeLinear must follow";
}

std::string why(const Graph& graph, const GraphIndex& index, const Node& node) {
  const bool codes = is_code(graph.tensor(node.output).dtype);
  switch (node.kind) {
    case NodeKind::conv:
    case NodeKind::gemm:
      return why_product(graph, index, node);
    case NodeKind::matmul:
      return why_matmul(graph, index, node);
    case NodeKind::integer:
      return "its operands are no 8-bit codes that it can take";
    case NodeKind::product:
      return "no QuantizeLinear follows it: float32 results of products are not supported";
    case NodeKind::quantize:
      return why_quantize(graph, index, node);
    case NodeKind::dequantize:
      return node.quantization.per_tensor() && is_code(node.quantization.dtype)
                 ? "its result stays in float32"
                 : "codes with more than one scale, and int32 codes, are supported for weights and biases only";
    case NodeKind::add:
    case NodeKind::mul:
      return why_binary(graph, index, node);
    case NodeKind::concat:
      if (codes) return "joins that are not along channels, or of more than 64 parts, are not supported";
      return "its parts stay in float32";
    case NodeKind::max_pool:
    case NodeKind::reshape:
    case NodeKind::move:
      return codes ? "it works on a constant" : "it stays in float32";
    default:
      return "it stays in float32: it must lie between 8-bit tensors";
  }
}

std::string_view onnx_name(const Node& node) {
  if (node.kind != NodeKind::product) return name(node.kind);
  if (node.workload.kind == OpKind::matmul) return "MatMul";
  return node.workload.kind == OpKind::conv2d ? "Conv" : "Gemm or MatMul";
}

}  // namespace

std::vector<std::string> nodes_left_over(const Graph& graph) {
  const GraphIndex index(graph);
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::step) continue;
    lines.push_back(fmt::format("  node '{}' ({}): {}", node.name, onnx_name(node), why(graph, index, node)));
  }
  return lines;
}

}  // namespace warpwright
