// Constant folding: which operators, and those that move elements or ask for shapes.
#include "src/import/constant_folding.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "src/core/error.h"
#include "src/import/constant_arithmetic.h"
#include "src/import/onnx_file.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

using Constants = std::vector<const OnnxConstant*>;

/// Operators whose import gives a reshape or a movement of the first input; the other inputs say where to.
const std::set<std::string> kMovingOperators{"Reshape",   "Flatten", "Squeeze", "Unsqueeze",
                                             "Transpose", "Slice",   "Split",   "Expand"};
const std::set<std::string> kReductions{"ReduceSum", "ReduceProd", "ReduceMin", "ReduceMax"};
const std::set<std::string> kOfShapes{"Shape", "Size"};
const std::set<std::string> kOthers{"Concat", "Gather", "ConstantOfShape", "Range", "Where"};

std::string moved_bytes(const std::string& from, size_t width, const Movement& movement) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(movement.elements()) * width);
  std::vector<int64_t> index(movement.axes.size(), 0);
  int64_t source = movement.start;
  for (int64_t count = movement.elements(); count > 0; --count) {
    bytes.append(from, static_cast<size_t>(source) * width, width);
    for (size_t axis = index.size(); axis-- > 0;) {
      source += movement.axes[axis].step;
      if (++index[axis] < movement.axes[axis].extent) break;
      source -= movement.axes[axis].step * movement.axes[axis].extent;
      index[axis] = 0;
    }
  }
  return bytes;
}

/// Imports the node into a graph of its own, over an input in the place of the constant, and does what stands there.
/// Nothing when a result is too large.
std::optional<std::vector<OnnxConstant>> moved(const onnx::NodeProto& node, const Constants& inputs, int64_t opset) {
  Graph graph;
  ImportedTensors tensors(graph);
  const OnnxConstant& x = *inputs[0];
  const TensorId source = graph.add_tensor(node.input(0), DType::f32, x.shape);
  tensors.add(node.input(0), source);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const std::string& name = node.input(static_cast<int>(i));  // perhaps an alias, or read twice, as data too
    if (!inputs[i] || tensors.constant(name)) continue;
    OnnxConstant constant = *inputs[i];
    constant.name = name;
    tensors.add_constant(std::move(constant));
  }
  OperatorContext context(graph, tensors, node, opset);
  find_operator("", node.op_type())(context);
  context.attributes.check_all_asked();
  std::vector<OnnxConstant> results;
  for (const std::string& output : node.output()) {
    results.emplace_back(output, x.type, Shape{});
    for (const Node& made : graph.nodes) {
      if (output.empty() || graph.tensor(made.output).name != output) continue;
      const Shape shape = graph.tensor(made.output).shape;
      if (element_count(shape) > kMostFoldedElements) return std::nullopt;
      const bool moves = made.kind == NodeKind::move && !made.movement.fills();
      if (made.inputs[0] != source || (made.kind != NodeKind::reshape && !moves)) {
        throw UsageError("it is not computed on constants");
      }
      results.back() = {output, x.type, shape,
                        moves ? moved_bytes(x.bytes(), element_bytes(x.type), made.movement) : x.bytes()};
    }
  }
  return results;
}

/// Of all that are there.
int64_t elements_of(const Constants& constants) {
  int64_t count = 0;
  for (const OnnxConstant* constant : constants) count += constant ? constant->size() : 0;
  return count;
}

OnnxConstant concatenated(Attributes& attributes, const Constants& parts) {
  if (!attributes.has("axis")) throw UsageError("attribute axis is missing");
  Shape shape = parts[0]->shape;
  const auto axis = static_cast<size_t>(normalized_axis(attributes.integer("axis", 0), shape.size()));
  for (size_t i = 1; i < parts.size(); ++i) {
    Shape other = parts[i]->shape;
    if (other.size() == shape.size()) other[axis] = shape[axis];
    if (other != shape || parts[i]->type != parts[0]->type) {
      throw UsageError(fmt::format("\"{}\" of shape {} does not fit behind \"{}\" of shape {}", parts[i]->name,
                                   to_text(parts[i]->shape), parts[0]->name, to_text(parts[0]->shape)));
    }
    shape[axis] += parts[i]->shape[axis];
  }
  const int64_t outer = element_count(Shape(shape.begin(), shape.begin() + static_cast<int64_t>(axis)));
  std::string bytes;
  for (int64_t i = 0; i < outer; ++i) {
    for (const OnnxConstant* part : parts) {
      const size_t piece = part->bytes().size() / static_cast<size_t>(outer);
      bytes.append(part->bytes(), static_cast<size_t>(i) * piece, piece);
    }
  }
  return {"", parts[0]->type, shape, std::move(bytes)};
}

std::vector<int64_t> integers_of(const OnnxConstant& constant) {
  if (constant.type != kInt32) return to_integers(constant);
  const auto values = elements<int32_t>(constant);
  return {values.begin(), values.end()};
}

OnnxConstant gathered(Attributes& attributes, const OnnxConstant& x, const OnnxConstant& indices) {
  const auto axis = static_cast<size_t>(normalized_axis(attributes.integer("axis", 0), x.shape.size()));
  const auto at = x.shape.begin() + static_cast<int64_t>(axis);
  const int64_t outer = element_count(Shape(x.shape.begin(), at)), inner = element_count(Shape(at + 1, x.shape.end()));
  const std::vector<int64_t> wanted = integers_of(indices);
  Shape shape(x.shape.begin(), at);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), at + 1, x.shape.end());
  if (element_count(shape) > kMostFoldedElements)
    throw UsageError(fmt::format("shape {} is too large", to_text(shape)));
  const size_t piece = static_cast<size_t>(inner) * element_bytes(x.type);
  std::string bytes;
  for (int64_t i = 0; i < outer; ++i) {
    for (const int64_t index : wanted) {
      if (index < -*at || index >= *at) throw UsageError(fmt::format("index {} of {}", index, *at));
      bytes.append(x.bytes(), static_cast<size_t>(i * *at + (index < 0 ? index + *at : index)) * piece, piece);
    }
  }
  return {"", x.type, shape, std::move(bytes)};
}

