// Pass: what no earlier pass took becomes float32 steps; those over constants alone are computed here and now.
#include <algorithm>
#include <map>

#include "src/graph/formula.h"
#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"
#include "src/graph/passes/real_step.h"

namespace warpwright {

namespace {

/// Values along `axis` of a tensor of `rank` dimensions, in a shape that broadcasts to it.
Tensor along_axis(Tensor values, int64_t axis, size_t rank) {
  values.shape = values.size() == 1 ? Shape{} : Shape(rank - static_cast<size_t>(axis), 1);
  if (!values.shape.empty()) values.shape[0] = values.size();
  return values;
}

class RealSteps {
 public:
  explicit RealSteps(Graph& graph) : graph_(graph) {}

  void run() {
    for (Node& node : std::exchange(graph_.nodes, {})) take(std::move(node));
    remove_dead_nodes(graph_);
  }

 private:
  void take(Node node) {
    switch (node.kind) {
      case NodeKind::relu:
      case NodeKind::clip:
      case NodeKind::hard_sigmoid:
      case NodeKind::hard_swish:
      case NodeKind::sigmoid:
      case NodeKind::leaky_relu:
      case NodeKind::tanh:
      case NodeKind::add:
      case NodeKind::mul:
        return take_elementwise(std::move(node));
      case NodeKind::quantize:
        return take_quantize(std::move(node));
      case NodeKind::dequantize:
        return take_dequantize(std::move(node));
      case NodeKind::conv:
        node.workload.window = node.window;
        node.workload.groups = node.groups;
        if (node.inputs[2] == kNoTensor) node.inputs.pop_back();
        return emit_step(std::move(node), OpKind::real_conv2d);
      case NodeKind::matmul:
        node.workload.batch = node.batch;
        if (!graph_.is_constant(node.inputs[1])) node.inputs[0] = written(node, 0);
        return emit_step(std::move(node), OpKind::real_matmul);
      case NodeKind::gemm:
        return take_gemm(std::move(node));
      case NodeKind::product:
        return take_product(std::move(node));
      case NodeKind::max_pool:
      case NodeKind::average_pool:
        return take_pool(std::move(node));
      case NodeKind::concat:
        return take_concat(std::move(node));
      case NodeKind::step:
        return take_step(std::move(node));
      default:
        return emit(std::move(node));
    }
  }

  void emit_step(Node node, OpKind kind) {
    node.kind = NodeKind::step;
    node.workload.kind = kind;
    emit(std::move(node));
  }

  void take_step(Node node) {
    if (!node.workload.is_real()) return emit_codes(std::move(node));
    if (node.is_step(OpKind::gather) && !graph_.is_constant(node.inputs[0])) node.inputs[1] = written(node, 1);
    emit(std::move(node));
  }

  /// Places a step on codes, whose input may have become constant only here.
  void emit_codes(Node node) {
    const bool is_constant = node.inputs.size() == 1 && graph_.is_constant(node.inputs[0]);
    if (is_constant && (node.is_step(OpKind::quantize) || node.is_step(OpKind::dequantize))) return emit_map(node);
    if (is_constant && node.is_step(OpKind::layout)) {
      node.kind = NodeKind::reshape;
      return emit(std::move(node));
    }
    if (is_constant && node.is_step(OpKind::move)) graph_.tensor(node.output).constant = evaluated(graph_, node);
    if (graph_.is_constant(node.output)) return;
    for (size_t i = 0; i < node.inputs.size(); ++i) node.inputs[i] = written(node, i);
    graph_.nodes.push_back(std::move(node));
  }

  /// A quantize or dequantize step as a map.
  void emit_map(const Node& node) {
    const DType dtype = graph_.tensor(node.output).dtype;
    Formula formula(graph_);
    const auto value = [&](const char* name) { return formula.tensor(constant(name, node.values.at(name))); };
    const Term x = formula.tensor(node.inputs[0]);
    if (node.is_step(OpKind::dequantize)) {
      const Term centred = converted(x, DType::s32) - value("zero_point");
      return emit_formula(node, formula, converted(centred, DType::f32) * value("scale"));
    }
    const Term bounded = minimum(maximum(x / value("scale"), value("lo")), value("hi"));
    const Term code = converted(formula.apply(MapOp::round, {bounded}), DType::s32) + value("zero_point");
    emit_formula(node, formula, converted(code, dtype));
  }

