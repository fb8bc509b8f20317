// Pass: a product, the activation behind it and QuantizeLinear become one step; so does an Add without Q and DQ between
// the product and it. A product that several chains read is computed by each. A product whose sums are wanted becomes a
// step that gives them.
#include <cmath>

#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

bool all_finite(const std::vector<float>& values) {
  for (float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

/// The names of the data's way: product, what lies between, quantize.
std::vector<std::string> joined_names(const Node& product, const std::vector<std::string>& between, const Node& last) {
  std::vector<std::string> names = product.onnx_nodes;
  append_names(names, between);
  append_names(names, last.onnx_nodes);
  return names;
}

void take_product(Node& quantize, const Node& product, std::vector<float> multiplier, std::vector<TensorId> inputs,
                  Values values, ResidualForm residual) {
  quantize.workload = product.workload;
  quantize.workload.epilogue.residual = residual;
  quantize.name = product.name;
  for (const auto& [name, value] : product.values) values[name] = value;
  values["multiplier"] = vector_f32(multiplier);
  values["y_zero_point"] = values["pad_code"] = scalar_s32(quantize.quantization.zero_point[0]);
  become_step(quantize, product.workload.kind, std::move(inputs), std::move(values));
}

void fuse_plain(Node& quantize, const Node& product, const ClampChain& chain) {
  const Quantization& y = quantize.quantization;
  std::vector<float> multiplier;
  for (float weight_scale : product.scales.weight_scale) {
    multiplier.push_back(((product.scales.alpha * product.scales.x_scale) * weight_scale) / y.scale[0]);
  }
  if (!all_finite(multiplier)) return;
  Values values;
  set_bounds(values, "lo", "hi", chain.lo, chain.hi, y);
  quantize.onnx_nodes = joined_names(product, chain.onnx_nodes, quantize);
  take_product(quantize, product, std::move(multiplier), product.inputs, std::move(values), ResidualForm::none);
}

void fuse_unrounded(const Graph& graph, const GraphIndex& index, Node& quantize, const Node& add,
                    const ClampChain& chain) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* product = producer_of_kind(graph, index, add.inputs[side], NodeKind::product);
    if (product && !product->workload.is_matrix_product()) continue;
    const auto residual = dequantized_codes(graph, index, add.inputs[1 - side]);
    if (!product || !residual) continue;
    const Shape& shape = graph.tensor(add.output).shape;
    if (graph.tensor(product->output).shape != shape || graph.tensor(residual->codes).shape != shape) continue;
    const Quantization& y = quantize.quantization;
    std::vector<float> multiplier;
    for (float weight_scale : product->scales.weight_scale) {
      multiplier.push_back((product->scales.alpha * product->scales.x_scale) * weight_scale);
    }
    if (!all_finite(multiplier)) return;
    Values values;
    set_bounds(values, "sum_lo", "sum_hi", chain.lo, chain.hi, y);
    values["y_scale"] = scalar_f32(y.scale[0]);
    values["residual_scale"] = scalar_f32(residual->scale);
    values["residual_zero_point"] = scalar_s32(residual->zero_point);
    std::vector<std::string> between = residual->onnx_nodes;
    append_names(between, add.onnx_nodes);
    append_names(between, chain.onnx_nodes);
    quantize.onnx_nodes = joined_names(*product, between, quantize);
    return take_product(quantize, *product, std::move(multiplier), {product->inputs[0], residual->codes},
                        std::move(values), ResidualForm::unrounded);
  }
}

/// `node` wants the sums of the product before it as they are.
void take_sums(const Graph& graph, const GraphIndex& index, Node& node) {
  const Node* product = producer_of_kind(graph, index, node.inputs[0], NodeKind::product);
  if (!product) return;
  Values values = product->values;
  values["pad_code"] = scalar_s32(0);
  node.workload = product->workload;
  node.onnx_nodes = joined_names(*product, {}, node);
  become_step(node, product->workload.kind, product->inputs, std::move(values));
}

/// Frees the values of the product behind `last`, which now stand in a step, unless others read what lies between: all
/// weights twice would be twice the model.
void release_product(Graph& graph, const GraphIndex& index, TensorId last) {
  std::vector<TensorId> open{last};
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    if (id == kNoTensor || index.producer(id) < 0 || !index.has_single_reader(id)) continue;
    Node& node = graph.nodes[static_cast<size_t>(index.producer(id))];
    if (node.kind == NodeKind::product) node.values.clear();
    if (node.kind == NodeKind::relu || node.kind == NodeKind::clip || node.kind == NodeKind::add) {
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
  }
}

}  // namespace

void fuse_requantization(Graph& graph) {
  const GraphIndex index(graph);
  for (Node& node : graph.nodes) {
    const TensorId before = node.inputs.empty() ? kNoTensor : node.inputs[0];
    if (node.kind == NodeKind::integer) {
      take_sums(graph, index, node);
      if (node.kind == NodeKind::step) release_product(graph, index, before);
    }
    if (node.kind != NodeKind::quantize || !node.quantization.per_tensor()) continue;
    const ClampChain chain = clamp_chain(graph, index, node.inputs[0]);
    if (const Node* product = producer_of_kind(graph, index, chain.source, NodeKind::product)) {
      fuse_plain(node, *product, chain);
    } else if (const Node* add = producer_of_kind(graph, index, chain.source, NodeKind::add)) {
      fuse_unrounded(graph, index, node, *add, chain);
    }
    if (node.kind == NodeKind::step) release_product(graph, index, before);
  }
  remove_dead_nodes(graph);
}

}  // namespace warpwright