OnnxConstant filled(Attributes& attributes, const OnnxConstant& wanted) {
  const Shape shape = to_integers(wanted);
  for (const int64_t extent : shape) {
    if (extent < 0) throw UsageError(fmt::format("shape {} holds {}", to_text(shape), extent));
  }
  const int64_t count = element_count(shape);
  if (count > kMostFoldedElements) throw UsageError(fmt::format("shape {} is too large", to_text(shape)));
  OnnxConstant value("value", kFloat32, {1}, std::string(sizeof(float), '\0'));
  if (const onnx::TensorProto* given = attributes.tensor("value")) value = read_constant(*given, "value", {});
  if (value.size() != 1) throw UsageError("attribute value must hold one element");
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) bytes += value.bytes();
  return {"", value.type, shape, std::move(bytes)};
}

OnnxConstant reduced_node(const onnx::NodeProto& node, Attributes& attributes, const Constants& inputs, int64_t opset) {
  const Shape& shape = inputs[0]->shape;
  const bool by_input = opset >= (node.op_type() == "ReduceSum" ? 13 : 18);
  std::vector<int64_t> axes;
  if (by_input && inputs.size() > 1 && inputs[1]) axes = to_integers(*inputs[1]);
  if (!by_input && attributes.has("axes")) axes = attributes.integers("axes");
  const bool none_means_none = by_input && attributes.integer("noop_with_empty_axes", 0) != 0;
  std::vector<bool> over(shape.size(), axes.empty() && !none_means_none);
  for (const int64_t axis : axes) over[static_cast<size_t>(normalized_axis(axis, shape.size()))] = true;
  return reduced(node.op_type(), *inputs[0], over, attributes.integer("keepdims", 1) != 0);
}

OnnxConstant shape_of(const onnx::NodeProto& node, Attributes& attributes, const Shape& shape) {
  if (node.op_type() == "Size") return make_constant(kInt64, {}, std::vector<int64_t>{element_count(shape)});
  const auto rank = static_cast<int64_t>(shape.size());
  const auto bounded = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t first = bounded(attributes.integer("start", 0)), last = bounded(attributes.integer("end", rank));
  std::vector<int64_t> extents;
  for (int64_t i = first; i < last; ++i) extents.push_back(shape[static_cast<size_t>(i)]);
  const auto count = static_cast<int64_t>(extents.size());
  return make_constant(kInt64, {count}, extents);
}

OnnxConstant computed(const onnx::NodeProto& node, Attributes& attributes, const Constants& inputs, int64_t opset) {
  const std::string& op_type = node.op_type();
  if (kReductions.count(op_type) > 0) return reduced_node(node, attributes, inputs, opset);
  if (std::count(inputs.begin(), inputs.end(), nullptr) > 0) throw UsageError("an input is missing");
  if (is_elementwise_operator(op_type)) return elementwise(op_type, attributes, inputs);
  if (op_type == "Concat") return concatenated(attributes, inputs);
  const size_t needed = op_type == "ConstantOfShape" ? 1 : op_type == "Gather" ? 2 : 3;
  if (inputs.size() != needed) throw UsageError(fmt::format("{} inputs, {} expected", inputs.size(), needed));
  if (op_type == "Gather") return gathered(attributes, *inputs[0], *inputs[1]);
  if (op_type == "ConstantOfShape") return filled(attributes, *inputs[0]);
  if (op_type == "Range") return range(*inputs[0], *inputs[1], *inputs[2]);
  return where(*inputs[0], *inputs[1], *inputs[2]);
}

}  // namespace

bool is_folded(const std::string& op_type) {
  const auto holds = [&](const std::set<std::string>& operators) { return operators.count(op_type) > 0; };
  return is_elementwise_operator(op_type) || holds(kMovingOperators) || holds(kReductions) || holds(kOfShapes) ||
         holds(kOthers);
}

std::optional<std::vector<OnnxConstant>> fold_node(const onnx::NodeProto& node, ImportedTensors& tensors,
                                                   int64_t opset) {
  Attributes attributes(node);
  std::vector<OnnxConstant> results;
  if (kOfShapes.count(node.op_type()) > 0) {
    if (node.input_size() != 1 || node.input(0).empty()) throw UsageError("1 input is needed");
    results.push_back(shape_of(node, attributes, tensors.shape(node.input(0))));
  } else {
    if (!is_folded(node.op_type()) || node.input_size() == 0 || node.input(0).empty()) return std::nullopt;
    Constants inputs;
    for (const std::string& name : node.input()) {
      inputs.push_back(name.empty() ? nullptr : tensors.constant(name));
      if (name.empty()) continue;
      if (!inputs.back() || !inputs.back()->is_readable() || inputs.back()->size() > kMostFoldedElements) {
        return std::nullopt;
      }
    }
    if (kMovingOperators.count(node.op_type()) > 0) return moved(node, inputs, opset);
    if (node.op_type() == "Concat" && elements_of(inputs) > kMostFoldedElements) return std::nullopt;
    results.push_back(computed(node, attributes, inputs, opset));
  }
  attributes.check_all_asked();
  if (node.output_size() != 1) throw UsageError("it has more than one output");
  return results;
}

}  // namespace warpwright
