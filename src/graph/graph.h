// Graph: the network between the ONNX file and the Program. Passes turn its nodes, one kind after the other, into
// steps.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/core/json.h"
#include "src/core/tensor.h"
#include "src/core/workload.h"
#include "src/graph/constant_budget.h"

namespace warpwright {

using TensorId = int;
constexpr TensorId kNoTensor = -1;

enum class NodeKind {
  // as in ONNX; every node has one output
  quantize,
  dequantize,
  conv,
  gemm,    // also MatMul with a constant matrix
  matmul,  // of two matrices that are no constants: [batch * M, K] by [batch * K, N]
  relu,
  clip,
  hard_sigmoid,
  hard_swish,
  sigmoid,
  leaky_relu,
  tanh,
  add,
  mul,
  max_pool,
  average_pool,
  concat,
  reshape,
  move,  // a gather by strides: Transpose, Slice, Pad, Expand, Resize
  identity,
  integer,  // float32 that holds integers, sums of codes, to s32: behind ConvInteger and MatMulInteger
  // made by passes
  product,  // codes (and constant codes) to a float32 tensor: acc + bias as integers, with the scales it stands for
  step,     // an operator of the Program: workload and values
};

std::string_view name(NodeKind kind);

/// Scale and zero point of QuantizeLinear or DequantizeLinear: one of each, or one for each index of `axis`.
struct Quantization {
  DType dtype = DType::u8;  // of the codes
  std::vector<float> scale{1.0f};
  std::vector<int32_t> zero_point{0};  // as many as scales
  int64_t axis = 0;                    // meaningful only if not per_tensor()

  bool per_tensor() const { return scale.size() == 1; }
  bool operator==(const Quantization&) const = default;
};

/// What fold_products knows about a product: value = (acc + bias) * (alpha * x_scale) * weight_scale[k].
struct ProductScales {
  float alpha = 1.0f;
  float x_scale = 1.0f;
  std::vector<float> weight_scale;  // one an output channel
  std::vector<float> bias;          // as float32; empty without one
};

struct Node {
  NodeKind kind = NodeKind::identity;
  std::string name;                     // of the ONNX node, or of its first output
  std::vector<std::string> onnx_nodes;  // all the ONNX nodes that it stands for
  std::vector<TensorId> inputs;         // kNoTensor: absent
  TensorId output = kNoTensor;

  Quantization quantization;                           // quantize, dequantize
  Window window;                                       // conv, pools
  int64_t groups = 1;                                  // conv
  bool count_include_pad = false;                      // average_pool
  int64_t batch = 1;                                   // matmul
  bool transposed_weights = false;                     // gemm: the constant matrix is [N, K]
  float alpha = 1.0f;                                  // gemm, hard_sigmoid, leaky_relu
  float beta = 1.0f;                                   // gemm, hard_sigmoid
  float lo = -std::numeric_limits<float>::infinity();  // clip
  float hi = std::numeric_limits<float>::infinity();   // clip
  int64_t axis = 0;                                    // concat, not negative
  Movement movement;                                   // move, simplified
  float fill = 0.0f;                                   // move: where there is no source; of codes the code
  std::vector<int64_t> order;                          // move: of the dimensions in a Transpose, else empty

  ProductScales scales;  // product
  Workload workload;     // product: without forms and epilogue; step: forms once choose_layouts has run
  Values values;         // product: what its kind has without an epilogue; step: all of its kind

  bool is_step(OpKind op) const { return kind == NodeKind::step && workload.kind == op; }
};

struct GraphTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Tensor> constant;
  std::optional<TensorForm> form;  // by choose_layouts
};

struct GraphOutput {
  std::string name;
  TensorId tensor = kNoTensor;
  std::optional<Shape> shape = std::nullopt;  // where it differs from the tensor's, by choose_layouts
};

/// A node of the ONNX file, as messages call it.
struct OnnxNode {
  std::string name, op_type;
};

struct Graph {
  std::vector<GraphTensor> tensors;
  std::vector<Node> nodes;  // producers before readers
  std::vector<TensorId> inputs;
  std::vector<GraphOutput> outputs;
  std::vector<OnnxNode> onnx_nodes;            // all of the file, in its order
  std::map<std::string, std::string> reasons;  // why an ONNX node is not in 8 bits, by its name
  ConstantBudget constant_budget;

  GraphTensor& tensor(TensorId id) { return tensors[static_cast<size_t>(id)]; }
  const GraphTensor& tensor(TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  TensorId add_tensor(std::string name, DType dtype, Shape shape);
  bool is_constant(TensorId id) const { return id != kNoTensor && tensor(id).constant.has_value(); }
};

/// Who writes and who reads each tensor, as of its construction.
class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);
  /// Index into nodes, or -1 for inputs and constants.
  int producer(TensorId id) const { return producers_[static_cast<size_t>(id)]; }
  /// Indices into nodes; one that reads twice stands twice.
  const std::vector<int>& readers(TensorId id) const { return readers_[static_cast<size_t>(id)]; }
  bool is_output(TensorId id) const { return outputs_[static_cast<size_t>(id)]; }
  /// Exactly one node reads it, once, and it leaves the graph nowhere.
  bool has_single_reader(TensorId id) const { return readers(id).size() == 1 && !is_output(id); }

 private:
  std::vector<int> producers_;
  std::vector<std::vector<int>> readers_;
  std::vector<bool> outputs_;
};

/// Readers of each `from` read its replacement instead; replacement[id] = id where nothing changes. Chains are
/// followed.
void replace_tensors(Graph& graph, std::vector<TensorId> replacement);
/// Drops nodes that no graph output depends on, and the data of constants that nothing reads.
void remove_dead_nodes(Graph& graph);
/// Appends what is not there yet.
void append_names(std::vector<std::string>& names, const std::vector<std::string>& more);

/// Extents as n, h, w, c: [] and [c]; [n, c]; [n, c, w]; [n, c, h, w]; more dimensions fold into h.
TensorForm nhwc_form_of(const GraphTensor& tensor);
TensorForm nchw_form_of(const GraphTensor& tensor);

/// The graph as lines of text and as JSON (schema `graph`): tensors, nodes, what each node reads.
std::string to_text(const Graph& graph);
Json to_json(const Graph& graph);
std::string to_text(const Shape& shape);

}  // namespace warpwright
