// Computing tables: every operator in float32 with one rounding a step; transcendentals of the nodes that tables always
// took in float64 rounded once, maps as the reference computes them.
#include "src/graph/passes/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "src/graph/passes/chain.h"
#include "src/reference/reference.h"

namespace warpwright {

namespace {

constexpr size_t kMostNodes = 256;
constexpr size_t kMostTables = 16;

using Reals = std::array<float, 256>;

bool is_elementwise(NodeKind kind) {
  switch (kind) {
    case NodeKind::relu:
    case NodeKind::clip:
    case NodeKind::hard_sigmoid:
    case NodeKind::hard_swish:
    case NodeKind::sigmoid:
    case NodeKind::leaky_relu:
    case NodeKind::tanh:
    case NodeKind::add:
    case NodeKind::mul:
      return true;
    default:
      return false;
  }
}

/// A map of float32, to float32.
bool is_real_map(const Graph& graph, const Node& node) {
  const auto is_real = [&](TensorId id) { return graph.tensor(id).dtype == DType::f32; };
  return node.is_step(OpKind::map) && is_real(node.output) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), is_real);
}

/// The map over 256 elements of each operand, or one that is repeated.
Reals apply_map(const Node& node, const std::vector<std::vector<float>>& operands) {
  Workload workload;
  workload.kind = OpKind::map;
  workload.map.extents = {256};
  workload.map.instructions = node.workload.map.instructions;
  workload.output = nchw_form(DType::f32, 1, 1, 1, 256);
  std::vector<Tensor> tensors;
  for (const std::vector<float>& operand : operands) {
    const auto count = static_cast<int64_t>(operand.size());
    workload.map.operands.push_back({DType::f32, false, {count == 1 ? 0 : 1}});
    workload.inputs.push_back(nchw_form(DType::f32, 1, 1, 1, count));
    tensors.push_back(vector_f32(operand));
  }
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(&tensor);
  const Tensor result = run_reference(workload, {}, inputs);
  Reals reals;
  std::copy(result.as<float>().begin(), result.as<float>().end(), reals.begin());
  return reals;
}

float clamp_to(float value, float lo, float hi) { return std::fmin(std::fmax(value, lo), hi); }

float apply(const Node& node, float x, float other) {
  switch (node.kind) {
    case NodeKind::relu:
      return std::fmax(x, 0.0f);
    case NodeKind::clip:
      return clamp_to(x, node.lo, node.hi);
    case NodeKind::hard_sigmoid:
      return clamp_to(node.alpha * x + node.beta, 0.0f, 1.0f);
    case NodeKind::hard_swish:
      return x * clamp_to(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
    case NodeKind::sigmoid:
      return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
    case NodeKind::leaky_relu:
      return x < 0.0f ? node.alpha * x : x;
    case NodeKind::tanh:
      return static_cast<float>(std::tanh(static_cast<double>(x)));
    case NodeKind::add:
      return x + other;
    default:
      return x * other;
  }
}

uint8_t quantized(float x, const Quantization& y) {
  const auto least = static_cast<float>(code_min(y.dtype) - y.zero_point[0]);
  const auto most = static_cast<float>(code_max(y.dtype) - y.zero_point[0]);
  const float value = clamp_to(x / y.scale[0], least, most);
  return static_cast<uint8_t>(static_cast<int32_t>(std::nearbyint(value)) + y.zero_point[0]);
}

/// The part of the graph between some tensors of codes and one tensor.
class Cone {
 public:
  Cone(const Graph& graph, const GraphIndex& index) : graph_(graph), index_(index) {}

  /// False when something lies in it that is not elementwise.
  bool collect(TensorId top) {
    std::vector<TensorId> open{top};
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      if (is_scalar_constant(id)) continue;
      const int producer = index_.producer(id);
      if (producer < 0) return false;
      if (!nodes_.insert(producer).second) continue;
      const Node& node = graph_.nodes[static_cast<size_t>(producer)];
      if (nodes_.size() > kMostNodes) return false;
      if (node.kind == NodeKind::dequantize) {
        if (!node.quantization.per_tensor() || !is_code(node.quantization.dtype)) return false;
        if (!graph_.is_constant(node.inputs[0])) {
          leaves_.insert(node.inputs[0]);
        } else if (graph_.tensor(node.inputs[0]).constant->size() != 1) {
          return false;
        }
      } else if (is_real_map(graph_, node)) {
        open.insert(open.end(), node.inputs.begin(), node.inputs.end());
      } else if (is_elementwise(node.kind) && graph_.tensor(node.output).dtype == DType::f32) {
        open.insert(open.end(), node.inputs.begin(), node.inputs.end());
      } else {
        return false;
      }
    }
    return true;
  }

  const std::set<TensorId>& leaves() const { return leaves_; }
  const std::set<int>& nodes() const { return nodes_; }

  /// Values of `top` for the 256 codes of the tensor that all leaves hang on by their tables.
  Reals evaluate(TensorId top, const std::map<TensorId, CodeTable>& codes) const {
    std::map<TensorId, Reals> reals;
    for (int at : nodes_) {  // ascending: producers before readers
      const Node& node = graph_.nodes[static_cast<size_t>(at)];
      Reals& y = reals[node.output];
      if (node.kind == NodeKind::dequantize) {
        const std::optional<Tensor>& constant = graph_.tensor(node.inputs[0]).constant;
        const CodeTable* table = constant ? nullptr : &codes.at(node.inputs[0]);
        for (size_t i = 0; i < 256; ++i) {
          const auto raw = constant ? static_cast<uint8_t>(constant->bytes[0]) : (*table)[i];
          const int32_t centred = code_of(node.quantization.dtype, raw) - node.quantization.zero_point[0];
          y[i] = static_cast<float>(centred) * node.quantization.scale[0];
        }
        continue;
      }
      if (node.kind == NodeKind::step) {
        std::vector<std::vector<float>> operands;
        for (const TensorId input : node.inputs) operands.push_back(values(reals, input));
        y = apply_map(node, operands);
        continue;
      }
      for (size_t i = 0; i < 256; ++i) {
        const float other = node.inputs.size() > 1 ? value(reals, node.inputs[1], i) : 0.0f;
        y[i] = apply(node, value(reals, node.inputs[0], i), other);
      }
    }
    return reals.at(top);
  }

 private:
  bool is_scalar_constant(TensorId id) const {
    return graph_.is_constant(id) && graph_.tensor(id).dtype == DType::f32 && graph_.tensor(id).constant->size() == 1;
  }

  float value(const std::map<TensorId, Reals>& reals, TensorId id, size_t i) const {
    if (graph_.is_constant(id)) return graph_.tensor(id).constant->as<float>()[0];
    return reals.at(id)[i];
  }

  std::vector<float> values(const std::map<TensorId, Reals>& reals, TensorId id) const {
    if (graph_.is_constant(id)) return {graph_.tensor(id).constant->as<float>()[0]};
    const Reals& of_codes = reals.at(id);
    return {of_codes.begin(), of_codes.end()};
  }

  const Graph& graph_;
  const GraphIndex& index_;
  std::set<int> nodes_;
  std::set<TensorId> leaves_;
};