  /// Places a node; a float32 step over constants alone is computed.
  void emit(Node node) {
    const bool all_constant =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) { return graph_.is_constant(input); });
    const bool is_real = node.kind == NodeKind::step && node.workload.is_real();
    if (all_constant && is_real) {
      graph_.tensor(node.output).constant = evaluated(graph_, node);
    } else if (all_constant && node.kind == NodeKind::reshape && may_hold(graph_, node)) {
      Tensor tensor = *graph_.tensor(node.inputs[0]).constant;
      tensor.shape = graph_.tensor(node.output).shape;
      graph_.tensor(node.output).constant = std::move(tensor);
    }
    if (!graph_.is_constant(node.output)) graph_.nodes.push_back(std::move(node));
  }

  /// `node` as the map that `result` asks for.
  void emit_formula(Node node, const Formula& formula, Term result) {
    Node step = formula.step(result);
    node.kind = NodeKind::step;
    node.workload = std::move(step.workload);
    node.inputs = std::move(step.inputs);
    node.values.clear();
    emit(std::move(node));
  }

  TensorId constant(const std::string& name, Tensor tensor) {
    const TensorId id = graph_.add_tensor(name, tensor.dtype, tensor.shape);
    graph_.tensor(id).constant = std::move(tensor);
    return id;
  }

  /// A tensor like the output of `node`, of another type.
  TensorId like_output(const Node& node, DType dtype, const std::string& suffix) {
    const GraphTensor& output = graph_.tensor(node.output);
    std::string name = output.name + suffix;
    Shape shape = output.shape;
    return graph_.add_tensor(std::move(name), dtype, std::move(shape));
  }

  void take_elementwise(Node node) {
    if (graph_.tensor(node.output).dtype != DType::f32) return emit(std::move(node));
    Formula formula(graph_);
    const Term x = formula.tensor(node.inputs[0]);
    const Term other = node.inputs.size() > 1 ? formula.tensor(node.inputs[1]) : x;
    const Term result = meaning(node, x, other);
    // A clip without bounds.
    if (formula.is_operand(result)) return emit_formula(std::move(node), formula, formula.apply(MapOp::to_f32, {x}));
    emit_formula(std::move(node), formula, result);
  }

  Term along(Formula& formula, const Node& node, Tensor values) {
    const size_t rank = graph_.tensor(node.output).shape.size();
    return formula.tensor(constant(node.name, along_axis(std::move(values), node.quantization.axis, rank)));
  }

  void take_quantize(Node node) {
    const Quantization& y = node.quantization;
    std::vector<float> lo, hi;
    for (const int32_t zero_point : y.zero_point) {
      lo.push_back(static_cast<float>(code_min(y.dtype) - zero_point));
      hi.push_back(static_cast<float>(code_max(y.dtype) - zero_point));
    }
    Formula formula(graph_);
    const Term x = formula.tensor(node.inputs[0]) / along(formula, node, vector_f32(y.scale));
    const Term bounded =
        minimum(maximum(x, along(formula, node, vector_f32(lo))), along(formula, node, vector_f32(hi)));
    const Term code =
        converted(formula.apply(MapOp::round, {bounded}), DType::s32) + along(formula, node, vector_s32(y.zero_point));
    const Term result = converted(code, y.dtype);
    emit_formula(std::move(node), formula, result);
  }

  void take_dequantize(Node node) {
    const Quantization& x = node.quantization;
    Formula formula(graph_);
    Term centred = converted(formula.tensor(node.inputs[0]), DType::s32);
    if (std::any_of(x.zero_point.begin(), x.zero_point.end(), [](int32_t value) { return value != 0; })) {
      centred = centred - along(formula, node, vector_s32(x.zero_point));
    }
    const Term result = converted(centred, DType::f32) * along(formula, node, vector_f32(x.scale));
    emit_formula(std::move(node), formula, result);
  }

