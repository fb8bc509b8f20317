// Operators that move elements and change none.
#include <fmt/core.h>

#include <numeric>
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

/// Only what a product can take in: rows and columns swapped.
void import_transpose(OperatorContext& context) {
  context.require_inputs(1, 1);
  const GraphTensor& x = context.input_tensor(0);
  const size_t rank = x.shape.size();
  std::vector<int64_t> swapped(rank);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::vector<int64_t> order(swapped.rbegin(), swapped.rend());
  if (context.attributes.has("perm")) order = context.attributes.integers("perm");
  if (rank >= 2) std::swap(swapped[rank - 2], swapped[rank - 1]);
  if (rank < 2 || order != swapped) {
    throw UsageError(
        fmt::format("perm {} of {} dimensions: only swapping the last two is supported, before the second "
                    "operand of a MatMul",
                    to_text(order), rank));
  }
  Node node;
  node.kind = NodeKind::transpose;
  Shape shape = x.shape;
  std::swap(shape[rank - 2], shape[rank - 1]);
  context.finish(std::move(node), {context.input(0)}, x.dtype, std::move(shape));
}

}  // namespace warpwright
