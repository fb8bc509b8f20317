// Pass: DequantizeLinear, AveragePool, activation and QuantizeLinear become one step.
#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"

namespace warpwright {

void fuse_average_pools(Graph& graph) {
  const GraphIndex index(graph);
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::quantize || !node.quantization.per_tensor()) continue;
    const ClampChain chain = clamp_chain(graph, index, node.inputs[0]);
    const Node* pool = producer_of_kind(graph, index, chain.source, NodeKind::average_pool);
    if (!pool) continue;
    const auto x = dequantized_codes(graph, index, pool->inputs[0]);
    if (!x) continue;
    Values values{{"x_scale", scalar_f32(x->scale)}, {"x_zero_point", scalar_s32(x->zero_point)}};
    set_requantization(values, chain, node.quantization);
    std::vector<std::string> names = x->onnx_nodes;
    append_names(names, pool->onnx_nodes);
    append_names(names, chain.onnx_nodes);
    append_names(names, node.onnx_nodes);
    node.onnx_nodes = std::move(names);
    node.name = pool->name;
    node.workload.window = pool->window;
    node.workload.count_include_pad = pool->count_include_pad;
    become_step(node, OpKind::average_pool, {x->codes}, std::move(values));
  }
  remove_dead_nodes(graph);
}

}  // namespace warpwright
