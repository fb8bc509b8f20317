// What the fusing passes share: looking upwards from a QuantizeLinear.
#pragma once

#include <optional>

#include "src/graph/graph.h"

namespace warpwright {

/// Relu and Clip nodes upwards from a float32 tensor, composed: v -> min(max(v, lo), hi) with lo <= hi.
struct ClampChain {
  TensorId source = kNoTensor;  // the tensor before the first of them
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
  std::vector<std::string> onnx_nodes;  // in the order of the data
};
ClampChain clamp_chain(const Graph& graph, const GraphIndex& index, TensorId from);

/// 8-bit codes with one scale behind a float32 tensor.
struct DequantizedCodes {
  TensorId codes = kNoTensor;
  float scale = 1;
  int32_t zero_point = 0;
  std::vector<std::string> onnx_nodes;
};
/// Nothing when `id` is not written by such a DequantizeLinear, or its codes are constant.
std::optional<DequantizedCodes> dequantized_codes(const Graph& graph, const GraphIndex& index, TensorId id);

/// The node that writes `id`, if it is of this kind.
const Node* producer_of_kind(const Graph& graph, const GraphIndex& index, TensorId id, NodeKind kind);

/// Sets lo and hi (under these names) to rne(bound / scale) within the range of the codes.
void set_bounds(Values& values, const std::string& lo_name, const std::string& hi_name, float lo, float hi,
                const Quantization& y);
/// Sets y_scale, y_zero_point, lo, hi and pad_code.
void set_requantization(Values& values, const ClampChain& chain, const Quantization& y);

/// `fill` of a move over tensors of this type; nothing when nothing is filled.
Values fill_value(const Node& node, DType dtype);

/// `node` becomes a step of `kind` with the inputs; names, output and place stay.
void become_step(Node& node, OpKind kind, std::vector<TensorId> inputs, Values values);

/// Inserts each node before the node of the index beside it; equal indices keep their order.
void insert_nodes(Graph& graph, std::vector<std::pair<int, Node>> nodes);

/// The workload with the forms that its tensors have in NHWC (codes) and NCHW (float32).
Workload with_forms(const Graph& graph, const Node& node);

}  // namespace warpwright
