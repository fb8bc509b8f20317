// Pass: an Add of a product's codes and other codes joins the product, which then writes the sum: the rounded form.
#include <utility>

#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

/// The product that may take the Add over, seen from one side of it; null when it may not.
const Node* candidate(const Graph& graph, const GraphIndex& index, const Node& add, size_t side) {
  const TensorId id = add.inputs[side], other = add.inputs[1 - side];
  const Node* product = producer_of_kind(graph, index, id, NodeKind::step);
  if (!product || !product->workload.is_matrix_product() || !index.has_single_reader(id)) return nullptr;
  const Epilogue& epilogue = product->workload.epilogue;
  if (epilogue.residual != ResidualForm::none || epilogue.table) return nullptr;
  const Shape& shape = graph.tensor(add.output).shape;
  if (graph.tensor(id).shape != shape || graph.tensor(other).shape != shape) return nullptr;
  // d in the rounded form is centred with the product's own zero point.
  const Tensor& zero_point = add.values.at(side == 0 ? "a_zero_point" : "b_zero_point");
  return zero_point == product->values.at("y_zero_point") ? product : nullptr;
}

/// Depends on the form alone, so that names and the order of nodes change no key.
bool is_preferred(const Graph& graph, const Node& one, const Node& other) {
  const Workload a = with_forms(graph, one), b = with_forms(graph, other);
  if (a.multiply_adds() != b.multiply_adds()) return a.multiply_adds() > b.multiply_adds();
  return key(a) < key(b);
}

void join(Node& add, Node product, size_t side) {
  const std::string own = side == 0 ? "a_" : "b_", other = side == 0 ? "b_" : "a_";
  Values values = std::move(product.values);
  values["conv_scale"] = add.values.at(own + "scale");
  values["residual_scale"] = add.values.at(other + "scale");
  values["residual_zero_point"] = add.values.at(other + "zero_point");
  values["sum_lo"] = add.values.at("lo");
  values["sum_hi"] = add.values.at("hi");
  for (const char* same : {"y_scale", "y_zero_point", "pad_code"}) values[same] = add.values.at(same);
  std::vector<std::string> names = product.onnx_nodes;
  append_names(names, add.onnx_nodes);
  add.onnx_nodes = std::move(names);
  add.name = product.name;
  const TensorId residual = add.inputs[1 - side];
  add.workload = product.workload;
  add.workload.epilogue.residual = ResidualForm::rounded;
  become_step(add, product.workload.kind, {product.inputs[0], residual}, std::move(values));
}

}  // namespace

void fuse_residuals(Graph& graph) {
  const GraphIndex index(graph);
  for (Node& node : graph.nodes) {
    if (!node.is_step(OpKind::add)) continue;
    const Node* a = candidate(graph, index, node, 0);
    const Node* b = candidate(graph, index, node, 1);
    if (!a && !b) continue;
    const bool first = a && (!b || is_preferred(graph, *a, *b));
    const size_t side = first ? 0 : 1;
    join(node, std::move(graph.nodes[static_cast<size_t>(index.producer(node.inputs[side]))]), side);
  }
  remove_dead_nodes(graph);
}

}  // namespace warpwright