  /// alpha * a * b + beta * c: a product, and a map behind it where there is more than a row to add.
  void take_gemm(Node node) {
    node.workload.transposed = node.transposed_weights;
    const TensorId c = node.inputs[2];
    node.inputs.pop_back();
    const int64_t columns = graph_.tensor(node.output).shape.back();
    const bool row = c != kNoTensor && graph_.is_constant(c) && graph_.tensor(c).constant->size() == columns;
    if (node.alpha == 1.0f && (c == kNoTensor || (row && node.beta == 1.0f))) {
      if (row) node.inputs.push_back(c);
      return emit_step(std::move(node), OpKind::real_matmul);
    }
    Node product = node;
    product.output = like_output(node, DType::f32, "/product");
    Formula formula(graph_);
    Term y = formula.tensor(product.output);
    if (node.alpha != 1.0f) y = y * node.alpha;
    if (c != kNoTensor) {
      const Term addend = formula.tensor(c);
      y = y + (node.beta == 1.0f ? addend : addend * node.beta);
    }
    emit_step(std::move(product), OpKind::real_matmul);
    emit_formula(std::move(node), formula, y);
  }

  /// The sums as s32, and a map that scales them and adds the bias.
  void take_product(Node node) {
    Node sums = node;
    sums.output = like_output(node, DType::s32, "/sums");
    sums.workload.epilogue.bias = false;
    sums.values.erase("bias");
    sums.values["pad_code"] = scalar_s32(0);
    sums.kind = NodeKind::step;
    std::vector<float> scale;
    for (const float weight_scale : node.scales.weight_scale) {
      scale.push_back((node.scales.alpha * node.scales.x_scale) * weight_scale);
    }
    // Channels are the second dimension of an image, the last of rows.
    node.quantization.axis = 1;
    Formula formula(graph_);
    Term y = converted(formula.tensor(sums.output), DType::f32) * along(formula, node, vector_f32(scale));
    if (!node.scales.bias.empty()) y = y + along(formula, node, vector_f32(node.scales.bias));
    graph_.nodes.push_back(std::move(sums));
    emit_formula(std::move(node), formula, y);
  }

  /// A pool over whole images is a reduction.
  void take_pool(Node node) {
    const GraphTensor &x = graph_.tensor(node.inputs[0]), &y = graph_.tensor(node.output);
    if (x.dtype != DType::f32) return emit(std::move(node));
    const bool largest = node.kind == NodeKind::max_pool;
    const int64_t planes = x.shape[0] * x.shape[1], pixels = element_count(x.shape) / planes;
    const Window& window = node.window;
    const bool has_pads = window.pad_top + window.pad_left + window.pad_bottom + window.pad_right > 0;
    if (element_count(y.shape) == planes && window.kernel_h * window.kernel_w == pixels && !has_pads) {
      node.workload.rows = {planes, pixels, 1};
      node.workload.reduction = largest ? ReductionOp::max : ReductionOp::mean;
      return emit_step(std::move(node), OpKind::reduce);
    }
    node.workload.window = window;
    node.workload.count_include_pad = node.count_include_pad;
    emit_step(std::move(node), largest ? OpKind::real_max_pool : OpKind::real_average_pool);
  }

  void take_concat(Node node) {
    if (node.inputs.size() > kMostParts) return emit(std::move(node));
    const auto axis = static_cast<size_t>(node.axis);
    const Shape& y = graph_.tensor(node.output).shape;
    Rows& rows = node.workload.rows;
    rows.outer = element_count(Shape(y.begin(), y.begin() + node.axis));
    rows.length = y[axis];
    rows.inner = element_count(Shape(y.begin() + node.axis + 1, y.end()));
    const bool all_constant =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) { return graph_.is_constant(input); });
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      node.workload.lengths.push_back(graph_.tensor(node.inputs[i]).shape[axis]);
      if (!all_constant) node.inputs[i] = written(node, i);
    }
    emit_step(std::move(node), OpKind::join);
  }

  /// Input number `slot` as a tensor that a step writes, where it is a constant: one step for all that read it.
  TensorId written(const Node& reader, size_t slot) {
    const TensorId id = reader.inputs[slot];
    if (!graph_.is_constant(id)) return id;
    if (const auto found = written_.find(id); found != written_.end()) return found->second;
    const GraphTensor& tensor = graph_.tensor(id);
    const DType dtype = tensor.dtype;
    Shape shape = tensor.shape;
    const TensorId copy = graph_.add_tensor(std::string(tensor.name), dtype, std::move(shape));
    append_constant(graph_, id, copy, reader.onnx_nodes);
    written_[id] = copy;
    return copy;
  }

  Graph& graph_;
  std::map<TensorId, TensorId> written_;  // by constant
};

}  // namespace

void form_real_steps(Graph& graph) { RealSteps(graph).run(); }

}  // namespace warpwright
