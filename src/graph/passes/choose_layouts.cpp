// Pass: codes are NHWC with padded channels inside the network and NCHW at its ends; float32 is NCHW; int32 is NHWC
// where a product writes it, else NCHW. Layout steps stand where a tensor changes between the two; a reshape that moves
// no byte goes.
#include <algorithm>
#include <numeric>

#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

/// The zero point by which `node` reads its input number `slot`, where its values say it.
std::optional<int32_t> zero_point_read(const Node& node, size_t slot) {
  const char* name = nullptr;
  switch (node.workload.kind) {
    case OpKind::conv2d:
    case OpKind::dense:
      name = slot == 0 ? "x_zero_point" : "residual_zero_point";
      break;
    case OpKind::add:
    case OpKind::mul:
    case OpKind::matmul:
      name = slot == 0 ? "a_zero_point" : "b_zero_point";
      break;
    case OpKind::average_pool:
      name = "x_zero_point";
      break;
    case OpKind::dequantize:
      name = "zero_point";
      break;
    default:
      return std::nullopt;
  }
  auto found = node.values.find(name);
  if (found == node.values.end()) return std::nullopt;
  return found->second.as<int32_t>()[0];
}

int32_t pad_code_of_input(const Graph& graph, const GraphIndex& index, TensorId id) {
  for (int reader : index.readers(id)) {
    const Node& node = graph.nodes[static_cast<size_t>(reader)];
    if (node.kind != NodeKind::step) continue;
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const auto zero_point = node.inputs[slot] == id ? zero_point_read(node, slot) : std::nullopt;
      if (zero_point) return *zero_point;
    }
  }
  return 0;
}

TensorId copy_tensor(Graph& graph, TensorId id, const std::string& suffix) {
  const GraphTensor& tensor = graph.tensor(id);
  std::string name = tensor.name + suffix;
  Shape shape = tensor.shape;
  return graph.add_tensor(std::move(name), tensor.dtype, std::move(shape));
}

Node layout_step(const Graph& graph, TensorId from, TensorId to) {
  Node node;
  node.name = graph.tensor(to).name;
  node.output = to;
  become_step(node, OpKind::layout, {from}, {});
  return node;
}

/// Reshapes between equal forms: readers read what lies before.
void drop_idle_reshapes(Graph& graph) {
  std::vector<TensorId> replacement(graph.tensors.size());
  std::iota(replacement.begin(), replacement.end(), 0);
  for (const Node& node : graph.nodes) {
    if (!node.is_step(OpKind::layout)) continue;
    if (nhwc_form_of(graph.tensor(node.inputs[0])) != nhwc_form_of(graph.tensor(node.output))) continue;
    replacement[static_cast<size_t>(node.output)] = node.inputs[0];
  }
  replace_tensors(graph, std::move(replacement));
  remove_dead_nodes(graph);
}

/// Codes, and the sums that a product writes.
bool lies_in_nhwc(const Graph& graph, const GraphIndex& index, TensorId id) {
  const DType dtype = graph.tensor(id).dtype;
  if (dtype != DType::s32) return is_code(dtype);
  const int producer = index.producer(id);
  if (producer < 0) return false;
  const Node& node = graph.nodes[static_cast<size_t>(producer)];
  return !node.is_step(OpKind::layout) && !node.is_step(OpKind::move);
}

std::vector<Shape> output_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const GraphOutput& output : graph.outputs) shapes.push_back(graph.tensor(output.tensor).shape);
  return shapes;
}

/// A layout step behind each graph input of codes and before each graph output of codes, which has its shape again.
void convert_ends(Graph& graph, const std::vector<Shape>& shapes) {
  const GraphIndex index(graph);
  std::vector<TensorId> replacement(graph.tensors.size());
  std::iota(replacement.begin(), replacement.end(), 0);
  std::vector<Node> first;
  for (TensorId input : graph.inputs) {
    graph.tensor(input).form = nchw_form_of(graph.tensor(input));
    if (!is_code(graph.tensor(input).dtype)) continue;
    if (index.readers(input).empty() && !index.is_output(input)) continue;
    const TensorId inner = copy_tensor(graph, input, "/nhwc");
    replacement[static_cast<size_t>(input)] = inner;
    replacement.push_back(inner);
    Node node = layout_step(graph, input, inner);
    node.values["pad_code"] = scalar_s32(pad_code_of_input(graph, index, input));
    first.push_back(std::move(node));
  }
  replace_tensors(graph, std::move(replacement));
  graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
  const GraphIndex with_first(graph);
  std::map<std::pair<TensorId, Shape>, TensorId> outer;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    GraphOutput& output = graph.outputs[i];
    if (!lies_in_nhwc(graph, with_first, output.tensor) && graph.tensor(output.tensor).shape == shapes[i]) continue;
    auto [at, fresh] = outer.emplace(std::pair{output.tensor, shapes[i]}, kNoTensor);
    if (fresh) {
      at->second = copy_tensor(graph, output.tensor, "/nchw");
      graph.tensor(at->second).shape = shapes[i];
      graph.tensor(at->second).form = nchw_form_of(graph.tensor(at->second));
      graph.nodes.push_back(layout_step(graph, output.tensor, at->second));
    }
    output.tensor = at->second;
  }
}

void set_forms(Graph& graph) {
  const GraphIndex index(graph);
  const auto set_form = [&](TensorId id) {
    GraphTensor& tensor = graph.tensor(id);
    if (!tensor.form) tensor.form = lies_in_nhwc(graph, index, id) ? nhwc_form_of(tensor) : nchw_form_of(tensor);
  };
  std::map<TensorId, int32_t> pad_codes;
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::step) continue;
    for (const TensorId id : node.inputs) set_form(id);
    set_form(node.output);
    const GraphTensor& output = graph.tensor(node.output);
    node.workload = with_forms(graph, node);
    if (output.form->layout != Layout::nhwc) continue;
    // What only moves codes pads as its input is padded.
    auto pad = node.values.emplace("pad_code", scalar_s32(pad_codes[node.inputs[0]])).first;
    pad_codes[node.output] = pad->second.as<int32_t>()[0];
  }
}

}  // namespace

void choose_layouts(Graph& graph) {
  const std::vector<Shape> shapes = output_shapes(graph);
  drop_idle_reshapes(graph);
  convert_ends(graph, shapes);
  set_forms(graph);
}

}  // namespace warpwright
