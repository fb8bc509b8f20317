// One function an ONNX operator: reads the node, infers shapes, adds nodes to the Graph.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "src/graph/formula.h"
#include "src/graph/graph.h"
#include "src/import/attributes.h"
#include "src/import/constants.h"

namespace warpwright {

/// What is known of the names of the file while its nodes are read one after the other.
class ImportedTensors {
 public:
  explicit ImportedTensors(Graph& graph) : graph_(graph) {}

  /// One of float16 becomes float32: what is left in float16 is computed in float32.
  void add_constant(OnnxConstant constant);
  void add(const std::string& name, TensorId id) { ids_[name] = id; }
  /// What a name stands for; nothing for one that is not known.
  struct Meaning {
    std::optional<TensorId> id;
    const OnnxConstant* constant = nullptr;
  };
  Meaning meaning(const std::string& name) const;
  /// In place of what it stood for; nothing for an empty name.
  void set_meaning(const std::string& name, const Meaning& meaning);
  void forget(const std::string& name) {
    ids_.erase(name);
    constants_.erase(name);
  }
  bool is_known(const std::string& name) const { return ids_.count(name) || constants_.count(name); }
  /// The constant of this name, or null.
  const OnnxConstant* constant(const std::string& name) const;
  /// Of the tensor or constant of this name.
  const Shape& shape(const std::string& name) const;
  /// The tensor of this name; a constant becomes a tensor of the graph when it is first asked for.
  TensorId id(const std::string& name);
  /// Whether its value hangs on no graph input.
  bool is_derived_from_constants(TensorId id) const;
  void mark_derived(TensorId id) { derived_[id] = true; }

 private:
  Graph& graph_;
  std::map<std::string, TensorId> ids_;
  std::map<std::string, const OnnxConstant*> constants_;
  std::deque<OnnxConstant> storage_;
  std::map<TensorId, bool> derived_;
};

/// One node on its way into the graph. Faults are UsageErrors with the reason alone: the caller adds node and operator.
class OperatorContext {
 public:
  OperatorContext(Graph& graph_, ImportedTensors& tensors, const onnx::NodeProto& node, int64_t opset_)
      : graph(graph_), attributes(node), opset(opset_), tensors_(tensors), node_(node) {}

  /// Input number `index` is there; an empty name counts as absent.
  bool has_input(int index) const;
  std::string input_name(int index) const;
  TensorId input(int index);
  const GraphTensor& input_tensor(int index) { return graph.tensor(input(index)); }
  /// Null when the input is absent or no constant.
  const OnnxConstant* constant_input(int index) const;
  /// One float32 from a constant input; throws when it is something else.
  float constant_real(int index) const;
  void require_inputs(int least, int most) const;

  int outputs() const { return node_.output_size(); }
  /// Adds `node` with `inputs`, writing one of the ONNX node's outputs; nothing when that has no name.
  void finish(Node node, std::vector<TensorId> inputs, DType dtype, Shape shape, int output = 0);
  /// The tensor that finish gave output number `index`; kNoTensor when it has no name.
  TensorId output_tensor(int index) const;
  /// The first output is this constant.
  void finish_constant(OnnxConstant constant);
  /// Adds `node` with `inputs`, writing a tensor of its own named after the ONNX node and `suffix`.
  TensorId add_inner(Node node, std::vector<TensorId> inputs, DType dtype, Shape shape, const std::string& suffix);
  /// The first output is another name of the first input.
  void finish_alias();
  /// Throws UsageError unless the tensor hangs on no graph input.
  void require_constant(TensorId id, const std::string& what) const;
  bool is_derived_from_constants(TensorId id) const { return tensors_.is_derived_from_constants(id); }

  /// Scale and zero point from two constant inputs, checked against the codes' type; `axis` as the attribute gives it.
  Quantization quantization(int scale_input, int zero_point_input, std::optional<DType> codes, int64_t axis,
                            const std::string& codes_name, const Shape& shape) const;
  /// The same for codes of scale 1; their zero point may be absent.
  Quantization unit_quantization(int zero_point_input, DType codes, int64_t axis, const std::string& codes_name,
                                 const Shape& shape) const;

  Graph& graph;
  Attributes attributes;
  const int64_t opset;

 private:
  TensorId add(Node node, std::vector<TensorId> inputs, TensorId output);

