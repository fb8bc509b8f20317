// Pass: Q moves up and DQ down over operators that only move elements. Both are exact: they work element by element,
// and with a positive scale they keep the order that MaxPool looks at.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

bool moves_elements(const Node& node) {
  return node.kind == NodeKind::reshape || node.kind == NodeKind::move || node.kind == NodeKind::max_pool ||
         node.kind == NodeKind::concat || node.is_step(OpKind::gather);
}

/// The inputs whose elements are moved; the index of a gather is none.
std::span<TensorId> moved_inputs(Node& node) {
  return {node.inputs.begin(), node.is_step(OpKind::gather) ? 1 : node.inputs.size()};
}

float code_of_real(float real, const Quantization& y) {
  const auto least = static_cast<float>(code_min(y.dtype) - y.zero_point[0]);
  const auto most = static_cast<float>(code_max(y.dtype) - y.zero_point[0]);
  return std::nearbyint(std::fmin(std::fmax(real / y.scale[0], least), most)) + static_cast<float>(y.zero_point[0]);
}

/// Where dimension `axis` of `from` is one of `to`, the same elements in order.
std::optional<int64_t> axis_behind_reshape(const Shape& from, const Shape& to, int64_t axis) {
  const int64_t before = element_count(Shape(from.begin(), from.begin() + axis));
  for (size_t i = 0; i < to.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (to[i] == from[static_cast<size_t>(axis)] && element_count(Shape(to.begin(), to.begin() + at)) == before) {
      return at;
    }
  }
  return std::nullopt;
}

/// Where the channels of a DequantizeLinear before `node` lie behind it.
std::optional<int64_t> axis_behind(const Graph& graph, const Node& node, int64_t axis) {
  if (node.kind == NodeKind::reshape) {
    return axis_behind_reshape(graph.tensor(node.inputs[0]).shape, graph.tensor(node.output).shape, axis);
  }
  const auto found = std::find(node.order.begin(), node.order.end(), axis);
  if (found == node.order.end()) return std::nullopt;
  return found - node.order.begin();
}

/// `dequantize` as it stands behind `node`, and `node` as it works on the codes. Nothing when there is no such thing.
std::optional<Node> dequantize_behind(const Graph& graph, Node& node, const Node& dequantize) {
  Node result = dequantize;
  Quantization& quantization = result.quantization;
  if (!quantization.per_tensor()) {
    const auto axis = axis_behind(graph, node, quantization.axis);
    if (!axis) return std::nullopt;
    quantization.axis = *axis;
    return result;
  }
  if (node.kind != NodeKind::move || !node.movement.fills()) return result;
  if (!is_code(quantization.dtype)) return std::nullopt;
  const float code = code_of_real(node.fill, quantization);
  const float real = (code - static_cast<float>(quantization.zero_point[0])) * quantization.scale[0];
  if (std::bit_cast<uint32_t>(real) != std::bit_cast<uint32_t>(node.fill)) return std::nullopt;
  node.fill = code;
  return result;
}

/// Walks from the end of the graph, so that all readers of a tensor are seen before its producer.
class UpwardMove {
 public:
  explicit UpwardMove(Graph& graph) : graph_(graph), read_as_real_(graph.tensors.size(), false) {
    for (const GraphOutput& output : graph.outputs) read_as_real_[static_cast<size_t>(output.tensor)] = true;
  }

  void run() {
    for (size_t i = graph_.nodes.size(); i-- > 0;) visit(std::move(graph_.nodes[i]));
    for (auto& [tensor, quantizes] : waiting_) emit(std::move(quantizes));
    std::reverse(result_.begin(), result_.end());
    graph_.nodes = std::move(result_);
  }

