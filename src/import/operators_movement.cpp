// Operators that move whole tensors and change no element: Concat, reshapes, Transpose.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

void finish_reshape(OperatorContext& context, Shape shape) {
  const GraphTensor& x = context.input_tensor(0);
  check_shape(shape);
  if (element_count(shape) != element_count(x.shape)) {
    throw UsageError(fmt::format("\"{}\" of shape {} cannot become {}", x.name, to_text(x.shape), to_text(shape)));
  }
  Node node;
  node.kind = NodeKind::reshape;
  context.finish(std::move(node), {context.input(0)}, x.dtype, std::move(shape));
}

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13, then an input. Nothing when absent.
std::optional<std::vector<int64_t>> axes_of(OperatorContext& context) {
  context.require_inputs(1, context.opset < 13 ? 1 : 2);
  if (context.opset >= 13) {
    if (!context.has_input(1)) return std::nullopt;
    return constant_integers(context, 1);
  }
  if (!context.attributes.has("axes")) return std::nullopt;
  return context.attributes.integers("axes");
}

}  // namespace

void import_concat(OperatorContext& context) {
  std::vector<TensorId> inputs;
  Shape shape;
  Node node;
  node.kind = NodeKind::concat;
  for (int i = 0; context.has_input(i); ++i) {
    const TensorId id = context.input(i);
    const GraphTensor& part = context.graph.tensor(id);
    inputs.push_back(id);
    if (i == 0) {
      if (!context.attributes.has("axis")) throw UsageError("attribute axis is missing");
      shape = part.shape;
      node.axis = normalized_axis(context.attributes.integer("axis", 0), shape.size());
      continue;
    }
    const auto axis = static_cast<size_t>(node.axis);
    if (part.dtype != context.input_tensor(0).dtype) throw UsageError("the parts have different types");
    Shape other = part.shape;
    if (other.size() == shape.size()) other[axis] = shape[axis];
    if (other != shape) {
      throw UsageError(fmt::format("\"{}\" of shape {} does not fit behind {} along axis {}", part.name,
                                   to_text(part.shape), to_text(shape), axis));
    }
    shape[axis] += part.shape[axis];
  }
  context.require_inputs(1, static_cast<int>(inputs.size()));
  const DType dtype = context.input_tensor(0).dtype;
  context.finish(std::move(node), std::move(inputs), dtype, std::move(shape));
}

void import_flatten(OperatorContext& context) {
  context.require_inputs(1, 1);
  const Shape shape = context.input_tensor(0).shape;
  const int64_t axis = context.attributes.integer("axis", 1);
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis > rank) throw UsageError(fmt::format("axis {} of a tensor of rank {}", axis, rank));
  const auto split = shape.begin() + (axis < 0 ? axis + rank : axis);
  finish_reshape(context, {element_count(Shape(shape.begin(), split)), element_count(Shape(split, shape.end()))});
}

void import_reshape(OperatorContext& context) {
  context.require_inputs(2, 2);
  const bool zero_means_zero = context.attributes.integer("allowzero", 0) != 0;
  const OnnxConstant* wanted = context.constant_input(1);
  if (!wanted) throw UsageError(fmt::format("shape \"{}\" is no constant", context.input_name(1)));
  Shape shape = to_integers(*wanted);
  const Shape& x = context.input_tensor(0).shape;
  int64_t rest = element_count(x);
  std::optional<size_t> open;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zero_means_zero && i < x.size()) shape[i] = x[i];
    if (shape[i] == -1 && !open) {
      open = i;
    } else if (shape[i] < 1) {
      throw UsageError(fmt::format("shape {} holds {}", to_text(shape), shape[i]));
    } else {
      rest /= shape[i];
    }
  }
  if (open) shape[*open] = rest;
  finish_reshape(context, std::move(shape));
}

void import_squeeze(OperatorContext& context) {
  const Shape x = context.input_tensor(0).shape;
  std::vector<bool> drop(x.size(), false);
  if (const auto axes = axes_of(context)) {
    for (const int64_t axis : *axes) {
      const auto at = static_cast<size_t>(normalized_axis(axis, x.size()));
      if (x[at] != 1) throw UsageError(fmt::format("dimension {} of {} is not 1", at, to_text(x)));
      drop[at] = true;
    }
  } else {
    for (size_t i = 0; i < x.size(); ++i) drop[i] = x[i] == 1;
  }
  Shape shape;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!drop[i]) shape.push_back(x[i]);
  }
  finish_reshape(context, std::move(shape));
}

void import_unsqueeze(OperatorContext& context) {
  const Shape x = context.input_tensor(0).shape;
  const auto axes = axes_of(context);
  if (!axes) throw UsageError("axes are missing");
  const size_t rank = x.size() + axes->size();
  std::vector<bool> fresh(rank, false);
  for (const int64_t axis : *axes) {
    const auto at = static_cast<size_t>(normalized_axis(axis, rank));
    if (fresh[at]) throw UsageError(fmt::format("axis {} stands twice", axis));
    fresh[at] = true;
  }
  Shape shape;
  for (size_t i = 0, next = 0; i < rank; ++i) shape.push_back(fresh[i] ? 1 : x[next++]);
  finish_reshape(context, std::move(shape));
}

TensorId reshaped(OperatorContext& context, TensorId id, Shape shape, const std::string& suffix) {
  const DType dtype = context.graph.tensor(id).dtype;
  if (context.graph.tensor(id).shape == shape) return id;
  Node reshape;
  reshape.kind = NodeKind::reshape;
  return context.add_inner(std::move(reshape), {id}, dtype, std::move(shape), suffix);
}

UnplacedNode transpose_node(const Shape& shape, const std::vector<int64_t>& order) {
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != shape.size() || sorted[i] != static_cast<int64_t>(i)) {
      throw UsageError(fmt::format("perm {} is no order of {} dimensions", to_text(order), shape.size()));
    }
  }
  UnplacedNode made;
  made.node = move_node(transposition(shape, order));
  made.node.order = order;
  for (const int64_t dimension : order) made.shape.push_back(shape[static_cast<size_t>(dimension)]);
  return made;
}

TensorId transposed(OperatorContext& context, TensorId id, const std::vector<int64_t>& order,
                    const std::string& suffix) {
  const DType dtype = context.graph.tensor(id).dtype;
  UnplacedNode made = transpose_node(context.graph.tensor(id).shape, order);
  return context.add_inner(std::move(made.node), {id}, dtype, std::move(made.shape), suffix);
}

void import_transpose(OperatorContext& context) {
  context.require_inputs(1, 1);
  const GraphTensor& x = context.input_tensor(0);
  std::vector<int64_t> order(x.shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (context.attributes.has("perm")) order = context.attributes.integers("perm");
  UnplacedNode made = transpose_node(x.shape, order);
  context.finish(std::move(made.node), {context.input(0)}, x.dtype, std::move(made.shape));
}

}  // namespace warpwright
