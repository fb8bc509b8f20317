// Operators that take elements by regular indices: Slice, Split, Pad, Expand, Gather.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

Node move_node(const Movement& movement, float fill) {
  Node node;
  node.kind = NodeKind::move;
  node.movement = simplified(movement);
  node.fill = fill;
  return node;
}

std::vector<int64_t> constant_integers(const OperatorContext& context, int index) {
  const OnnxConstant* constant = context.constant_input(index);
  if (!constant) throw UsageError(fmt::format("\"{}\" is no constant", context.input_name(index)));
  if (constant->type != kInt32) return to_integers(*constant);
  const auto values = elements<int32_t>(*constant);
  return {values.begin(), values.end()};
}

namespace {

constexpr int64_t kMostStep = int64_t{1} << 31;

void finish_move(OperatorContext& context, const Movement& movement, Shape shape, float fill = 0.0f, int output = 0) {
  check_shape(shape);
  const DType dtype = context.input_tensor(0).dtype;
  context.finish(move_node(movement, fill), {context.input(0)}, dtype, std::move(shape), output);
}

/// A copy of attribute `name`, or the constant at `input`; nothing when it is absent.
std::optional<std::vector<int64_t>> integers(OperatorContext& context, const char* name, int input) {
  if (input < 0) {
    if (!context.attributes.has(name)) return std::nullopt;
    return context.attributes.integers(name);
  }
  if (!context.has_input(input)) return std::nullopt;
  return constant_integers(context, input);
}

}  // namespace

std::vector<size_t> normalized_axes(const std::optional<std::vector<int64_t>>& axes, size_t rank) {
  std::vector<size_t> result;
  if (!axes) {
    for (size_t i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (const int64_t axis : *axes) {
    const auto at = static_cast<size_t>(normalized_axis(axis, rank));
    if (std::find(result.begin(), result.end(), at) != result.end()) {
      throw UsageError(fmt::format("axis {} stands twice", axis));
    }
    result.push_back(at);
  }
  return result;
}

namespace {

/// How many equal indices stand in a row.
int64_t copies_in(const std::vector<int64_t>& indices) {
  size_t copies = 1;
  while (copies < indices.size() && indices[copies] == indices[0]) ++copies;
  return static_cast<int64_t>(copies);
}

int64_t step_of(const std::vector<int64_t>& indices, int64_t copies) {
  return copies < static_cast<int64_t>(indices.size()) ? indices[static_cast<size_t>(copies)] - indices[0] : 0;
}

}  // namespace

bool are_regular(const std::vector<int64_t>& indices) {
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t copies = copies_in(indices), step = step_of(indices, copies);
  bool regular = count % copies == 0;
  for (int64_t i = 0; i < count && regular; ++i) {
    regular = indices[static_cast<size_t>(i)] == indices[0] + i / copies * step;
  }
  return regular;
}

void take_indices(Movement& movement, const MovementAxis& axis, const std::vector<int64_t>& indices) {
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t copies = copies_in(indices);
  movement.start += indices[0] * axis.step;
  movement.axes.push_back({count / copies, step_of(indices, copies) * axis.step, 0, count / copies});
  movement.axes.push_back({copies, 0, 0, copies});
}

TensorId picked(OperatorContext& context, TensorId x, size_t axis, const std::vector<int64_t>& indices,
                const std::string& suffix) {
  const DType dtype = context.graph.tensor(x).dtype;
  Shape shape = context.graph.tensor(x).shape;
  if (are_regular(indices)) {
    const Movement from = whole(shape);
    Movement movement;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == axis) {
        take_indices(movement, from.axes[i], indices);
      } else {
        movement.axes.push_back(from.axes[i]);
      }
    }
    shape[axis] = static_cast<int64_t>(indices.size());
    return context.add_inner(move_node(movement), {x}, dtype, std::move(shape), suffix);
  }
  Node node = step_node(OpKind::gather);
  node.workload.rows = rows_of(shape, axis);
  shape[axis] = static_cast<int64_t>(indices.size());
  const std::vector<int32_t> narrow(indices.begin(), indices.end());
  const TensorId index = add_constant(context, vector_s32(narrow), suffix + "_indices");
  return context.add_inner(std::move(node), {x, index}, dtype, std::move(shape), suffix);
}

