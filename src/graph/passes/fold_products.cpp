// Pass: Conv and Gemm over dequantized codes and constant codes, and MatMul over two dequantized codes, become integer
// products.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "src/graph/passes/chain.h"
#include "src/graph/passes/constant_copies.h"
#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

int32_t element(const Tensor& codes, size_t i) {
  switch (codes.dtype) {
    case DType::u8:
      return codes.as<uint8_t>()[i];
    case DType::s8:
      return codes.as<int8_t>()[i];
    default:
      return codes.as<int32_t>()[i];
  }
}

template <typename T>
T at_channel(const std::vector<T>& values, size_t k) {
  return values[values.size() == 1 ? 0 : k];
}

/// [K][C/groups][kernel...] or [N][K] or [K][N] to [K][kernel_h][kernel_w][C/groups].
Tensor packed_weights(const Node& node, const Tensor& w) {
  const bool conv = node.kind == NodeKind::conv;
  const bool by_columns = !conv && !node.transposed_weights;
  const int64_t outputs = w.shape[by_columns ? 1 : 0];
  const int64_t channels = w.shape[by_columns ? 0 : 1];
  const int64_t taps = conv ? node.window.kernel_h * node.window.kernel_w : 1;
  Tensor packed(w.dtype, {outputs, node.window.kernel_h, node.window.kernel_w, channels});
  if (!by_columns && taps == 1) {
    packed.bytes = w.bytes;
    return packed;
  }
  // In strips of output channels, so that what lies [K][N] is read by cache lines.
  constexpr int64_t kStrip = 64;
  for (int64_t first = 0; first < outputs; first += kStrip) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t k = first; k < std::min(outputs, first + kStrip); ++k) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t from = by_columns ? c * outputs + k : (k * channels + c) * taps + tap;
          packed.bytes[static_cast<size_t>((k * taps + tap) * channels + c)] = w.bytes[static_cast<size_t>(from)];
        }
      }
    }
  }
  return packed;
}

int32_t saturated(double value) {
  if (value >= std::numeric_limits<int32_t>::max()) return std::numeric_limits<int32_t>::max();
  if (value <= std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}

struct ProductBias {
  std::vector<int32_t> codes;  // of scale alpha * x_scale * weight_scale[k]
  std::vector<float> real;
};

/// Nothing when it is no constant with an element a channel.
std::optional<ProductBias> product_bias(const Graph& graph, const GraphIndex& index, const Node& node,
                                        const ProductScales& scales) {
  const TensorId id = node.inputs[2];
  const Node* dequantize = producer_of_kind(graph, index, id, NodeKind::dequantize);
  const TensorId source = dequantize ? dequantize->inputs[0] : id;
  if (!graph.is_constant(source)) return std::nullopt;
  const Tensor& constant = *graph.tensor(source).constant;
  const size_t channels = scales.weight_scale.size();
  ProductBias bias{std::vector<int32_t>(channels), std::vector<float>(channels)};
  if (static_cast<size_t>(constant.size()) != channels) return std::nullopt;
  for (size_t k = 0; k < channels; ++k) {
    const float scale = (scales.alpha * scales.x_scale) * scales.weight_scale[k];
    float real = 0;
    if (dequantize) {
      const float own_scale = at_channel(dequantize->quantization.scale, k);
      const int64_t centred = int64_t{element(constant, k)} - at_channel(dequantize->quantization.zero_point, k);
      real = static_cast<float>(centred) * own_scale;
      bias.real[k] = node.beta * real;
      if (own_scale == scale && node.beta == 1.0f) {
        bias.codes[k] = saturated(static_cast<double>(centred));
        continue;
      }
    } else {
      real = constant.as<float>()[k];
    }
    bias.real[k] = node.beta * real;
    const float quotient = bias.real[k] / scale;
    if (std::isnan(quotient)) return std::nullopt;
    bias.codes[k] = saturated(std::nearbyint(quotient));
  }
  return bias;
}

/// Codes and scales of the weight behind `id`; null unless they are constant and lie along output channels.
const Node* weight_dequantize(const Graph& graph, const GraphIndex& index, const Node& node) {
  const Node* w = producer_of_kind(graph, index, node.inputs[1], NodeKind::dequantize);
  if (!w || !graph.is_constant(w->inputs[0]) || !is_code(w->quantization.dtype)) return nullptr;
  const int64_t axis = node.kind == NodeKind::gemm && !node.transposed_weights ? 1 : 0;
  return w->quantization.per_tensor() || w->quantization.axis == axis ? w : nullptr;
}

void fold(Graph& graph, const GraphIndex& index, ConstantCopies& copies, Node& node) {
  const auto x = dequantized_codes(graph, index, node.inputs[0]);
  const Node* w = weight_dequantize(graph, index, node);
  if (!x || !w || !(node.alpha > 0)) return;
  copies.add(w->inputs[0], node);
  Node product = node;
  product.kind = NodeKind::product;
  product.workload.kind = node.kind == NodeKind::conv ? OpKind::conv2d : OpKind::dense;
  product.workload.window = node.window;
  product.workload.groups = node.groups;
  Tensor weights = packed_weights(node, *graph.tensor(w->inputs[0]).constant);
  const auto channels = static_cast<size_t>(weights.shape[0]);
  product.scales.alpha = node.alpha;
  product.scales.x_scale = x->scale;
  for (size_t k = 0; k < channels; ++k) product.scales.weight_scale.push_back(at_channel(w->quantization.scale, k));
  product.workload.x_zero_point = x->zero_point == 0 ? ZeroPointForm::zero : ZeroPointForm::scalar;
  product.values["x_zero_point"] = scalar_s32(x->zero_point);
  product.workload.weight_dtype = weights.dtype;
  product.values["weights"] = std::move(weights);
  product.values["weight_zero_point"] = vector_s32(w->quantization.zero_point);
  append_names(product.onnx_nodes, x->onnx_nodes);
  append_names(product.onnx_nodes, w->onnx_nodes);
  if (node.inputs[2] != kNoTensor) {
    auto bias = product_bias(graph, index, node, product.scales);
    if (!bias) return;
    product.workload.epilogue.bias = true;
    product.values["bias"] = vector_s32(bias->codes);
    product.scales.bias = std::move(bias->real);
    const Node* dequantize = producer_of_kind(graph, index, node.inputs[2], NodeKind::dequantize);
    if (dequantize) append_names(product.onnx_nodes, dequantize->onnx_nodes);
  }
  product.inputs = {x->codes};
  // Packed weights take the place of those that nobody else reads: both at once for all layers would be twice the
  // model.
  const TensorId codes = w->inputs[0];
  if (index.has_single_reader(node.inputs[1]) && index.has_single_reader(codes)) graph.tensor(codes).constant.reset();
  node = std::move(product);
}

/// What a matrix of codes is the transpose of, batch by batch.
struct TransposeBefore {
  TensorId codes = kNoTensor;
  std::vector<std::string> onnx_nodes;
};

bool swaps_rows_and_columns(const std::vector<int64_t>& order) {
  if (order.size() < 2) return false;
  std::vector<int64_t> swapped(order.size());
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[order.size() - 2], swapped[order.size() - 1]);
  return order == swapped;
}

