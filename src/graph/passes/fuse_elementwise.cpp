// Pass: chains of elementwise operators between two 8-bit tensors become tables (step.lookup); Add and Mul of two 8-bit
// tensors, with the activation and QuantizeLinear behind, become one step.
#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"
#include "src/graph/passes/table.h"

namespace warpwright {

namespace {

/// The zero point that a reader sees in `id`; 0 when none says.
int32_t zero_point_for_readers(const Graph& graph, const GraphIndex& index, TensorId id) {
  for (int reader : index.readers(id)) {
    const Node& node = graph.nodes[static_cast<size_t>(reader)];
    if (node.kind == NodeKind::dequantize && node.quantization.per_tensor()) return node.quantization.zero_point[0];
  }
  return 0;
}

bool make_table(const Graph& graph, const GraphIndex& index, Node& node) {
  auto chain = elementwise_chain(graph, index, node);
  if (!chain) return false;
  const int32_t pad = node.kind == NodeKind::quantize ? node.quantization.zero_point[0]
                                                      : zero_point_for_readers(graph, index, node.output);
  node.onnx_nodes = std::move(chain->onnx_nodes);
  become_step(node, OpKind::lookup, {chain->source},
              {{"table", to_tensor(chain->table)}, {"pad_code", scalar_s32(pad)}});
  return true;
}

class BinaryFusion {
 public:
  BinaryFusion(Graph& graph, const GraphIndex& index) : graph_(graph), index_(index) {}

  void fuse(size_t at) {
    Node& node = graph_.nodes[at];
    const ClampChain chain = clamp_chain(graph_, index_, node.inputs[0]);
    const Node* binary = producer_of_kind(graph_, index_, chain.source, NodeKind::add);
    if (!binary) binary = producer_of_kind(graph_, index_, chain.source, NodeKind::mul);
    if (!binary) return;
    const auto a = dequantized_codes(graph_, index_, binary->inputs[0]);
    const auto b = dequantized_codes(graph_, index_, binary->inputs[1]);
    if (!a || !b || !may_broadcast(a->codes, node.output) || !may_broadcast(b->codes, node.output)) return;
    Values values{{"a_scale", scalar_f32(a->scale)},
                  {"a_zero_point", scalar_s32(a->zero_point)},
                  {"b_scale", scalar_f32(b->scale)},
                  {"b_zero_point", scalar_s32(b->zero_point)}};
    set_requantization(values, chain, node.quantization);
    std::vector<std::string> names = a->onnx_nodes;
    append_names(names, b->onnx_nodes);
    append_names(names, binary->onnx_nodes);
    append_names(names, chain.onnx_nodes);
    append_names(names, node.onnx_nodes);
    node.onnx_nodes = std::move(names);
    node.name = binary->name;
    const OpKind kind = binary->kind == NodeKind::add ? OpKind::add : OpKind::mul;
    become_step(node, kind, {aligned(a->codes, node, at), aligned(b->codes, node, at)}, std::move(values));
  }

  void finish() { insert_nodes(graph_, std::move(inserted_)); }

 private:
  /// Ranks above 4 fold dimensions, so there only equal shapes fit.
  bool may_broadcast(TensorId codes, TensorId output) const {
    const Shape& from = graph_.tensor(codes).shape;
    const Shape& to = graph_.tensor(output).shape;
    return to.size() <= 4 || from == to;
  }

  /// `codes` with as many dimensions as the output has.
  TensorId aligned(TensorId codes, const Node& node, size_t at) {
    const size_t rank = graph_.tensor(node.output).shape.size();
    Shape shape = graph_.tensor(codes).shape;
    if (shape.size() >= rank) return codes;
    shape.insert(shape.begin(), rank - shape.size(), 1);
    Node reshape;
    reshape.kind = NodeKind::reshape;
    reshape.name = node.name;
    reshape.onnx_nodes = node.onnx_nodes;
    reshape.inputs = {codes};
    reshape.output =
        graph_.add_tensor(graph_.tensor(codes).name + "/aligned", graph_.tensor(codes).dtype, std::move(shape));
    inserted_.emplace_back(static_cast<int>(at), reshape);
    return reshape.output;
  }

  Graph& graph_;
  const GraphIndex& index_;
  std::vector<std::pair<int, Node>> inserted_;
};

}  // namespace

void fuse_elementwise(Graph& graph) {
  const GraphIndex index(graph);
  BinaryFusion binaries(graph, index);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    const bool quantize = node.kind == NodeKind::quantize && node.quantization.per_tensor();
    const bool clip_codes = node.kind == NodeKind::clip && is_code(graph.tensor(node.output).dtype);
    if (!quantize && !clip_codes) continue;
    if (!make_table(graph, index, node) && quantize) binaries.fuse(i);
  }
  binaries.finish();
  remove_dead_nodes(graph);
}

}  // namespace warpwright
