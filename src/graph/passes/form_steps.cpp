// Pass: what works on codes and is no step yet becomes one: QuantizeLinear of graph inputs, DequantizeLinear to graph
// outputs, max pools, concats, reshapes.
#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

constexpr size_t kMostParts = 64;

bool is_input(const Graph& graph, TensorId id) {
  for (TensorId input : graph.inputs) {
    if (input == id) return true;
  }
  return false;
}

void form_quantize(const Graph& graph, const GraphIndex& index, Node& node) {
  const ClampChain chain = clamp_chain(graph, index, node.inputs[0]);
  if (!node.quantization.per_tensor() || !is_input(graph, chain.source)) return;
  const Quantization& y = node.quantization;
  Values values{{"scale", scalar_f32(y.scale[0])},
                {"zero_point", scalar_s32(y.zero_point[0])},
                {"pad_code", scalar_s32(y.zero_point[0])}};
  set_bounds(values, "lo", "hi", chain.lo, chain.hi, y);
  std::vector<std::string> names = chain.onnx_nodes;
  append_names(names, node.onnx_nodes);
  node.onnx_nodes = std::move(names);
  become_step(node, OpKind::quantize, {chain.source}, std::move(values));
}

void form_dequantize(const Graph& graph, const GraphIndex& index, Node& node) {
  if (!index.is_output(node.output) || !dequantized_codes(graph, index, node.output)) return;
  become_step(
      node, OpKind::dequantize, node.inputs,
      {{"scale", scalar_f32(node.quantization.scale[0])}, {"zero_point", scalar_s32(node.quantization.zero_point[0])}});
}

void form_movement(const Graph& graph, Node& node) {
  const DType dtype = graph.tensor(node.output).dtype;
  if (!is_code(dtype) && (dtype != DType::s32 || node.kind != NodeKind::reshape)) return;
  for (TensorId input : node.inputs) {
    if (graph.is_constant(input)) return;
  }
  if (node.kind == NodeKind::max_pool) {
    node.workload.window = node.window;
    become_step(node, OpKind::max_pool, node.inputs, {});
  } else if (node.kind == NodeKind::reshape) {
    become_step(node, OpKind::layout, node.inputs, {});
  } else if (node.kind == NodeKind::concat) {
    const size_t rank = graph.tensor(node.output).shape.size();
    const bool channels = node.axis == (rank == 1 ? 0 : 1);
    if (channels && node.inputs.size() <= kMostParts) become_step(node, OpKind::concat, node.inputs, {});
  }
}

}  // namespace

void form_steps(Graph& graph) {
  const GraphIndex index(graph);
  for (Node& node : graph.nodes) {
    switch (node.kind) {
      case NodeKind::quantize:
        form_quantize(graph, index, node);
        break;
      case NodeKind::dequantize:
        form_dequantize(graph, index, node);
        break;
      case NodeKind::max_pool:
      case NodeKind::reshape:
      case NodeKind::concat:
        form_movement(graph, node);
        break;
      default:
        break;
    }
  }
  remove_dead_nodes(graph);
}

}  // namespace warpwright
