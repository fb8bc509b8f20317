// ConvTranspose: zeros between the elements of the input, then a convolution with the filters turned round. Both work
// on codes too.
#include <fmt/core.h>

#include <algorithm>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

constexpr int64_t kMostWindow = 1 << 16;
constexpr int64_t kMostExtent = int64_t{1} << 31;

/// One spatial axis.
struct Axis {
  int64_t in = 1, kernel = 1, stride = 1, dilation = 1, output_padding = 0;
  int64_t before = 0, after = 0;  // of the output, taken away

  int64_t span() const { return dilation * (kernel - 1) + 1; }
  int64_t full() const { return (in - 1) * stride + span() + output_padding; }
  int64_t out() const { return full() - before - after; }
};

std::vector<int64_t> read_list(OperatorContext& context, const char* name, size_t count, int64_t otherwise,
                               int64_t least) {
  std::vector<int64_t> values = context.attributes.integers(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    throw UsageError(fmt::format("attribute {} has {} values, {} expected", name, values.size(), count));
  }
  for (const int64_t value : values) {
    if (value < least || value > kMostWindow) throw UsageError(fmt::format("attribute {} holds {}", name, value));
  }
  return values;
}

/// Pads that give the output its wanted extent.
void pad_to(Axis& axis, int64_t wanted, bool more_before) {
  const int64_t total = std::max<int64_t>(0, axis.full() - wanted);
  axis.before = more_before ? total - total / 2 : total / 2;
  axis.after = total - axis.before;
  // What is missing behind is output padding.
  axis.output_padding += std::max<int64_t>(0, wanted - axis.full());
}

std::vector<Axis> read_axes(OperatorContext& context, const Shape& x, const Shape& w) {
  const size_t count = x.size() - 2;
  const std::vector<int64_t> kernel(w.begin() + 2, w.end());
  const auto declared = context.attributes.integers("kernel_shape");
  if (!declared.empty() && declared != kernel) {
    throw UsageError(fmt::format("kernel_shape {} does not fit a kernel {}", to_text(declared), to_text(kernel)));
  }
  const auto strides = read_list(context, "strides", count, 1, 1);
  const auto dilations = read_list(context, "dilations", count, 1, 1);
  const auto paddings = read_list(context, "output_padding", count, 0, 0);
  const auto pads = read_list(context, "pads", 2 * count, 0, 0);
  const auto wanted = context.attributes.integers("output_shape");
  const std::string mode = context.attributes.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    throw UsageError(fmt::format("auto_pad cannot be {}", mode));
  }
  if (!wanted.empty() && wanted.size() != count && wanted.size() != x.size()) {
    throw UsageError(fmt::format("output_shape {}", to_text(wanted)));
  }
  for (const int64_t extent : wanted) {
    if (extent < 1 || extent > kMostExtent) throw UsageError(fmt::format("output_shape {}", to_text(wanted)));
  }
  std::vector<Axis> axes(count);
  for (size_t i = 0; i < count; ++i) {
    if (kernel[i] > kMostWindow) throw UsageError(fmt::format("kernel extent {}", kernel[i]));
    axes[i] = {x[i + 2], kernel[i], strides[i], dilations[i], paddings[i], 0, 0};
    const bool lower = mode == "SAME_LOWER";
    if (!wanted.empty()) {
      pad_to(axes[i], wanted[wanted.size() - count + i], mode != "SAME_UPPER");
    } else if (lower || mode == "SAME_UPPER") {
      pad_to(axes[i], axes[i].in * axes[i].stride, lower);
    } else if (mode == "NOTSET") {
      axes[i].before = pads[i];
      axes[i].after = pads[i + count];
    }
    if (axes[i].out() < 1) throw UsageError(fmt::format("an output of extent {}", axes[i].out()));
  }
  return axes;
}

