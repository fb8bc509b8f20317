// Pools, and the window attributes that they share with convolutions.
#include <fmt/core.h>

#include <algorithm>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

constexpr int64_t kMostWindow = 1 << 16;

/// One spatial axis of a window.
struct Axis {
  int64_t in = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, out = 1;

  int64_t span() const { return dilation * (kernel - 1) + 1; }
};

std::vector<int64_t> read_list(Attributes& attributes, const std::string& name, size_t count, int64_t otherwise,
                               int64_t least) {
  std::vector<int64_t> values = attributes.integers(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    throw UsageError(fmt::format("attribute {} has {} values, {} expected", name, values.size(), count));
  }
  for (int64_t value : values) {
    if (value < least || value > kMostWindow) throw UsageError(fmt::format("attribute {} holds {}", name, value));
  }
  return values;
}

void pad_automatically(Axis& axis, const std::string& mode) {
  if (mode == "VALID") return;
  const int64_t out = (axis.in + axis.stride - 1) / axis.stride;
  const int64_t total = std::max<int64_t>((out - 1) * axis.stride + axis.span() - axis.in, 0);
  axis.before = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
  axis.after = total - axis.before;
}

void find_output(Axis& axis, bool ceil) {
  const int64_t room = axis.in + axis.before + axis.after - axis.span();
  if (room < 0) {
    throw UsageError(fmt::format("a kernel that spans {} exceeds the padded extent {}", axis.span(),
                                 axis.in + axis.before + axis.after));
  }
  axis.out = room / axis.stride + 1;
  if (!ceil || room % axis.stride == 0) return;
  // A last window that would begin in the padding behind the image is dropped.
  if (axis.out * axis.stride < axis.in + axis.before) ++axis.out;
}

/// Throws UsageError when a window touches no element of the image.
void check_windows_touch(const Axis& axis) {
  // Windows that begin inside the image touch it: only those before and the last one can miss it.
  bool all_touch = (axis.out - 1) * axis.stride - axis.before < axis.in;
  for (int64_t i = 0; i < axis.out && i * axis.stride < axis.before; ++i) {
    const int64_t start = i * axis.stride - axis.before;
    const int64_t first = (-start + axis.dilation - 1) / axis.dilation;
    all_touch &= first < axis.kernel && start + first * axis.dilation < axis.in;
  }
  if (!all_touch) throw UsageError("a window lies in the padding alone, which is not supported");
}

std::vector<Axis> read_axes(Attributes& attributes, const Shape& x, std::vector<int64_t> kernel, bool may_ceil) {
  const size_t count = x.size() - 2;
  const auto declared = attributes.integers("kernel_shape");
  if (kernel.empty()) kernel = declared;
  if (kernel.size() != count || (!declared.empty() && declared != kernel)) {
    throw UsageError(fmt::format("kernel_shape {} does not fit a kernel {} over {} spatial dimensions",
                                 to_text(declared), to_text(kernel), count));
  }
  const auto strides = read_list(attributes, "strides", count, 1, 1);
  const auto dilations = read_list(attributes, "dilations", count, 1, 1);
  const auto pads = read_list(attributes, "pads", 2 * count, 0, 0);
  const std::string mode = attributes.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    throw UsageError(fmt::format("auto_pad cannot be {}", mode));
  }
  const bool ceil = may_ceil && attributes.integer("ceil_mode", 0) != 0;
  std::vector<Axis> axes(count);
  for (size_t i = 0; i < count; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMostWindow) throw UsageError(fmt::format("kernel extent {}", kernel[i]));
    axes[i] = {x[i + 2], kernel[i], strides[i], dilations[i], pads[i], pads[i + count], 1};
    if (mode != "NOTSET") {
      axes[i].before = axes[i].after = 0;
      pad_automatically(axes[i], mode);
      if (axes[i].before > kMostWindow) throw UsageError(fmt::format("padding {}", axes[i].before));
    }
    find_output(axes[i], ceil && mode == "NOTSET");
  }
  return axes;
}

WindowShape to_window(const std::vector<Axis>& axes) {
  const Axis h = axes.size() == 2 ? axes[0] : Axis{};
  const Axis& w = axes.back();
  WindowShape result;
  result.window = {h.kernel,   w.kernel, h.stride, w.stride, h.dilation,
                   w.dilation, h.before, w.before, h.after,  w.after};
  for (const Axis& axis : axes) result.output.push_back(axis.out);
  return result;
}

