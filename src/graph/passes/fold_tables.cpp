// Pass: tables of tables become one table; one that changes nothing goes; one that only clamps codes becomes tighter
// bounds of the step before it.
#include <algorithm>
#include <numeric>

#include "src/graph/passes/passes.h"
#include "src/graph/passes/table.h"

namespace warpwright {

namespace {

/// Names of the last bounds of a step, and of their zero point; empty when it has none.
struct BoundNames {
  std::string lo, hi, zero_point;
};

BoundNames bound_names(const Node& node) {
  if (node.kind != NodeKind::step) return {};
  switch (node.workload.kind) {
    case OpKind::conv2d:
    case OpKind::dense:
      if (node.workload.epilogue.residual == ResidualForm::none) return {"lo", "hi", "y_zero_point"};
      return {"sum_lo", "sum_hi", "y_zero_point"};
    case OpKind::add:
    case OpKind::mul:
    case OpKind::average_pool:
    case OpKind::matmul:
      return {"lo", "hi", "y_zero_point"};
    case OpKind::quantize:
      return {"lo", "hi", "zero_point"};
    default:
      return {};
  }
}

void tighten(Node& node, const BoundNames& names, CodeClamp clamp) {
  const int32_t zero_point = node.values.at(names.zero_point).as<int32_t>()[0];
  for (const std::string& name : {names.lo, names.hi}) {
    const float bound = node.values.at(name).as<float>()[0];
    const auto lo = static_cast<float>(clamp.lo - zero_point), hi = static_cast<float>(clamp.hi - zero_point);
    node.values[name] = scalar_f32(std::min(std::max(bound, lo), hi));
  }
}

class TableFolding {
 public:
  explicit TableFolding(Graph& graph) : graph_(graph), index_(graph), replacement_(graph.tensors.size()) {
    std::iota(replacement_.begin(), replacement_.end(), 0);
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      has_single_reader_.push_back(index_.has_single_reader(static_cast<TensorId>(i)));
    }
  }

  void run() {
    for (Node& node : graph_.nodes) {
      if (node.is_step(OpKind::lookup)) fold(node);
    }
    replace_tensors(graph_, std::move(replacement_));
    remove_dead_nodes(graph_);
  }

 private:
  void fold(Node& node) {
    TensorId& input = node.inputs[0];
    input = replacement_[static_cast<size_t>(input)];
    if (is_identity(node)) return replace(node);
    if (compose(node) && is_identity(node)) return replace(node);
    const auto clamp = clamp_of(node);
    if (!clamp) return;
    const int producer = index_.producer(input);
    if (producer < 0 || !has_single_reader_[static_cast<size_t>(input)]) return;
    Node& before = graph_.nodes[static_cast<size_t>(producer)];
    const BoundNames names = bound_names(before);
    if (names.lo.empty()) return;
    tighten(before, names, *clamp);
    append_names(before.onnx_nodes, node.onnx_nodes);
    replace(node);
  }

  std::optional<CodeClamp> clamp_of(const Node& node) const {
    const DType in = graph_.tensor(node.inputs[0]).dtype, out = graph_.tensor(node.output).dtype;
    return in == out ? as_clamp(code_table(node.values.at("table")), out) : std::nullopt;
  }

  bool is_identity(const Node& node) const {
    const auto clamp = clamp_of(node);
    const DType dtype = graph_.tensor(node.output).dtype;
    return clamp && clamp->lo == code_min(dtype) && clamp->hi == code_max(dtype);
  }

  /// Readers of the table read what it reads.
  void replace(const Node& node) {
    const auto from = static_cast<size_t>(node.output), to = static_cast<size_t>(node.inputs[0]);
    replacement_[from] = node.inputs[0];
    has_single_reader_[to] = has_single_reader_[to] && has_single_reader_[from];
  }

  /// With a table before it that nothing else reads: one that others read stays shared.
  bool compose(Node& node) {
    const int producer = index_.producer(node.inputs[0]);
    if (producer < 0 || !has_single_reader_[static_cast<size_t>(node.inputs[0])]) return false;
    const Node& before = graph_.nodes[static_cast<size_t>(producer)];
    if (!before.is_step(OpKind::lookup)) return false;
    const CodeTable first = code_table(before.values.at("table")), second = code_table(node.values.at("table"));
    CodeTable both;
    for (size_t i = 0; i < 256; ++i) both[i] = second[first[i]];
    node.values["table"] = to_tensor(both);
    std::vector<std::string> names = before.onnx_nodes;
    append_names(names, node.onnx_nodes);
    node.onnx_nodes = std::move(names);
    node.inputs = before.inputs;
    return true;
  }

  Graph& graph_;
  GraphIndex index_;
  std::vector<TensorId> replacement_;
  std::vector<bool> has_single_reader_;
};

}  // namespace

void fold_tables(Graph& graph) { TableFolding(graph).run(); }

}  // namespace warpwright
