// Pass: what hangs on constants alone is computed: QuantizeLinear, Reshape, movement by strides, float32 steps.
#include <algorithm>
#include <cmath>

#include "src/graph/passes/chain.h"
#include "src/graph/passes/passes.h"
#include "src/graph/passes/real_step.h"
#include "src/reference/reference.h"

namespace warpwright {

namespace {

/// Elements behind one index of `axis`.
int64_t inner_elements(const Shape& shape, int64_t axis) {
  return element_count(Shape(shape.begin() + axis + 1, shape.end()));
}

Tensor quantized(const Tensor& real, const Quantization& y) {
  Tensor codes(y.dtype, real.shape);
  const int64_t inner = y.per_tensor() ? 1 : inner_elements(real.shape, y.axis);
  for (size_t i = 0; i < real.as<float>().size(); ++i) {
    const size_t k = y.per_tensor() ? 0 : (i / static_cast<size_t>(inner)) % y.scale.size();
    const auto least = static_cast<float>(code_min(y.dtype) - y.zero_point[k]);
    const auto most = static_cast<float>(code_max(y.dtype) - y.zero_point[k]);
    const float value = std::fmin(std::fmax(real.as<float>()[i] / y.scale[k], least), most);
    codes.bytes[i] = static_cast<std::byte>(static_cast<int32_t>(std::nearbyint(value)) + y.zero_point[k]);
  }
  return codes;
}

Tensor moved(const Tensor& tensor, const Node& node, const Shape& shape) {
  Workload workload;
  workload.kind = OpKind::move;
  workload.inputs = {nchw_form(tensor.dtype, 1, 1, 1, tensor.size())};
  workload.output = nchw_form(tensor.dtype, 1, 1, 1, element_count(shape));
  workload.movement = node.movement;
  const Tensor* input = &tensor;
  Tensor result = run_reference(workload, fill_value(node, tensor.dtype), {&input, 1});
  result.shape = shape;
  return result;
}

}  // namespace

void fold_constants(Graph& graph) {
  for (const Node& node : graph.nodes) {
    const bool constant =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) { return graph.is_constant(input); });
    if (node.inputs.empty() || !constant) continue;
    if (node.kind == NodeKind::step && node.workload.is_real()) {
      graph.tensor(node.output).constant = evaluated(graph, node);
      continue;
    }
    if (!may_hold(graph, node)) continue;
    GraphTensor& output = graph.tensor(node.output);
    const Tensor& input = *graph.tensor(node.inputs[0]).constant;
    if (node.kind == NodeKind::quantize) {
      output.constant = quantized(input, node.quantization);
    } else if (node.kind == NodeKind::reshape) {
      output.constant = input;
      output.constant->shape = output.shape;
    } else if (node.kind == NodeKind::move) {
      output.constant = moved(input, node, output.shape);
    }
  }
  std::erase_if(graph.nodes, [&](const Node& node) { return graph.is_constant(node.output); });
  remove_dead_nodes(graph);
}

}  // namespace warpwright