void import_slice(OperatorContext& context) {
  const bool by_inputs = context.opset >= 10;
  context.require_inputs(by_inputs ? 3 : 1, by_inputs ? 5 : 1);
  Shape shape = context.input_tensor(0).shape;
  const auto starts = integers(context, "starts", by_inputs ? 1 : -1),
             ends = integers(context, "ends", by_inputs ? 2 : -1);
  if (!starts || !ends) throw UsageError("starts or ends are missing");
  auto axes = integers(context, "axes", by_inputs ? 3 : -1);
  const auto steps = by_inputs ? integers(context, "steps", 4) : std::nullopt;
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (ends->size() != starts->size() || axes->size() != starts->size() || (steps && steps->size() != starts->size())) {
    throw UsageError("starts, ends, axes and steps have different lengths");
  }
  Movement movement = whole(shape);
  const std::vector<size_t> normalized = normalized_axes(axes, shape.size());
  for (size_t i = 0; i < normalized.size(); ++i) {
    const int64_t extent = shape[normalized[i]], step = steps ? (*steps)[i] : 1;
    if (step == 0 || step > kMostStep || step < -kMostStep) throw UsageError(fmt::format("step {}", step));
    const auto bounded = [extent](int64_t index, int64_t least, int64_t most) {
      return std::clamp(index < 0 ? index + extent : index, least, most);
    };
    const int64_t most = step > 0 ? extent : extent - 1;
    const int64_t start = bounded((*starts)[i], 0, most), end = bounded((*ends)[i], step > 0 ? 0 : -1, most);
    const int64_t count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    MovementAxis& axis = movement.axes[normalized[i]];
    movement.start += start * axis.step;
    axis = {count, axis.step * step, 0, count};
    shape[normalized[i]] = count;
  }
  finish_move(context, movement, std::move(shape));
}

void import_split(OperatorContext& context) {
  const bool by_input = context.opset >= 13;
  context.require_inputs(1, by_input ? 2 : 1);
  const Shape x = context.input_tensor(0).shape;
  const auto axis = static_cast<size_t>(normalized_axis(context.attributes.integer("axis", 0), x.size()));
  auto parts = integers(context, "split", by_input ? 1 : -1);
  if (!parts) {
    const int64_t count = context.outputs();
    if (context.attributes.integer("num_outputs", count) != count)
      throw UsageError("num_outputs differs from the outputs");
    const int64_t part = (x[axis] + count - 1) / count;
    if (context.opset < 18 && x[axis] % count != 0) throw UsageError("the parts would differ");
    parts.emplace();
    for (int64_t first = 0; static_cast<int64_t>(parts->size()) < count; first += part) {
      parts->push_back(std::min(part, x[axis] - first));
    }
  }
  int64_t first = 0;
  if (static_cast<int>(parts->size()) != context.outputs()) throw UsageError("as many parts as outputs are needed");
  for (size_t i = 0; i < parts->size(); ++i) {
    const int64_t extent = (*parts)[i];
    if (extent < 1 || extent > x[axis] - first)
      throw UsageError(fmt::format("part {} has {} of {}", i, extent, x[axis]));
    Movement movement = whole(x);
    MovementAxis& along = movement.axes[axis];
    movement.start = first * along.step;
    along.extent = along.last = extent;
    Shape shape = x;
    shape[axis] = extent;
    finish_move(context, movement, std::move(shape), 0.0f, static_cast<int>(i));
    first += extent;
  }
  if (first != x[axis]) throw UsageError(fmt::format("the parts hold {} of {}", first, x[axis]));
}

namespace {

/// The value that Pad fills with, in the terms of its input.
float pad_value(OperatorContext& context, bool by_inputs) {
  if (!by_inputs) return context.attributes.real("value", 0.0f);
  if (!context.has_input(2)) return 0.0f;
  const DType dtype = context.input_tensor(0).dtype;
  if (dtype == DType::f32) return context.constant_real(2);
  const OnnxConstant* constant = context.constant_input(2);
  const int type = dtype == DType::u8 ? kUint8 : kInt8;
  if (!is_code(dtype) || !constant || constant->type != type || constant->size() != 1) {
    throw UsageError(fmt::format("the value \"{}\" must be one constant of 8 bits", context.input_name(2)));
  }
  const auto byte = static_cast<uint8_t>(constant->bytes()[0]);
  return dtype == DType::u8 ? static_cast<float>(byte) : static_cast<float>(static_cast<int8_t>(byte));
}

/// Index, of `extent` elements, of the one that stands `at` elements from the first, maybe beyond an edge.
int64_t mirrored(const std::string& mode, int64_t at, int64_t extent) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, extent - 1);
  const int64_t period = mode == "wrap" ? extent : std::max<int64_t>(1, 2 * (extent - 1));
  const int64_t place = (at % period + period) % period;
  return place < extent ? place : period - place;
}

