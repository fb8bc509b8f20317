// Pass: notes of every node that no pass has taken into 8 bits why.
#include "src/graph/passes/passes.h"
#include "src/graph/refusal.h"

namespace warpwright {

void note_reasons(Graph& graph) {
  const GraphIndex index(graph);
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::step && !node.workload.is_real()) continue;
    const std::string reason = reason_of(graph, index, node);
    for (const std::string& name : node.onnx_nodes) graph.reasons.emplace(name, reason);
  }
}

}  // namespace warpwright