/// The Transpose that writes `codes`, matrices of `rows` rows, maybe behind reshapes that leave each matrix as it is.
std::optional<TransposeBefore> transpose_before(const Graph& graph, const GraphIndex& index, TensorId codes,
                                                int64_t rows) {
  TensorId of = codes;
  while (const Node* reshape = producer_of_kind(graph, index, of, NodeKind::reshape)) of = reshape->inputs[0];
  const Node* transpose = producer_of_kind(graph, index, of, NodeKind::move);
  if (!transpose || !swaps_rows_and_columns(transpose->order)) return std::nullopt;
  const Shape& shape = graph.tensor(of).shape;
  if (shape.back() != graph.tensor(codes).shape.back() || shape[shape.size() - 2] != rows) return std::nullopt;
  return TransposeBefore{transpose->inputs[0], transpose->onnx_nodes};
}

class MatmulFolding {
 public:
  explicit MatmulFolding(Graph& graph) : graph_(graph), index_(graph) {}

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].kind == NodeKind::matmul) fold(static_cast<int>(i));
    }
    insert_nodes(graph_, std::move(reshapes_));
  }

 private:
  void fold(int at) {
    Node& node = graph_.nodes[static_cast<size_t>(at)];
    const auto a = dequantized_codes(graph_, index_, node.inputs[0]);
    const auto b = dequantized_codes(graph_, index_, node.inputs[1]);
    if (!a || !b) return;
    Workload& workload = node.workload;
    workload.kind = OpKind::matmul;
    workload.batch = node.batch;
    workload.x_zero_point = a->zero_point == 0 ? ZeroPointForm::zero : ZeroPointForm::scalar;
    workload.weight_zero_point = b->zero_point == 0 ? ZeroPointForm::zero : ZeroPointForm::scalar;
    node.kind = NodeKind::product;
    node.values = {{"a_zero_point", scalar_s32(a->zero_point)}, {"b_zero_point", scalar_s32(b->zero_point)}};
    node.scales.x_scale = a->scale;
    node.scales.weight_scale = {b->scale};
    append_names(node.onnx_nodes, a->onnx_nodes);
    append_names(node.onnx_nodes, b->onnx_nodes);
    node.inputs = {a->codes, b->codes};
    const int64_t depth = graph_.tensor(b->codes).shape[0] / node.batch;
    if (const auto transpose = transpose_before(graph_, index_, b->codes, depth)) read_transposed(at, *transpose);
  }

  /// Its second operand becomes what the Transpose reads, as rows.
  void read_transposed(int at, const TransposeBefore& before) {
    Node& node = graph_.nodes[static_cast<size_t>(at)];
    const Shape shape = graph_.tensor(before.codes).shape;
    append_names(node.onnx_nodes, before.onnx_nodes);
    node.workload.transposed = true;
    node.inputs[1] = before.codes;
    if (shape.size() == 2) return;
    Node reshape;
    reshape.kind = NodeKind::reshape;
    reshape.name = node.name;
    reshape.onnx_nodes = before.onnx_nodes;
    reshape.inputs = {before.codes};
    std::string name = graph_.tensor(before.codes).name + "/rows";
    reshape.output = graph_.add_tensor(std::move(name), graph_.tensor(before.codes).dtype,
                                       {element_count(shape) / shape.back(), shape.back()});
    node.inputs[1] = reshape.output;
    reshapes_.emplace_back(at, std::move(reshape));
  }

  Graph& graph_;
  const GraphIndex index_;
  std::vector<std::pair<int, Node>> reshapes_;
};

}  // namespace

void fold_products(Graph& graph) {
  const GraphIndex index(graph);
  ConstantCopies copies(graph);
  for (Node& node : graph.nodes) {
    if (node.kind == NodeKind::conv || node.kind == NodeKind::gemm) fold(graph, index, copies, node);
  }
  MatmulFolding(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace warpwright
