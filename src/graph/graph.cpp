// Graph: its indices and the rewrites that passes share.
#include "src/graph/graph.h"

#include <algorithm>
#include <numeric>

namespace warpwright {

namespace {

struct Extents {
  int64_t n = 1, c = 1, h = 1, w = 1;
};

Extents extents_of(const Shape& shape) {
  Extents extents;
  const size_t rank = shape.size();
  if (rank == 1) extents.c = shape[0];
  if (rank >= 2) {
    extents.n = shape[0];
    extents.c = shape[1];
  }
  if (rank >= 3) extents.w = shape[rank - 1];
  for (size_t i = 2; i + 1 < rank; ++i) extents.h *= shape[i];
  return extents;
}

}  // namespace

TensorId Graph::add_tensor(std::string name, DType dtype, Shape shape) {
  tensors.push_back({std::move(name), dtype, std::move(shape), std::nullopt, std::nullopt});
  return static_cast<TensorId>(tensors.size()) - 1;
}

GraphIndex::GraphIndex(const Graph& graph)
    : producers_(graph.tensors.size(), -1), readers_(graph.tensors.size()), outputs_(graph.tensors.size(), false) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    producers_[static_cast<size_t>(node.output)] = static_cast<int>(i);
    for (TensorId input : node.inputs) {
      if (input != kNoTensor) readers_[static_cast<size_t>(input)].push_back(static_cast<int>(i));
    }
  }
  for (const GraphOutput& output : graph.outputs) outputs_[static_cast<size_t>(output.tensor)] = true;
}

void replace_tensors(Graph& graph, std::vector<TensorId> replacement) {
  auto final_of = [&](TensorId id) {
    TensorId last = id;
    while (replacement[static_cast<size_t>(last)] != last) last = replacement[static_cast<size_t>(last)];
    while (replacement[static_cast<size_t>(id)] != last) id = std::exchange(replacement[static_cast<size_t>(id)], last);
    return last;
  };
  for (Node& node : graph.nodes) {
    for (TensorId& input : node.inputs) {
      if (input != kNoTensor) input = final_of(input);
    }
  }
  for (GraphOutput& output : graph.outputs) output.tensor = final_of(output.tensor);
}

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> needed(graph.tensors.size(), false);
  for (const GraphOutput& output : graph.outputs) needed[static_cast<size_t>(output.tensor)] = true;
  std::vector<Node> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    if (!needed[static_cast<size_t>(node.output)]) continue;
    for (TensorId input : node.inputs) {
      if (input != kNoTensor) needed[static_cast<size_t>(input)] = true;
    }
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) graph.tensors[i].constant.reset();
  }
}

void append_names(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& item : more) {
    if (std::find(names.begin(), names.end(), item) == names.end()) names.push_back(item);
  }
}

TensorForm nhwc_form_of(const GraphTensor& tensor) {
  const Extents e = extents_of(tensor.shape);
  return nhwc_form(tensor.dtype, e.n, e.h, e.w, e.c);
}

TensorForm nchw_form_of(const GraphTensor& tensor) {
  const Extents e = extents_of(tensor.shape);
  return nchw_form(tensor.dtype, e.n, e.c, e.h, e.w);
}

}  // namespace warpwright
