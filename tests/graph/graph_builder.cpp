// Small graphs for tests of passes.
#include "tests/graph/graph_builder.h"

namespace warpwright {

TensorId GraphBuilder::input(const std::string& name, DType dtype, Shape shape) {
  graph_.inputs.push_back(graph_.add_tensor(name, dtype, std::move(shape)));
  return graph_.inputs.back();
}

TensorId GraphBuilder::constant(const std::string& name, Tensor tensor) {
  const TensorId id = graph_.add_tensor(name, tensor.dtype, tensor.shape);
  graph_.tensor(id).constant = std::move(tensor);
  return id;
}

TensorId GraphBuilder::real_constant(const std::string& name, Shape shape, const std::vector<float>& values) {
  Tensor tensor = vector_f32(values);
  tensor.shape = std::move(shape);
  return constant(name, std::move(tensor));
}

TensorId GraphBuilder::code_constant(const std::string& name, DType dtype, Shape shape,
                                     const std::vector<int32_t>& values) {
  Tensor tensor = vector_s32(values);
  tensor.shape = std::move(shape);
  if (dtype == DType::s32) return constant(name, std::move(tensor));
  Tensor codes(dtype, tensor.shape);
  for (size_t i = 0; i < values.size(); ++i) codes.bytes[i] = static_cast<std::byte>(values[i]);
  return constant(name, std::move(codes));
}

TensorId GraphBuilder::add(Node node, std::vector<TensorId> inputs, const std::string& output, DType dtype,
                           Shape shape) {
  node.name = output;
  node.onnx_nodes = {output};
  node.inputs = std::move(inputs);
  node.output = graph_.add_tensor(output, dtype, std::move(shape));
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().output;
}

TensorId GraphBuilder::quantize(TensorId x, const std::string& output, DType dtype, float scale, int32_t zero_point) {
  Node node;
  node.kind = NodeKind::quantize;
  node.quantization = {dtype, {scale}, {zero_point}, 0};
  return add(std::move(node), {x}, output, dtype, Shape(graph_.tensor(x).shape));
}

TensorId GraphBuilder::dequantize(TensorId x, const std::string& output, float scale, int32_t zero_point) {
  Node node;
  node.kind = NodeKind::dequantize;
  node.quantization = {graph_.tensor(x).dtype, {scale}, {zero_point}, 0};
  return add(std::move(node), {x}, output, DType::f32, Shape(graph_.tensor(x).shape));
}

TensorId GraphBuilder::unary(NodeKind kind, TensorId x, const std::string& output) {
  Node node;
  node.kind = kind;
  return add(std::move(node), {x}, output, graph_.tensor(x).dtype, Shape(graph_.tensor(x).shape));
}

TensorId GraphBuilder::clip(TensorId x, const std::string& output, float lo, float hi) {
  Node node;
  node.kind = NodeKind::clip;
  node.lo = lo;
  node.hi = hi;
  return add(std::move(node), {x}, output, graph_.tensor(x).dtype, Shape(graph_.tensor(x).shape));
}

TensorId GraphBuilder::binary(NodeKind kind, TensorId a, TensorId b, const std::string& output) {
  Node node;
  node.kind = kind;
  const bool first = graph_.tensor(a).shape.size() >= graph_.tensor(b).shape.size();
  return add(std::move(node), {a, b}, output, DType::f32, Shape(graph_.tensor(first ? a : b).shape));
}

TensorId GraphBuilder::reshape(TensorId x, const std::string& output, Shape shape) {
  Node node;
  node.kind = NodeKind::reshape;
  return add(std::move(node), {x}, output, graph_.tensor(x).dtype, std::move(shape));
}

TensorId GraphBuilder::conv(TensorId x, const std::string& output, int64_t channels, int32_t weight, TensorId bias) {
  Shape shape = graph_.tensor(x).shape;
  const int64_t inputs = shape[1];
  const std::vector<int32_t> codes(static_cast<size_t>(channels * inputs), weight);
  const TensorId w = dequantize(code_constant(output + "_w_codes", DType::s8, {channels, inputs, 1, 1}, codes),
                                output + "_w", 0.5f, 0);
  shape[1] = channels;
  Node node;
  node.kind = NodeKind::conv;
  return add(std::move(node), {x, w, bias}, output, DType::f32, std::move(shape));
}

void GraphBuilder::output(TensorId id) { graph_.outputs.push_back({graph_.tensor(id).name, id}); }

const Node* find_step(const Graph& graph, OpKind kind) {
  for (const Node& node : graph.nodes) {
    if (node.is_step(kind)) return &node;
  }
  return nullptr;
}

size_t count_steps(const Graph& graph, OpKind kind) {
  size_t count = 0;
  for (const Node& node : graph.nodes) count += node.is_step(kind) ? 1 : 0;
  return count;
}

float real_value(const Node& node, const std::string& name) { return node.values.at(name).as<float>()[0]; }
int32_t integer_value(const Node& node, const std::string& name) { return node.values.at(name).as<int32_t>()[0]; }

}  // namespace warpwright
