// Pass: a table that alone reads a product's codes joins the product.
#include <numeric>
#include <utility>

#include "src/graph/passes/passes.h"

namespace warpwright {

void fuse_tables(Graph& graph) {
  const GraphIndex index(graph);
  for (Node& node : graph.nodes) {
    if (!node.is_step(OpKind::lookup)) continue;
    const TensorId input = node.inputs[0];
    const int producer = index.producer(input);
    if (producer < 0 || !index.has_single_reader(input)) continue;
    Node& product = graph.nodes[static_cast<size_t>(producer)];
    if (product.kind != NodeKind::step || !product.workload.is_matrix_product()) continue;
    if (product.workload.epilogue.table) continue;
    Node joined = std::move(product);
    joined.output = node.output;
    append_names(joined.onnx_nodes, node.onnx_nodes);
    joined.workload.epilogue.table = true;
    joined.workload.epilogue.table_input = graph.tensor(input).dtype;
    for (const char* name : {"table", "pad_code"}) joined.values[name] = node.values.at(name);
    node = std::move(joined);
  }
  remove_dead_nodes(graph);
}

}  // namespace warpwright
