// Pass: what works on codes and is no step yet becomes one: QuantizeLinear and DequantizeLinear of one scale, max
// pools, concats, reshapes; and movements by strides of any type.
#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

void form_quantize(const Graph& graph, const GraphIndex& index, Node& node) {
  const ClampChain chain = clamp_chain(graph, index, node.inputs[0]);
  if (!node.quantization.per_tensor()) return;
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
  if (!dequantized_codes(graph, index, node.output)) return;
  become_step(
      node, OpKind::dequantize, node.inputs,
      {{"scale", scalar_f32(node.quantization.scale[0])}, {"zero_point", scalar_s32(node.quantization.zero_point[0])}});
}

/// What takes the elements as they come is a layout step, if these are codes or sums.
void form_gather(const Graph& graph, Node& node) {
  const GraphTensor &x = graph.tensor(node.inputs[0]), &y = graph.tensor(node.output);
  // Others lie as they come, whatever the shape.
  if (node.kind == NodeKind::reshape && !is_code(y.dtype) && y.dtype != DType::s32) return;
  if (node.kind == NodeKind::reshape) node.movement = simplified(whole(y.shape));
  if ((is_code(y.dtype) || y.dtype == DType::s32) && node.movement.is_identity(element_count(x.shape))) {
    return become_step(node, OpKind::layout, node.inputs, {});
  }
  node.workload.movement = node.movement;
  become_step(node, OpKind::move, node.inputs, fill_value(node, y.dtype));
}

void form_movement(const Graph& graph, Node& node) {
  const DType dtype = graph.tensor(node.output).dtype;
  const bool moves_alone = node.kind == NodeKind::reshape || node.kind == NodeKind::move;
  if (!is_code(dtype) && !moves_alone) return;
  for (TensorId input : node.inputs) {
    if (graph.is_constant(input)) return;
  }
  if (node.kind == NodeKind::max_pool) {
    node.workload.window = node.window;
    become_step(node, OpKind::max_pool, node.inputs, {});
  } else if (moves_alone) {
    form_gather(graph, node);
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
      case NodeKind::move:
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