/// [N, C, spatial...] with zeros between the elements, and as many before and behind as make every output one position
/// of the window; a negative number takes elements away.
TensorId spread(OperatorContext& context, TensorId x, const std::vector<Axis>& axes) {
  Shape shape = context.graph.tensor(x).shape;
  const DType dtype = context.graph.tensor(x).dtype;
  const Movement from = whole(shape);
  Movement zeros;
  zeros.axes = {from.axes[0], from.axes[1]};
  for (size_t i = 0; i < axes.size(); ++i) {
    zeros.axes.push_back(from.axes[i + 2]);
    zeros.axes.push_back({axes[i].stride, 0, 0, 1});
    shape[i + 2] = axes[i].in * axes[i].stride;
  }
  if (std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.stride > 1; })) {
    x = context.add_inner(move_node(zeros), {x}, dtype, Shape(shape), "spread");
  }
  Movement padding = whole(shape);
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    const int64_t extent = shape[i + 2], before = axis.span() - 1 - axis.before;
    MovementAxis& along = padding.axes[i + 2];
    padding.start -= before * along.step;
    const int64_t padded = shape[i + 2] = axis.out() + axis.span() - 1;
    along = {padded, along.step, std::clamp<int64_t>(before, 0, padded),
             std::clamp<int64_t>(before + extent, 0, padded)};
  }
  return context.add_inner(move_node(padding), {x}, dtype, std::move(shape), "padded");
}

/// [C, K/groups, spatial...] as the filters [K, C/groups, spatial...] of a convolution, turned round.
TensorId turned(OperatorContext& context, TensorId w, int64_t groups) {
  const Shape shape = context.graph.tensor(w).shape;
  const DType dtype = context.graph.tensor(w).dtype;
  const int64_t inputs = shape[0] / groups, outputs = shape[1];
  const Movement from = whole(shape);
  Movement movement;
  movement.axes = {{groups, inputs * from.axes[0].step, 0, groups},
                   {outputs, from.axes[1].step, 0, outputs},
                   {inputs, from.axes[0].step, 0, inputs}};
  Shape result{groups * outputs, inputs};
  for (size_t i = 2; i < shape.size(); ++i) {
    movement.start += (shape[i] - 1) * from.axes[i].step;
    movement.axes.push_back({shape[i], -from.axes[i].step, 0, shape[i]});
    result.push_back(shape[i]);
  }
  Node node = move_node(movement);
  if (groups == 1) {
    // Scales along K stay with their filters; along a dimension that is turned they would not.
    node.order.assign(shape.size(), -1);
    node.order[0] = 1;
    node.order[1] = 0;
  }
  return context.add_inner(std::move(node), {w}, dtype, std::move(result), "filters");
}

}  // namespace

void import_conv_transpose(OperatorContext& context) {
  context.require_inputs(2, 3);
  const Shape x = context.input_tensor(0).shape, w = context.input_tensor(1).shape;
  for (int i = 0; i < 3 && context.has_input(i); ++i) require_real(context.input_tensor(i));
  context.require_constant(context.input(1), "the weight");
  if ((x.size() != 3 && x.size() != 4) || w.size() != x.size()) {
    throw UsageError(
        fmt::format("operands of shape {} and {}: 1-D and 2-D convolutions are supported", to_text(x), to_text(w)));
  }
  const int64_t groups = context.attributes.integer("group", 1);
  if (groups < 1 || groups > x[1] || x[1] % groups != 0 || w[0] != x[1]) {
    throw UsageError(fmt::format("{} input channels in {} groups, a weight of shape {}", x[1], groups, to_text(w)));
  }
  const int64_t channels = w[1] * groups;
  const TensorId bias = context.has_input(2) ? context.input(2) : kNoTensor;
  if (bias != kNoTensor) {
    context.require_constant(bias, "the bias");
    if (context.graph.tensor(bias).shape != Shape{channels}) {
      throw UsageError(fmt::format("the bias has shape {}, {} output channels need [{}]",
                                   to_text(context.graph.tensor(bias).shape), channels, channels));
    }
  }
  const std::vector<Axis> axes = read_axes(context, x, w);
  Node node;
  node.kind = NodeKind::conv;
  node.groups = groups;
  node.window.kernel_w = axes.back().kernel;
  node.window.dilation_w = axes.back().dilation;
  if (axes.size() == 2) {
    node.window.kernel_h = axes[0].kernel;
    node.window.dilation_h = axes[0].dilation;
  }
  Shape shape{x[0], channels};
  for (const Axis& axis : axes) shape.push_back(axis.out());
  const TensorId image = spread(context, context.input(0), axes);
  const TensorId filters = turned(context, context.input(1), groups);
  context.finish(std::move(node), {image, filters, bias}, DType::f32, std::move(shape));
}

}  // namespace warpwright