CodeTable identity_table() {
  CodeTable table;
  for (size_t i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(i);
  return table;
}

struct Ancestor {
  TensorId tensor = kNoTensor;
  CodeTable table{};  // from the codes of `tensor` to those of the leaf
  std::vector<std::string> onnx_nodes;
};

/// The leaf itself and what lies before it over tables alone.
std::vector<Ancestor> ancestors(const Graph& graph, const GraphIndex& index, TensorId leaf) {
  std::vector<Ancestor> result{{leaf, identity_table(), {}}};
  while (result.size() <= kMostTables) {
    const Ancestor& nearest = result.back();
    const Node* node = producer_of_kind(graph, index, nearest.tensor, NodeKind::step);
    if (!node || node->workload.kind != OpKind::lookup) break;
    const CodeTable before = code_table(node->values.at("table"));
    Ancestor next{node->inputs[0], {}, node->onnx_nodes};
    for (size_t i = 0; i < 256; ++i) next.table[i] = nearest.table[before[i]];
    append_names(next.onnx_nodes, nearest.onnx_nodes);
    result.push_back(std::move(next));
  }
  return result;
}

}  // namespace

Tensor to_tensor(const CodeTable& table) {
  Tensor tensor(DType::u8, {256});
  std::memcpy(tensor.bytes.data(), table.data(), table.size());
  return tensor;
}

CodeTable code_table(const Tensor& tensor) {
  CodeTable table;
  std::memcpy(table.data(), tensor.bytes.data(), table.size());
  return table;
}

int32_t code_of(DType dtype, uint8_t raw) {
  return dtype == DType::u8 ? int32_t{raw} : int32_t{static_cast<int8_t>(raw)};
}

std::optional<CodeClamp> as_clamp(const CodeTable& table, DType dtype) {
  const auto at = [&](int32_t code) { return code_of(dtype, table[static_cast<uint8_t>(code)]); };
  const CodeClamp clamp{at(code_min(dtype)), at(code_max(dtype))};
  for (int32_t code = code_min(dtype); code <= code_max(dtype); ++code) {
    if (at(code) != std::min(std::max(code, clamp.lo), clamp.hi)) return std::nullopt;
  }
  return clamp;
}

std::optional<ElementwiseChain> elementwise_chain(const Graph& graph, const GraphIndex& index, const Node& last) {
  ElementwiseChain chain;
  if (last.kind == NodeKind::clip) {
    const DType dtype = graph.tensor(last.output).dtype;
    chain.source = last.inputs[0];
    chain.onnx_nodes = last.onnx_nodes;
    for (size_t i = 0; i < 256; ++i) {
      const auto code = static_cast<float>(code_of(dtype, static_cast<uint8_t>(i)));
      chain.table[i] = static_cast<uint8_t>(static_cast<int32_t>(clamp_to(code, last.lo, last.hi)));
    }
    return chain;
  }
  Cone cone(graph, index);
  if (!cone.collect(last.inputs[0]) || cone.leaves().empty()) return std::nullopt;
  std::map<TensorId, std::vector<Ancestor>> by_leaf;
  for (TensorId leaf : cone.leaves()) by_leaf[leaf] = ancestors(graph, index, leaf);
  for (const Ancestor& candidate : by_leaf.begin()->second) {
    std::map<TensorId, CodeTable> codes;
    chain.onnx_nodes.clear();
    for (const auto& [leaf, line] : by_leaf) {
      for (const Ancestor& ancestor : line) {
        if (ancestor.tensor != candidate.tensor) continue;
        codes[leaf] = ancestor.table;
        append_names(chain.onnx_nodes, ancestor.onnx_nodes);
        break;
      }
    }
    if (codes.size() != by_leaf.size()) continue;
    if (graph.tensor(candidate.tensor).shape != graph.tensor(last.output).shape) return std::nullopt;
    const Reals reals = cone.evaluate(last.inputs[0], codes);
    for (size_t i = 0; i < 256; ++i) chain.table[i] = quantized(reals[i], last.quantization);
    for (int at : cone.nodes()) append_names(chain.onnx_nodes, graph.nodes[static_cast<size_t>(at)].onnx_nodes);
    append_names(chain.onnx_nodes, last.onnx_nodes);
    chain.source = candidate.tensor;
    return chain;
  }
  return std::nullopt;
}

}  // namespace warpwright
