// Pass: codes are NHWC with padded channels inside the network, NCHW at its ends and for the float32 kinds; int32 is
// NHWC where a product writes it, else NCHW; all other types are NCHW. Layout steps stand where a tensor changes
// between the two; a reshape that moves no byte goes.
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

/// Reshapes between equal forms, and all of what lies in NCHW: readers read what lies before.
void drop_idle_reshapes(Graph& graph) {
  std::vector<TensorId> replacement(graph.tensors.size());
  std::iota(replacement.begin(), replacement.end(), 0);
  for (const Node& node : graph.nodes) {
    const bool layout = node.is_step(OpKind::layout);
    if (!layout && node.kind != NodeKind::reshape) continue;
    if (layout && nhwc_form_of(graph.tensor(node.inputs[0])) != nhwc_form_of(graph.tensor(node.output))) continue;
    replacement[static_cast<size_t>(node.output)] = node.inputs[0];
  }
  replace_tensors(graph, std::move(replacement));
  remove_dead_nodes(graph);
}

/// Whether a step reads and writes NCHW alone.
bool works_in_nchw(const Graph& graph, const Node& node) {
  if (node.is_step(OpKind::move)) return !is_code(graph.tensor(node.output).dtype);
  return node.workload.is_real();
}

/// Codes, and the sums that a product writes.
bool lies_in_nhwc(const Graph& graph, const GraphIndex& index, TensorId id) {
  const DType dtype = graph.tensor(id).dtype;
  if (!is_code(dtype) && dtype != DType::s32) return false;
  const int producer = index.producer(id);
  if (producer < 0) return false;
  const Node& node = graph.nodes[static_cast<size_t>(producer)];
  return !works_in_nchw(graph, node) && (is_code(dtype) || !node.is_step(OpKind::layout));
}

std::vector<Shape> output_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const GraphOutput& output : graph.outputs) shapes.push_back(graph.tensor(output.tensor).shape);
  return shapes;
}

/// Layout steps where a step reads a tensor in another layout than it lies in.
class LayoutChanges {
 public:
  explicit LayoutChanges(Graph& graph) : graph_(graph), index_(graph) {}

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (size_t slot = 0; slot < graph_.nodes[i].inputs.size(); ++slot) change(static_cast<int>(i), slot);
    }
    insert_nodes(graph_, std::move(inserted_));
  }

 private:
  void change(int at, size_t slot) {
    Node& node = graph_.nodes[static_cast<size_t>(at)];
    const TensorId id = node.inputs[slot];
    const bool nhwc = lies_in_nhwc(graph_, index_, id);
    // A layout step of sums takes them as they lie.
    const bool wants_nhwc = is_code(graph_.tensor(id).dtype) && !works_in_nchw(graph_, node);
    const bool wants_nchw = nhwc && works_in_nchw(graph_, node);
    if (nhwc ? !wants_nchw : !wants_nhwc) return;
    const auto [found, fresh] = changed_.emplace(id, kNoTensor);
    if (fresh) {
      found->second = copy_tensor(graph_, id, nhwc ? "/nchw" : "/nhwc");
      GraphTensor& copy = graph_.tensor(found->second);
      copy.form = nhwc ? nchw_form_of(copy) : nhwc_form_of(copy);
      Node step = layout_step(graph_, id, found->second);
      if (!nhwc) step.values["pad_code"] = scalar_s32(pad_code_of_input(graph_, index_, id));
      // Those of graph inputs come first.
      inserted_.emplace_back(index_.producer(id) < 0 ? 0 : at, std::move(step));
    }
    graph_.nodes[static_cast<size_t>(at)].inputs[slot] = found->second;
  }

  Graph& graph_;
  const GraphIndex index_;
  std::map<TensorId, TensorId> changed_;
  std::vector<std::pair<int, Node>> inserted_;
};

/// A step that takes every element as it comes.
Node copy_step(const Graph& graph, TensorId from, TensorId to) {
  Node node = layout_step(graph, from, to);
  if (is_code(graph.tensor(from).dtype) || graph.tensor(from).dtype == DType::s32) return node;
  node.workload.movement = simplified(whole(graph.tensor(to).shape));
  become_step(node, OpKind::move, {from}, {});
  return node;
}

/// Graph outputs have their shapes again: what lies in NHWC by a layout step, a graph input by a copy.
void convert_outputs(Graph& graph, const std::vector<Shape>& shapes) {
  const GraphIndex index(graph);
  std::map<std::pair<TensorId, Shape>, TensorId> outer;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    GraphOutput& output = graph.outputs[i];
    if (!lies_in_nhwc(graph, index, output.tensor) && index.producer(output.tensor) >= 0) {
      output.shape = shapes[i];
      continue;
    }
    auto [at, fresh] = outer.emplace(std::pair{output.tensor, shapes[i]}, kNoTensor);
    if (fresh) {
      at->second = copy_tensor(graph, output.tensor, "/nchw");
      graph.tensor(at->second).shape = shapes[i];
      graph.tensor(at->second).form = nchw_form_of(graph.tensor(at->second));
      graph.nodes.push_back(copy_step(graph, output.tensor, at->second));
    }
    output.tensor = at->second;
  }
}

/// The float32 elements of these codes, whatever shape they came in.
TensorForm unrolled(const GraphTensor& codes) {
  TensorForm form = nchw_form_of(codes);
  form.dtype = DType::f32;
  return form;
}

void set_forms(Graph& graph) {
  const GraphIndex index(graph);
  for (const TensorId input : graph.inputs) graph.tensor(input).form = nchw_form_of(graph.tensor(input));
  const auto set_form = [&](TensorId id) {
    GraphTensor& tensor = graph.tensor(id);
    if (!tensor.form) tensor.form = lies_in_nhwc(graph, index, id) ? nhwc_form_of(tensor) : nchw_form_of(tensor);
  };
  std::map<TensorId, int32_t> pad_codes;
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::step) continue;
    for (const TensorId id : node.inputs) set_form(id);
    set_form(node.output);
    if (node.workload.is_real()) continue;
    const GraphTensor& output = graph.tensor(node.output);
    node.workload = with_forms(graph, node);
    if (node.is_step(OpKind::quantize)) node.workload.inputs[0] = unrolled(output);
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
  LayoutChanges(graph).run();
  convert_outputs(graph, shapes);
  set_forms(graph);
}

}  // namespace warpwright
