// The graph for people and for other programs.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "src/core/error.h"
#include "src/graph/graph.h"

namespace warpwright {

namespace {

constexpr std::array<std::pair<NodeKind, std::string_view>, 23> kKinds{{
    {NodeKind::quantize, "QuantizeLinear"},
    {NodeKind::dequantize, "DequantizeLinear"},
    {NodeKind::conv, "Conv"},
    {NodeKind::gemm, "Gemm"},
    {NodeKind::matmul, "MatMul"},
    {NodeKind::relu, "Relu"},
    {NodeKind::clip, "Clip"},
    {NodeKind::hard_sigmoid, "HardSigmoid"},
    {NodeKind::hard_swish, "HardSwish"},
    {NodeKind::sigmoid, "Sigmoid"},
    {NodeKind::leaky_relu, "LeakyRelu"},
    {NodeKind::tanh, "Tanh"},
    {NodeKind::add, "Add"},
    {NodeKind::mul, "Mul"},
    {NodeKind::max_pool, "MaxPool"},
    {NodeKind::average_pool, "AveragePool"},
    {NodeKind::concat, "Concat"},
    {NodeKind::reshape, "Reshape"},
    {NodeKind::move, "movement"},
    {NodeKind::identity, "Identity"},
    {NodeKind::integer, "int32 sums"},
    {NodeKind::product, "product"},
    {NodeKind::step, "step"},
}};

std::string kind_text(const Node& node) {
  return node.kind == NodeKind::step ? "step." + std::string(name(node.workload.kind)) : std::string(name(node.kind));
}

std::string tensor_text(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return "-";
  const GraphTensor& tensor = graph.tensor(id);
  return fmt::format("{}:{}{}{}", tensor.name, name(tensor.dtype), to_text(tensor.shape),
                     tensor.constant ? " const" : "");
}

std::string details(const Node& node) {
  switch (node.kind) {
    case NodeKind::quantize:
    case NodeKind::dequantize:
      if (!node.quantization.per_tensor()) {
        return fmt::format(" {} scales along axis {}", node.quantization.scale.size(), node.quantization.axis);
      }
      return fmt::format(" scale {} zero point {}", node.quantization.scale[0], node.quantization.zero_point[0]);
    case NodeKind::clip:
      return fmt::format(" [{}, {}]", node.lo, node.hi);
    case NodeKind::concat:
      return fmt::format(" axis {}", node.axis);
    case NodeKind::step:
      if (node.workload.is_matrix_product()) {
        const Epilogue& epilogue = node.workload.epilogue;
        return fmt::format("{}{}{}", epilogue.bias ? " +bias" : "",
                           epilogue.residual == ResidualForm::none      ? ""
                           : epilogue.residual == ResidualForm::rounded ? " +residual"
                                                                        : " +unrounded residual",
                           epilogue.table ? " +table" : "");
      }
      return {};
    default:
      return {};
  }
}

}  // namespace

std::string_view name(NodeKind kind) {
  for (const auto& [item, text] : kKinds) {
    if (item == kind) return text;
  }
  throw InternalError("unknown kind of node");
}

std::string to_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::string to_text(const Graph& graph) {
  std::string text;
  for (TensorId input : graph.inputs) text += fmt::format("input {}\n", tensor_text(graph, input));
  for (const Node& node : graph.nodes) {
    std::vector<std::string> inputs;
    for (TensorId input : node.inputs) inputs.push_back(tensor_text(graph, input));
    text += fmt::format("{} = {}({}){}  # {}\n", tensor_text(graph, node.output), kind_text(node),
                        fmt::join(inputs, ", "), details(node), fmt::join(node.onnx_nodes, ", "));
  }
  for (const GraphOutput& output : graph.outputs) {
    text += fmt::format("output {} = {}\n", output.name, tensor_text(graph, output.tensor));
  }
  return text;
}

Json to_json(const Graph& graph) {
  auto tensor_json = [&](TensorId id) -> Json {
    if (id == kNoTensor) return nullptr;
    const GraphTensor& tensor = graph.tensor(id);
    return {{"name", tensor.name},
            {"dtype", std::string(name(tensor.dtype))},
            {"shape", tensor.shape},
            {"constant", tensor.constant.has_value()}};
  };
  Json json{{"inputs", Json::array()}, {"nodes", Json::array()}, {"outputs", Json::array()}};
  for (TensorId input : graph.inputs) json["inputs"].push_back(tensor_json(input));
  for (const Node& node : graph.nodes) {
    Json item{{"kind", kind_text(node)},
              {"name", node.name},
              {"onnx_nodes", node.onnx_nodes},
              {"inputs", Json::array()},
              {"output", tensor_json(node.output)}};
    for (TensorId input : node.inputs) item["inputs"].push_back(tensor_json(input));
    const std::string more = details(node);
    if (!more.empty()) item["details"] = more.substr(1);
    json["nodes"].push_back(std::move(item));
  }
  for (const GraphOutput& output : graph.outputs) {
    json["outputs"].push_back({{"name", output.name}, {"tensor", tensor_json(output.tensor)}});
  }
  return json;
}

}  // namespace warpwright