/// Pad with elements of the tensor itself, as negative pads leave it.
void finish_mirrored(OperatorContext& context, const std::string& mode, const std::vector<size_t>& axes,
                     const std::vector<int64_t>& pads) {
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    throw UsageError(fmt::format("mode {} is not known", mode));
  TensorId y = context.input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    Shape shape = context.graph.tensor(y).shape;
    const int64_t before = pads[i], after = pads[i + axes.size()], extent = shape[axes[i]];
    if (before == 0 && after == 0) continue;
    if (before <= -extent || after <= -extent || before > kMostStep || after > kMostStep) {
      throw UsageError(fmt::format("pads of {} and {} to {}", before, after, extent));
    }
    shape[axes[i]] = before + extent + after;
    check_shape(shape);
    take_bytes(context.graph, shape[axes[i]] * 8);
    std::vector<int64_t> indices;
    const int64_t first = std::max<int64_t>(0, -before), kept = extent - first - std::max<int64_t>(0, -after);
    if (kept < 1) throw UsageError(fmt::format("pads of {} and {} leave nothing of {}", before, after, extent));
    for (int64_t at = -std::max<int64_t>(0, before); at < kept + std::max<int64_t>(0, after); ++at) {
      indices.push_back(first + mirrored(mode, at, kept));
    }
    y = picked(context, y, axes[i], indices, fmt::format("axis{}", axes[i]));
  }
  const DType dtype = context.graph.tensor(y).dtype;
  Shape shape = context.graph.tensor(y).shape;
  Node identity;
  context.finish(std::move(identity), {y}, dtype, std::move(shape));
}

}  // namespace

void import_pad(OperatorContext& context) {
  const bool by_inputs = context.opset >= 11;
  context.require_inputs(by_inputs ? 2 : 1, by_inputs ? 4 : 1);
  const std::string mode = context.attributes.text("mode", "constant");
  Shape shape = context.input_tensor(0).shape;
  const auto pads = integers(context, "pads", by_inputs ? 1 : -1);
  if (!pads) throw UsageError("pads are missing");
  const auto axes = normalized_axes(by_inputs ? integers(context, "axes", 3) : std::nullopt, shape.size());
  if (pads->size() != 2 * axes.size()) {
    throw UsageError(fmt::format("{} pads for {} dimensions", pads->size(), axes.size()));
  }
  if (mode != "constant") return finish_mirrored(context, mode, axes, *pads);
  const float value = pad_value(context, by_inputs);
  Movement movement = whole(shape);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = (*pads)[i], after = (*pads)[i + axes.size()], extent = shape[axes[i]];
    for (const int64_t pad : {before, after}) {
      if (pad <= -extent || pad > kMostStep) throw UsageError(fmt::format("a pad of {} to {}", pad, extent));
    }
    MovementAxis& axis = movement.axes[axes[i]];
    const int64_t padded = shape[axes[i]] = before + extent + after;
    check_shape(shape);
    movement.start -= before * axis.step;
    axis = {padded, axis.step, std::max<int64_t>(0, before), std::min(padded, before + extent)};
  }
  finish_move(context, movement, std::move(shape), value);
}

void import_expand(OperatorContext& context) {
  context.require_inputs(2, 2);
  const Shape x = context.input_tensor(0).shape;
  Shape shape = broadcast(x, constant_integers(context, 1));
  check_shape(shape);
  const Movement movement = expansion(x, shape);
  finish_move(context, movement, std::move(shape));
}

namespace {

Shape gathered_shape(const Shape& x, size_t axis, const Shape& indices) {
  const auto at = x.begin() + static_cast<int64_t>(axis);
  Shape shape(x.begin(), at);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), at + 1, x.end());
  return shape;
}

}  // namespace

void require_indices(const GraphTensor& tensor) {
  if (tensor.dtype != DType::s32 && tensor.dtype != DType::s64) {
    throw UsageError(fmt::format("the indices \"{}\" are {}", tensor.name, name(tensor.dtype)));
  }
}

void import_gather(OperatorContext& context) {
  context.require_inputs(2, 2);
  const Shape x = context.input_tensor(0).shape;
  const auto axis = static_cast<size_t>(normalized_axis(context.attributes.integer("axis", 0), x.size()));
  const DType dtype = context.input_tensor(0).dtype;
  if (!context.constant_input(1)) {
    require_indices(context.input_tensor(1));
    Node node = step_node(OpKind::gather);
    node.workload.rows = rows_of(x, axis);
    Shape shape = gathered_shape(x, axis, context.input_tensor(1).shape);
    return context.finish(std::move(node), {context.input(0), context.input(1)}, dtype, std::move(shape));
  }
  std::vector<int64_t> indices = constant_integers(context, 1);
  if (indices.empty()) throw UsageError("no indices");
  for (int64_t& index : indices) {
    if (index < -x[axis] || index >= x[axis]) throw UsageError(fmt::format("index {} of {}", index, x[axis]));
    if (index < 0) index += x[axis];
  }
  Shape shape = gathered_shape(x, axis, context.constant_input(1)->shape);
  const TensorId y = picked(context, context.input(0), axis, indices, "picked");
  Node reshape;
  reshape.kind = NodeKind::reshape;
  context.finish(std::move(reshape), {y}, dtype, std::move(shape));
}

}  // namespace warpwright
