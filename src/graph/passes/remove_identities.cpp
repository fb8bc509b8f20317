// Pass: Identity nodes go.
#include <numeric>

#include "src/graph/passes/passes.h"

namespace warpwright {

void remove_identities(Graph& graph) {
  std::vector<TensorId> replacement(graph.tensors.size());
  std::iota(replacement.begin(), replacement.end(), 0);
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::identity) replacement[static_cast<size_t>(node.output)] = node.inputs[0];
  }
  replace_tensors(graph, std::move(replacement));
  remove_dead_nodes(graph);
}

}  // namespace warpwright