  ImportedTensors& tensors_;
  const onnx::NodeProto& node_;
};

/// NumPy's rule; throws UsageError when the shapes do not fit.
Shape broadcast(const Shape& a, const Shape& b);
/// Throws UsageError unless every extent is positive and the whole has at most 2^31 elements.
void check_shape(const Shape& shape);
/// Negative axes count from the end. Throws UsageError when out of range.
int64_t normalized_axis(int64_t axis, size_t rank);
/// Throws UsageError unless the tensor is float32.
void require_real(const GraphTensor& tensor);

/// Window attributes shared by convolutions and pools. `kernel` is the spatial kernel, empty to take kernel_shape.
struct WindowShape {
  Window window;
  std::vector<int64_t> output;  // spatial extents
};
WindowShape read_window(Attributes& attributes, const Shape& x, std::vector<int64_t> kernel, bool may_ceil);
/// A node with its attributes and the shape of its output, still to be placed by finish or add_inner.
struct UnplacedNode {
  Node node;
  Shape shape;
};
UnplacedNode convolution(OperatorContext& context, TensorId x, TensorId w, TensorId bias);
UnplacedNode average_pool(OperatorContext& context, TensorId x);
/// The same, but that with count_include_pad a window that reaches beyond the padding is divided by all of its
/// elements.
UnplacedNode average_pool_over_whole_windows(OperatorContext& context, TensorId x);
UnplacedNode global_average_pool(OperatorContext& context, TensorId x);
/// What becomes of the float32 result of a product.
struct ProductResult {
  std::optional<Quantization> quantized;
  bool as_integers = false;  // int32: it holds sums of codes
};
/// Places `made` over `inputs`, and what turns its result into that.
void finish_product(OperatorContext& context, UnplacedNode made, std::vector<TensorId> inputs,
                    const ProductResult& result);
/// The same as a tensor of the node's own.
TensorId inner_product(OperatorContext& context, UnplacedNode made, std::vector<TensorId> inputs,
                       const ProductResult& result);
/// x times w, a constant matrix or matrices of as many batches as x; rows of more than two dimensions made one.
void finish_matmul(OperatorContext& context, TensorId x, TensorId w, const ProductResult& result);
/// The same as a tensor of the node's own.
TensorId inner_matmul(OperatorContext& context, TensorId x, TensorId w, const ProductResult& result);

/// A movement of a node's input; `fill` where there is no source, of codes the code.
Node move_node(const Movement& movement, float fill = 0.0f);
/// All axes, or those given, as indices from the first dimension. Throws UsageError on one out of range or given twice.
std::vector<size_t> normalized_axes(const std::optional<std::vector<int64_t>>& axes, size_t rank);
/// Whether the indices go in equal steps, each repeated as often.
bool are_regular(const std::vector<int64_t>& indices);
/// Appends what takes regular `indices` along an axis without gaps.
void take_indices(Movement& movement, const MovementAxis& axis, const std::vector<int64_t>& indices);
/// The elements of x at these indices along an axis, by a movement where they are regular, else by a gather.
TensorId picked(OperatorContext& context, TensorId x, size_t axis, const std::vector<int64_t>& indices,
                const std::string& suffix);
/// Throws UsageError unless it is int32 or int64.
void require_indices(const GraphTensor& tensor);
/// int64 or int32 from a constant input; throws when it is something else.
std::vector<int64_t> constant_integers(const OperatorContext& context, int index);
/// The tensor as another of the node's own, of another shape or with its dimensions in another order.
TensorId reshaped(OperatorContext& context, TensorId id, Shape shape, const std::string& suffix);
/// A Transpose and the shape that it gives.
UnplacedNode transpose_node(const Shape& shape, const std::vector<int64_t>& order);
TensorId transposed(OperatorContext& context, TensorId id, const std::vector<int64_t>& order,
                    const std::string& suffix);
/// x, or with transA its transpose.
TensorId first_operand(OperatorContext& context, TensorId x);

/// Places the step that computes `result`; its operands broadcast. Throws UsageError where an operation does not take
/// their types.
void finish_formula(OperatorContext& context, const Formula& formula, Term result, int output = 0);
TensorId add_formula(OperatorContext& context, const Formula& formula, Term result, const std::string& suffix);
/// A float32 step of the kind.
Node step_node(OpKind kind);
/// A constant of the graph.
TensorId add_constant(OperatorContext& context, Tensor tensor, const std::string& suffix);
/// Values of run time in a shape that broadcasts to `shape`: one, or one for each index of `axis`. Throws UsageError
/// that names them when they are neither.
TensorId spread_along(OperatorContext& context, TensorId values, const Shape& shape, int64_t axis, const char* what);
/// A tensor of one element a channel in a shape that broadcasts to `rank` dimensions, channels second.
TensorId along_channels(OperatorContext& context, TensorId id, size_t rank, const std::string& suffix);
/// The tensor repeated to a shape that it broadcasts to.
TensorId expanded(OperatorContext& context, TensorId id, const Shape& shape, const std::string& suffix);
/// float32 from a constant input; throws when it is something else.
std::vector<float> constant_reals(const OperatorContext& context, int index);
/// Throws UsageError when a constant of so many bytes, made by the import, is more than the model may ask for.
void take_bytes(Graph& graph, int64_t bytes);
/// The shape as [before axis, axis, behind].
Rows rows_of(const Shape& shape, size_t axis);
/// The reduction of x over these axes, as a tensor of the node's own: with each of them 1.
TensorId reduced(OperatorContext& context, TensorId x, const std::vector<size_t>& axes, ReductionOp op,
                 const std::string& suffix);
/// Softmax as the attributes say it; before opset 13 of the rows behind `axis`.
Node softmax_node(OperatorContext& context, const Shape& shape, bool logarithm);

Node quantize_node(const Quantization& quantization);
Node dequantize_node(const Quantization& quantization);

using ImportOperator = void (*)(OperatorContext&);

/// Null when the operator is not taken. `domain` is "" for the default one.
ImportOperator find_operator(const std::string& domain, const std::string& op_type);

}  // namespace warpwright
