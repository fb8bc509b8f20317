// Placing constants and setting forms.
#include "src/graph/passes/real_step.h"

#include <fmt/core.h>

#include <array>
#include <map>
#include <set>

#include "src/core/error.h"
#include "src/graph/formula.h"
#include "src/graph/passes/chain.h"
#include "src/reference/reference.h"

namespace warpwright {

namespace {

/// Elements from index to index of `from` as it is broadcast to `to`.
std::vector<int64_t> broadcast_steps(const Shape& from, const Shape& to) {
  std::vector<int64_t> steps(to.size(), 0);
  int64_t step = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t extent = from[from.size() - 1 - i];
    if (extent != 1) steps[to.size() - 1 - i] = step;
    step *= extent;
  }
  return steps;
}

TensorForm flat_form(const GraphTensor& tensor) {
  return nchw_form(tensor.dtype, 1, 1, 1, element_count(tensor.shape));
}

/// The forms in which a step of this kind sees its tensors.
TensorForm form_for(OpKind kind, const GraphTensor& tensor) {
  switch (kind) {
    case OpKind::real_conv2d:
    case OpKind::real_matmul:
    case OpKind::real_max_pool:
    case OpKind::real_average_pool:
    case OpKind::resample:
      return nchw_form_of(tensor);
    default:
      return flat_form(tensor);
  }
}

void set_forms(const Graph& graph, Node& node) {
  Workload& workload = node.workload;
  workload.inputs.clear();
  for (const TensorId input : node.inputs) workload.inputs.push_back(form_for(workload.kind, graph.tensor(input)));
  workload.output = form_for(workload.kind, graph.tensor(node.output));
}

/// Instructions and operands in the order in which the result asks for them, so that a computation has one form however
/// it was put together.
class MapOrder {
 public:
  explicit MapOrder(const Node& node) : inputs_(node.inputs), old_(node.workload.map.instructions) {
    visit(static_cast<int>(inputs_.size() + old_.size()) - 1);
  }

  void apply(Node& node) const {
    const auto operands = static_cast<int>(operands_.size());
    std::map<int, int> numbers;
    for (int i = 0; i < operands; ++i) numbers[operands_[static_cast<size_t>(i)]] = i;
    for (size_t i = 0; i < order_.size(); ++i) numbers[order_[i]] = operands + static_cast<int>(i);
    node.inputs.clear();
    for (const int operand : operands_) node.inputs.push_back(inputs_[static_cast<size_t>(operand)]);
    node.workload.map.instructions.clear();
    for (const int number : order_) {
      MapInstruction instruction = old_[static_cast<size_t>(number) - inputs_.size()];
      for (int& argument : instruction.arguments) argument = numbers.at(argument);
      node.workload.map.instructions.push_back(std::move(instruction));
    }
  }

 private:
  void visit(int number) {
    if (!seen_.insert(number).second) return;
    if (number < static_cast<int>(inputs_.size())) return operands_.push_back(number);
    for (const int argument : old_[static_cast<size_t>(number) - inputs_.size()].arguments) visit(argument);
    order_.push_back(number);
  }

  const std::vector<TensorId> inputs_;
  const std::vector<MapInstruction> old_;
  std::set<int> seen_;
  std::vector<int> operands_, order_;
};

void place_map(const Graph& graph, Node& node, bool constants_are_values) {
  MapOrder(node).apply(node);
  Map& map = node.workload.map;
  map.extents = graph.tensor(node.output).shape;
  map.operands.clear();
  std::vector<TensorId> inputs;
  size_t constants = 0;
  for (const TensorId input : node.inputs) {
    const GraphTensor& tensor = graph.tensor(input);
    const bool constant = constants_are_values && tensor.constant;
    map.operands.push_back({tensor.dtype, constant, broadcast_steps(tensor.shape, map.extents)});
    if (constant) {
      node.values[fmt::format("constant{}", constants++)] = *tensor.constant;
    } else {
      inputs.push_back(input);
    }
  }
  map = simplified(map);
  node.inputs = std::move(inputs);
}

/// The value that input number `slot` becomes when it is constant; null: it stays an input.
const char* value_name(OpKind kind, size_t slot) {
  constexpr std::array<const char*, 3> kProduct{nullptr, "weights", "bias"}, kNormalize{nullptr, "scale", "bias"},
      kGather{"table", nullptr, nullptr};
  switch (kind) {
    case OpKind::real_conv2d:
    case OpKind::real_matmul:
      return kProduct[slot];
    case OpKind::normalize:
      return kNormalize[slot];
    case OpKind::gather:
      return kGather[slot];
    default:
      return nullptr;
  }
}

/// Inputs from number `first` on that are constants become values.
void place_inputs(const Graph& graph, Node& node, size_t first) {
  std::vector<TensorId> inputs;
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const TensorId input = node.inputs[slot];
    const char* name = slot >= first ? value_name(node.workload.kind, slot) : nullptr;
    if (name && graph.is_constant(input)) {
      node.values[name] = *graph.tensor(input).constant;
    } else {
      inputs.push_back(input);
    }
  }
  node.workload.epilogue.bias = node.values.count("bias") > 0;
  node.inputs = std::move(inputs);
}