UnplacedNode pool(OperatorContext& context, NodeKind kind, TensorId x_id) {
  const GraphTensor& x = context.graph.tensor(x_id);
  if (x.shape.size() != 3 && x.shape.size() != 4) {
    throw UsageError(
        fmt::format("input \"{}\" has {} dimensions; 1-D and 2-D pools are supported", x.name, x.shape.size()));
  }
  const std::vector<Axis> axes = read_axes(context.attributes, x.shape, {}, true);
  UnplacedNode result;
  result.node.kind = kind;
  result.node.count_include_pad =
      kind == NodeKind::average_pool && context.attributes.integer("count_include_pad", 0) != 0;
  if (!result.node.count_include_pad) {
    for (const Axis& axis : axes) check_windows_touch(axis);
  }
  const WindowShape window = to_window(axes);
  result.node.window = window.window;
  result.shape = {x.shape[0], x.shape[1]};
  result.shape.insert(result.shape.end(), window.output.begin(), window.output.end());
  return result;
}

}  // namespace

WindowShape read_window(Attributes& attributes, const Shape& x, std::vector<int64_t> kernel, bool may_ceil) {
  return to_window(read_axes(attributes, x, std::move(kernel), may_ceil));
}

UnplacedNode average_pool(OperatorContext& context, TensorId x) { return pool(context, NodeKind::average_pool, x); }

UnplacedNode average_pool_over_whole_windows(OperatorContext& context, TensorId x_id) {
  UnplacedNode made = average_pool(context, x_id);
  if (!made.node.count_include_pad) return made;
  const Shape& x = context.graph.tensor(x_id).shape;
  Window& window = made.node.window;
  const auto behind = [](int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t before) {
    return (out - 1) * stride + dilation * (kernel - 1) + 1 - in - before;
  };
  window.pad_right = std::max(window.pad_right, behind(x.back(), made.shape.back(), window.kernel_w, window.stride_w,
                                                       window.dilation_w, window.pad_left));
  if (x.size() == 3) return made;
  window.pad_bottom = std::max(window.pad_bottom, behind(x[2], made.shape[2], window.kernel_h, window.stride_h,
                                                         window.dilation_h, window.pad_top));
  return made;
}

namespace {

/// A pool over all of an image.
UnplacedNode global_pool(OperatorContext& context, TensorId x_id, NodeKind kind) {
  const GraphTensor& x = context.graph.tensor(x_id);
  if (x.shape.size() != 3 && x.shape.size() != 4) {
    throw UsageError(fmt::format("input \"{}\" has {} dimensions; 3 or 4 are supported", x.name, x.shape.size()));
  }
  UnplacedNode result;
  result.node.kind = kind;
  result.node.window.kernel_h = x.shape.size() == 4 ? x.shape[2] : 1;
  result.node.window.kernel_w = x.shape.back();
  if (std::max(result.node.window.kernel_h, result.node.window.kernel_w) > kMostWindow) {
    throw UsageError(fmt::format("a pool over {} is too large", to_text(x.shape)));
  }
  result.shape = Shape(x.shape.size(), 1);
  result.shape[0] = x.shape[0];
  result.shape[1] = x.shape[1];
  return result;
}

}  // namespace

UnplacedNode global_average_pool(OperatorContext& context, TensorId x) {
  return global_pool(context, x, NodeKind::average_pool);
}

void import_max_pool(OperatorContext& context) {
  context.require_inputs(1, 1);
  if (context.attributes.integer("storage_order", 0) != 0) throw UsageError("storage_order 1 is not supported");
  const DType dtype = context.input_tensor(0).dtype;
  UnplacedNode made = pool(context, NodeKind::max_pool, context.input(0));
  context.finish(std::move(made.node), {context.input(0)}, dtype, std::move(made.shape));
}

void import_average_pool(OperatorContext& context) {
  context.require_inputs(1, 1);
  require_real(context.input_tensor(0));
  UnplacedNode made = average_pool(context, context.input(0));
  context.finish(std::move(made.node), {context.input(0)}, DType::f32, std::move(made.shape));
}

void import_global_max_pool(OperatorContext& context) {
  context.require_inputs(1, 1);
  require_real(context.input_tensor(0));
  UnplacedNode made = global_pool(context, context.input(0), NodeKind::max_pool);
  context.finish(std::move(made.node), {context.input(0)}, DType::f32, std::move(made.shape));
}

void import_global_average_pool(OperatorContext& context) {
  context.require_inputs(1, 1);
  require_real(context.input_tensor(0));
  UnplacedNode made = global_average_pool(context, context.input(0));
  context.finish(std::move(made.node), {context.input(0)}, DType::f32, std::move(made.shape));
}

}  // namespace warpwright
