// Small graphs for tests of passes.
#pragma once

#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace warpwright {

class GraphBuilder {
 public:
  TensorId input(const std::string& name, DType dtype, Shape shape);
  TensorId constant(const std::string& name, Tensor tensor);
  TensorId real_constant(const std::string& name, Shape shape, const std::vector<float>& values);
  TensorId code_constant(const std::string& name, DType dtype, Shape shape, const std::vector<int32_t>& values);
  /// Adds `node` under the name of its output.
  TensorId add(Node node, std::vector<TensorId> inputs, const std::string& output, DType dtype, Shape shape);
  TensorId quantize(TensorId x, const std::string& output, DType dtype, float scale, int32_t zero_point);
  TensorId dequantize(TensorId x, const std::string& output, float scale, int32_t zero_point);
  TensorId unary(NodeKind kind, TensorId x, const std::string& output);
  TensorId clip(TensorId x, const std::string& output, float lo, float hi);
  TensorId binary(NodeKind kind, TensorId a, TensorId b, const std::string& output);
  TensorId reshape(TensorId x, const std::string& output, Shape shape);
  /// A 1x1 convolution over float32 `x` with s8 codes of scale 0.5, all `weight`.
  TensorId conv(TensorId x, const std::string& output, int64_t channels, int32_t weight, TensorId bias = kNoTensor);
  void output(TensorId id);
  Graph& graph() { return graph_; }

 private:
  Graph graph_;
};

/// The first step of `kind`, or null.
const Node* find_step(const Graph& graph, OpKind kind);
size_t count_steps(const Graph& graph, OpKind kind);
float real_value(const Node& node, const std::string& name);
int32_t integer_value(const Node& node, const std::string& name);

}  // namespace warpwright
