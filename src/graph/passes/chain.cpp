// Looking upwards from a QuantizeLinear.
#include "src/graph/passes/chain.h"

#include <algorithm>
#include <cmath>

namespace warpwright {

namespace {

float clamp_to(float value, float lo, float hi) { return std::fmin(std::fmax(value, lo), hi); }

}  // namespace

const Node* producer_of_kind(const Graph& graph, const GraphIndex& index, TensorId id, NodeKind kind) {
  const int producer = id == kNoTensor ? -1 : index.producer(id);
  if (producer < 0) return nullptr;
  const Node& node = graph.nodes[static_cast<size_t>(producer)];
  return node.kind == kind ? &node : nullptr;
}

ClampChain clamp_chain(const Graph& graph, const GraphIndex& index, TensorId from) {
  ClampChain chain;
  chain.source = from;
  while (graph.tensor(chain.source).dtype == DType::f32) {
    const Node* node = producer_of_kind(graph, index, chain.source, NodeKind::relu);
    const bool relu = node != nullptr;
    if (!relu) node = producer_of_kind(graph, index, chain.source, NodeKind::clip);
    if (!node) break;
    const float lo = relu ? 0.0f : node->lo;
    const float hi = relu ? std::numeric_limits<float>::infinity() : node->hi;
    // An empty range gives its upper end.
    const float first = std::fmin(lo, hi), last = hi;
    const float outer_lo = chain.lo, outer_hi = chain.hi;
    chain.lo = clamp_to(first, outer_lo, outer_hi);
    chain.hi = clamp_to(last, outer_lo, outer_hi);
    if (lo > hi) chain.lo = chain.hi;
    chain.source = node->inputs[0];
    chain.onnx_nodes.insert(chain.onnx_nodes.begin(), node->onnx_nodes.begin(), node->onnx_nodes.end());
  }
  return chain;
}

std::optional<DequantizedCodes> dequantized_codes(const Graph& graph, const GraphIndex& index, TensorId id) {
  const Node* node = producer_of_kind(graph, index, id, NodeKind::dequantize);
  if (!node || !node->quantization.per_tensor() || !is_code(node->quantization.dtype)) return std::nullopt;
  if (graph.is_constant(node->inputs[0])) return std::nullopt;
  return DequantizedCodes{node->inputs[0], node->quantization.scale[0], node->quantization.zero_point[0],
                          node->onnx_nodes};
}

void set_bounds(Values& values, const std::string& lo_name, const std::string& hi_name, float lo, float hi,
                const Quantization& y) {
  const auto least = static_cast<float>(code_min(y.dtype) - y.zero_point[0]);
  const auto most = static_cast<float>(code_max(y.dtype) - y.zero_point[0]);
  // + 0.0f makes a negative zero positive.
  values[lo_name] = scalar_f32(clamp_to(std::nearbyint(lo / y.scale[0]), least, most) + 0.0f);
  values[hi_name] = scalar_f32(clamp_to(std::nearbyint(hi / y.scale[0]), least, most) + 0.0f);
}

void set_requantization(Values& values, const ClampChain& chain, const Quantization& y) {
  values["y_scale"] = scalar_f32(y.scale[0]);
  values["y_zero_point"] = scalar_s32(y.zero_point[0]);
  values["pad_code"] = scalar_s32(y.zero_point[0]);
  set_bounds(values, "lo", "hi", chain.lo, chain.hi, y);
}

Values fill_value(const Node& node, DType dtype) {
  if (!node.movement.fills()) return {};
  if (dtype == DType::f32) return {{"fill", scalar_f32(node.fill)}};
  return {{"fill", scalar_s32(static_cast<int32_t>(node.fill))}};
}

void become_step(Node& node, OpKind kind, std::vector<TensorId> inputs, Values values) {
  node.kind = NodeKind::step;
  node.workload.kind = kind;
  node.inputs = std::move(inputs);
  node.values = std::move(values);
}

void insert_nodes(Graph& graph, std::vector<std::pair<int, Node>> nodes) {
  if (nodes.empty()) return;
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Node> merged;
  merged.reserve(graph.nodes.size() + nodes.size());
  size_t next = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    while (next < nodes.size() && nodes[next].first <= static_cast<int>(i)) {
      merged.push_back(std::move(nodes[next++].second));
    }
    merged.push_back(std::move(graph.nodes[i]));
  }
  while (next < nodes.size()) merged.push_back(std::move(nodes[next++].second));
  graph.nodes = std::move(merged);
}

Workload with_forms(const Graph& graph, const Node& node) {
  Workload workload = node.workload;
  auto form = [&](TensorId id) {
    const GraphTensor& tensor = graph.tensor(id);
    if (tensor.form) return *tensor.form;
    return is_code(tensor.dtype) ? nhwc_form_of(tensor) : nchw_form_of(tensor);
  };
  workload.inputs.clear();
  for (TensorId input : node.inputs) workload.inputs.push_back(form(input));
  workload.output = form(node.output);
  if (workload.is_matrix_product() && !workload.epilogue.table) workload.epilogue.table_input = workload.output.dtype;
  return workload;
}

}  // namespace warpwright