/// A step that makes float32 of float16, which only maps take.
TensorId append_real(Graph& graph, TensorId half, const std::vector<std::string>& onnx_nodes) {
  Formula formula(graph);
  Node node = formula.step(converted(formula.tensor(half), DType::f32));
  node.name = graph.tensor(half).name;
  node.onnx_nodes = onnx_nodes;
  node.output = graph.add_tensor(node.name + "/real", DType::f32, Shape(graph.tensor(half).shape));
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().output;
}

int64_t bytes_of(const GraphTensor& tensor) {
  return element_count(tensor.shape) * static_cast<int64_t>(size_bytes(tensor.dtype));
}

/// Where that is more than the bytes that are read and written.
int64_t operations(const Workload& workload) {
  const int64_t elements = workload.output.pixels() * workload.output.c;
  switch (workload.kind) {
    case OpKind::map:
      return elements * std::ssize(workload.map.instructions);
    case OpKind::real_max_pool:
    case OpKind::real_average_pool:
      return elements * workload.window.kernel_h * workload.window.kernel_w;
    case OpKind::resample:
      return elements * workload.h_taps * workload.w_taps;
    default:
      return workload.multiply_adds();
  }
}

}  // namespace

void append_constant(Graph& graph, TensorId constant, TensorId output, const std::vector<std::string>& onnx_nodes) {
  const std::string name = graph.tensor(constant).name;
  if (graph.inputs.empty())
    throw UsageError(fmt::format("the model has no inputs: its result \"{}\" is constant", name));
  // A step reads something; what it reads does not matter.
  Node pick;
  pick.name = name;
  pick.onnx_nodes = onnx_nodes;
  TensorId read = graph.inputs[0];
  if (graph.tensor(read).dtype == DType::f16) read = append_real(graph, read, onnx_nodes);
  pick.output = graph.add_tensor(name + "/element", graph.tensor(read).dtype, {1});
  become_step(pick, OpKind::move, {read}, {});
  Formula formula(graph);
  const Term value = formula.tensor(constant);
  Node node = formula.step(select(converted(formula.tensor(pick.output), DType::boolean), value, value));
  node.name = name;
  node.onnx_nodes = onnx_nodes;
  node.output = output;
  graph.nodes.push_back(std::move(pick));
  graph.nodes.push_back(std::move(node));
}

bool becomes_value(const Graph& graph, const Node& node, size_t slot) {
  const bool may = node.is_step(OpKind::map) || value_name(node.workload.kind, slot) != nullptr;
  return may && graph.is_constant(node.inputs[slot]);
}

void place_constants(const Graph& graph, Node& node) {
  if (node.is_step(OpKind::map)) {
    place_map(graph, node, true);
  } else {
    place_inputs(graph, node, 0);
  }
  set_forms(graph, node);
}

bool may_hold(Graph& graph, const Node& node) {
  return graph.constant_budget.take(bytes_of(graph.tensor(node.output)));
}

std::optional<Tensor> evaluated(Graph& graph, const Node& node) {
  Node copy = node;
  if (copy.is_step(OpKind::map)) {
    place_map(graph, copy, false);
  } else {
    place_inputs(graph, copy, copy.is_step(OpKind::real_matmul) ? 2 : 1);
  }
  set_forms(graph, copy);
  if (!graph.constant_budget.take(bytes_of(graph.tensor(node.output)), operations(copy.workload))) return std::nullopt;
  std::vector<const Tensor*> inputs;
  for (const TensorId input : copy.inputs) inputs.push_back(&*graph.tensor(input).constant);
  Tensor result = run_reference(copy.workload, copy.values, inputs);
  result.shape = graph.tensor(node.output).shape;
  return result;
}

}  // namespace warpwright