 private:
  void visit(Node node) {
    if (node.kind == NodeKind::quantize) {
      const TensorId real = node.inputs[0];
      waiting_[real].push_back(std::move(node));
      return;
    }
    std::vector<Node> quantizes;
    if (auto found = waiting_.find(node.output); found != waiting_.end()) {
      quantizes = std::move(found->second);
      waiting_.erase(found);
    }
    if (may_move(node, quantizes)) return move_over(std::move(node), quantizes);
    emit(std::move(quantizes));
    for (TensorId input : node.inputs) {
      if (input != kNoTensor) read_as_real_[static_cast<size_t>(input)] = true;
    }
    result_.push_back(std::move(node));
  }

  bool may_move(const Node& node, const std::vector<Node>& quantizes) const {
    if (!moves_elements(node) || quantizes.empty() || read_as_real_[static_cast<size_t>(node.output)]) return false;
    const Quantization& first = quantizes[0].quantization;
    return first.per_tensor() && std::all_of(quantizes.begin(), quantizes.end(),
                                             [&](const Node& other) { return other.quantization == first; });
  }

  void move_over(Node node, const std::vector<Node>& quantizes) {
    if (node.kind == NodeKind::move) node.fill = code_of_real(node.fill, quantizes[0].quantization);
    for (TensorId& input : moved_inputs(node)) input = quantized(input, quantizes[0]);
    for (const Node& quantize : quantizes) {
      Node moved = node;
      moved.output = quantize.output;
      append_names(moved.onnx_nodes, quantize.onnx_nodes);
      result_.push_back(std::move(moved));
    }
  }

  /// Codes of `real`: by an equal Q that waits already, or by a new one like `model`.
  TensorId quantized(TensorId real, const Node& model) {
    for (const Node& other : waiting_[real]) {
      if (other.quantization == model.quantization) return other.output;
    }
    Node quantize = model;
    quantize.inputs = {real};
    Shape shape = graph_.tensor(real).shape;
    quantize.output =
        graph_.add_tensor(graph_.tensor(real).name + "/codes", model.quantization.dtype, std::move(shape));
    waiting_[real].push_back(quantize);
    return quantize.output;
  }

  void emit(std::vector<Node> quantizes) {
    for (Node& node : quantizes) result_.push_back(std::move(node));
  }

  Graph& graph_;
  std::vector<bool> read_as_real_;  // by tensor of the graph as it was: read by something that is no Q
  std::map<TensorId, std::vector<Node>> waiting_;
  std::vector<Node> result_;
};

/// A movement whose inputs all come from equal DQs works on their codes, with one DQ behind it.
void move_down(Graph& graph) {
  std::map<TensorId, Node> dequantizes;  // by output
  std::vector<Node> result;
  for (Node& node : graph.nodes) {
    const Node* first = nullptr;
    bool all_equal = moves_elements(node);
    for (TensorId input : moved_inputs(node)) {
      auto found = all_equal ? dequantizes.find(input) : dequantizes.end();
      all_equal = found != dequantizes.end() && (!first || first->quantization == found->second.quantization);
      if (all_equal && !first) first = &found->second;
    }
    std::optional<Node> behind;
    if (all_equal && first) behind = dequantize_behind(graph, node, *first);
    if (!behind) {
      if (node.kind == NodeKind::dequantize) dequantizes[node.output] = node;
      result.push_back(std::move(node));
      continue;
    }
    Node& dequantize = *behind;
    for (TensorId& input : moved_inputs(node)) input = dequantizes.at(input).inputs[0];
    dequantize.output = node.output;
    Shape shape = graph.tensor(node.output).shape;
    node.output =
        graph.add_tensor(graph.tensor(node.output).name + "/codes", first->quantization.dtype, std::move(shape));
    dequantize.inputs = {node.output};
    dequantizes[dequantize.output] = dequantize;
    result.push_back(std::move(node));
    result.push_back(std::move(*behind));
  }
  graph.nodes = std::move(result);
}

}  // namespace

void move_quantization(Graph& graph) {
  UpwardMove(graph).run();
  move_down(graph);
  remove_dead_nodes(graph);
}

}  // namespace warpwright
