// Why nodes are not in 8 bits, and why some cannot be taken at all.
#include "src/graph/refusal.h"

#include <fmt/core.h>

#include "src/core/error.h"
#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"

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
  if (!node.quantization.per_tensor()) return "an activation with more than one scale has no 8-bit arithmetic";
  const ClampChain chain = clamp_chain(graph, index, node.inputs[0]);
  const int producer = index.producer(chain.source);
  if (producer < 0) return "it quantizes a graph input";
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

std::string_view onnx_name(const Node& node) {
  if (node.kind == NodeKind::step) return name(node.workload.kind);
  if (node.kind != NodeKind::product) return name(node.kind);
  if (node.workload.kind == OpKind::matmul) return "MatMul";
  return node.workload.kind == OpKind::conv2d ? "Conv" : "Gemm or MatMul";
}

/// Why a step cannot be what it is; empty when it can.
std::string why_no_step(const Graph& graph, const Node& node) {
  const bool any_number = !node.workload.is_real() || node.is_step(OpKind::map) || node.is_step(OpKind::join);
  const size_t most = node.is_step(OpKind::real_conv2d) || node.is_step(OpKind::normalize) ? 1 : 2;
  if (!any_number && node.inputs.size() > most) {
    return fmt::format("its operand \"{}\" is no constant", graph.tensor(node.inputs[most]).name);
  }
  for (const TensorId input : node.inputs) {
    if (graph.is_constant(input)) return "the constants that it works on are too large to compute it here";
  }
  try {
    check(node.workload, node.values);
  } catch (const InternalError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

std::string reason_of(const Graph& graph, const GraphIndex& index, const Node& node) {
  switch (node.kind) {
    case NodeKind::conv:
    case NodeKind::gemm:
      return why_product(graph, index, node);
    case NodeKind::matmul:
      return why_matmul(graph, index, node);
    case NodeKind::integer:
      return "its operands are no 8-bit codes that it can take";
    case NodeKind::product:
      return "no QuantizeLinear of one scale follows it: its sums of codes become float32";
    case NodeKind::quantize:
      return why_quantize(graph, index, node);
    case NodeKind::dequantize:
      return node.quantization.per_tensor() && is_code(node.quantization.dtype)
                 ? "its result is read in float32"
                 : "only weights and biases have more than one scale or int32 codes in 8-bit arithmetic";
    case NodeKind::add:
    case NodeKind::mul:
      return why_binary(graph, index, node);
    case NodeKind::concat:
      if (node.inputs.size() > kMostParts) return fmt::format("it joins more than {} parts", kMostParts);
      return "its parts do not come from codes of one scale, or it joins them along another axis than channels";
    case NodeKind::max_pool:
    case NodeKind::reshape:
    case NodeKind::move:
      return "its input does not come from codes of one scale that is also the scale behind it";
    case NodeKind::step:
      return "there is no 8-bit kernel for it";
    default:
      return "it does not lie between 8-bit tensors";
  }
}

std::vector<std::string> nodes_left_over(const Graph& graph) {
  const GraphIndex index(graph);
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    const std::string why = node.kind == NodeKind::step ? why_no_step(graph, node) : reason_of(graph, index, node);
    if (!why.empty()) lines.push_back(fmt::format("  node '{}' ({}): {}", node.name, onnx_name(node), why));
  }
  return lines;
}

}  // namespace warpwright
