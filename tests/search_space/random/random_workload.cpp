// Random Workloads: extents, windows, types and epilogues drawn by themselves, under a limit of work.
#include "tests/search_space/random/random_workload.h"

#include <algorithm>

#include "src/core/error.h"
#include "tests/search_space/random/random_real_workload.h"

namespace warpwright::testing {

namespace {

constexpr int64_t kMostProducts = 1 << 21;  // multiply-adds: the compiler shall take longer than the run
constexpr int64_t kMostElements = 1 << 16;  // of a tensor

DType code(Draw& draw) { return draw.one_of({DType::s8, DType::u8}); }

int64_t channels(Draw& draw) {
  if (draw.chance(35)) return draw.one_of<int64_t>({1, 3, 17, 33});
  if (draw.chance(60)) return 16 * draw.between(1, 8);
  return draw.between(1, 140);
}

/// The form of a tensor, sometimes as a slice of wider pixels.
TensorForm form(Draw& draw, DType dtype, int64_t n, int64_t h, int64_t w, int64_t c) {
  TensorForm form = nhwc_form(dtype, n, h, w, c);
  if (draw.chance(85)) return form;
  form.channel_offset = 4 * draw.between(0, 8);
  form.pixel_stride = (form.channel_offset + c + 3) / 4 * 4 + 4 * draw.between(0, 8);
  return form;
}

struct Pixels {
  int64_t n = 1, h = 1, w = 1;
};

Pixels pixels(Draw& draw) {
  const int64_t n = draw.chance(70) ? 1 : draw.between(2, 5);
  switch (draw.between(0, 5)) {
    case 0:
      return {n, 1, 1};
    case 1:
      return {n, 7, 7};
    case 2:
      return {n, 5, 13};
    default:
      return {n, draw.between(1, 18), draw.between(1, 18)};
  }
}

int64_t filter_extent(Draw& draw) { return draw.chance(60) ? draw.one_of<int64_t>({1, 3, 5, 7}) : draw.between(1, 7); }

/// Any window; whether the output has a pixel is for the caller to see.
Window window(Draw& draw) {
  Window window;
  if (draw.chance(35)) {  // 1x1, with any stride
    window.stride_h = window.stride_w = draw.chance(70) ? 1 : draw.between(1, 3);
    return window;
  }
  window.kernel_h = draw.chance(50) ? 3 : filter_extent(draw);
  window.kernel_w = draw.chance(75) ? window.kernel_h : filter_extent(draw);
  window.stride_h = draw.chance(60) ? 1 : draw.between(1, 3);
  window.stride_w = draw.chance(75) ? window.stride_h : draw.between(1, 3);
  window.dilation_h = draw.chance(75) ? 1 : draw.between(1, 3);
  window.dilation_w = draw.chance(75) ? window.dilation_h : draw.between(1, 3);
  const int64_t reach_h = (window.kernel_h - 1) * window.dilation_h;
  const int64_t reach_w = (window.kernel_w - 1) * window.dilation_w;
  if (draw.chance(60)) {  // the same on all sides
    window.pad_top = window.pad_bottom = reach_h / 2;
    window.pad_left = window.pad_right = reach_w / 2;
  } else if (draw.chance(70)) {  // some windows may see nothing but padding
    window.pad_top = draw.between(0, reach_h + 1), window.pad_bottom = draw.between(0, reach_h + 2);
    window.pad_left = draw.between(0, reach_w + 1), window.pad_right = draw.between(0, reach_w + 2);
  }
  return window;
}

int64_t output_extent(int64_t in, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride) {
  const int64_t span = in + pads - dilation * (kernel - 1) - 1;
  return span < 0 ? 0 : span / stride + 1;
}

Pixels output_pixels(const Pixels& in, const Window& window) {
  return {in.n,
          output_extent(in.h, window.pad_top + window.pad_bottom, window.kernel_h, window.dilation_h, window.stride_h),
          output_extent(in.w, window.pad_left + window.pad_right, window.kernel_w, window.dilation_w, window.stride_w)};
}

/// Types, zero points and epilogue of a conv2d or dense whose shapes stand.
void dress(Draw& draw, Workload& workload) {
  workload.weight_dtype = code(draw);
  workload.x_zero_point = draw.one_of({ZeroPointForm::zero, ZeroPointForm::scalar});
  workload.weight_zero_point =
      draw.one_of({ZeroPointForm::zero, ZeroPointForm::zero, ZeroPointForm::scalar, ZeroPointForm::per_channel});
  Epilogue& epilogue = workload.epilogue;
  epilogue.bias = draw.chance(75);
  epilogue.table_input = workload.output.dtype;
  if (draw.chance(12)) {  // accumulators
    workload.output.dtype = epilogue.table_input = DType::s32;
    return;
  }
  if (draw.chance(20)) epilogue.table = true, epilogue.table_input = code(draw);
  if (draw.chance(60)) return;
  epilogue.residual = draw.one_of({ResidualForm::rounded, ResidualForm::unrounded});
  const TensorForm& y = workload.output;
  workload.inputs.push_back(form(draw, code(draw), y.n, y.h, y.w, y.c));
}

Workload conv2d(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::conv2d;
  workload.window = window(draw);
  const Pixels in = pixels(draw), out = output_pixels(in, workload.window);
  int64_t c = channels(draw), k = channels(draw);
  if (draw.chance(12)) c = draw.between(1, 4);
  if (draw.chance(30)) {  // depthwise
    workload.groups = c;
    k = c * (draw.chance(60) ? 1 : draw.between(2, 4));
  } else if (draw.chance(25)) {
    workload.groups = draw.one_of<int64_t>({2, 3, 4});
    c = draw.chance(50) ? 16 * draw.between(1, 3) * workload.groups : draw.between(1, 24) * workload.groups;
    k = draw.between(1, 40) * workload.groups;
  } else if (draw.chance(20)) {
    c = 64 * draw.between(1, 12);  // a long reduction
  }
  workload.inputs = {form(draw, code(draw), in.n, in.h, in.w, c)};
  workload.output = form(draw, code(draw), out.n, out.h, out.w, k);
  dress(draw, workload);
  return workload;
}

Workload dense(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::dense;
  const int64_t rows = draw.chance(50) ? draw.one_of<int64_t>({1, 2, 4, 8, 16}) : draw.between(1, 80);
  const int64_t reduction = draw.chance(40) ? channels(draw) : draw.between(1, 40) * draw.one_of<int64_t>({16, 50, 64});
  workload.inputs = {form(draw, code(draw), rows, 1, 1, reduction)};
  workload.output = form(draw, code(draw), rows, 1, 1, draw.chance(70) ? channels(draw) : draw.between(1, 300));
  dress(draw, workload);
  return workload;
}

Workload matmul(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::matmul;
  workload.batch = draw.chance(40) ? 1 : draw.between(2, 6);
  workload.transposed = draw.chance(50);
  const int64_t rows = draw.chance(40) ? draw.one_of<int64_t>({1, 2, 8, 16}) : draw.between(1, 80);
  const int64_t depth = channels(draw) * (draw.chance(25) ? draw.between(1, 8) : 1), columns = channels(draw);
  const auto matrix = [&](DType dtype, int64_t n, int64_t c) { return form(draw, dtype, workload.batch * n, 1, 1, c); };
  workload.inputs = {matrix(code(draw), rows, depth)};
  workload.inputs.push_back(workload.transposed ? matrix(code(draw), columns, depth)
                                                : matrix(code(draw), depth, columns));
  workload.output = matrix(draw.chance(30) ? DType::s32 : code(draw), rows, columns);
  workload.x_zero_point = draw.one_of({ZeroPointForm::zero, ZeroPointForm::scalar});
  workload.weight_zero_point = draw.one_of({ZeroPointForm::zero, ZeroPointForm::scalar});
  return workload;
}

Workload pool(Draw& draw) {
  Workload workload;
  workload.kind = draw.one_of({OpKind::max_pool, OpKind::average_pool});
  workload.window = window(draw);
  const Pixels in = pixels(draw);
  if (draw.chance(20)) {  // global
    workload.window = {};
    workload.window.kernel_h = in.h, workload.window.kernel_w = in.w;
  }
  Window& window = workload.window;
  // Frameworks pad by less than a window, so that each one sees a pixel.
  for (int64_t* pad : {&window.pad_top, &window.pad_bottom}) *pad = std::min(*pad, window.kernel_h - 1);
  for (int64_t* pad : {&window.pad_left, &window.pad_right}) *pad = std::min(*pad, window.kernel_w - 1);
  if (window.pad_top + window.pad_bottom + window.pad_left + window.pad_right > 0) {
    window.dilation_h = window.dilation_w = 1;
  }
  const Pixels out = output_pixels(in, window);
  const int64_t c = channels(draw);
  const DType x = code(draw), y = workload.kind == OpKind::max_pool ? x : code(draw);
  workload.inputs = {form(draw, x, in.n, in.h, in.w, c)};
  workload.output = form(draw, y, out.n, out.h, out.w, c);
  workload.count_include_pad = workload.kind == OpKind::average_pool && draw.chance(30);
  return workload;
}

Workload elementwise(Draw& draw) {
  Workload workload;
  workload.kind = draw.one_of({OpKind::add, OpKind::mul});
  const Pixels all = pixels(draw);
  const int64_t c = channels(draw);
  for (int side = 0; side < 2; ++side) {
    const bool broadcasts = draw.chance(30);
    auto extent = [&](int64_t whole) { return broadcasts && draw.chance(50) ? 1 : whole; };
    const int64_t n = extent(all.n), h = extent(all.h), w = extent(all.w);
    workload.inputs.push_back(form(draw, code(draw), n, h, w, extent(c)));
  }
  workload.output = form(draw, code(draw), all.n, all.h, all.w, c);
  return workload;
}

Workload concat(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::concat;
  const Pixels all = pixels(draw);
  const DType dtype = code(draw);
  int64_t sum = 0;
  for (int64_t parts = draw.between(1, 5); parts > 0; --parts) {
    const int64_t c = channels(draw);
    workload.inputs.push_back(form(draw, dtype, all.n, all.h, all.w, c));
    sum += c;
  }
  workload.output = form(draw, dtype, all.n, all.h, all.w, sum);
  return workload;
}

Workload layout(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::layout;
  const Pixels all = pixels(draw);
  const int64_t c = channels(draw), n = all.n, h = all.h, w = all.w;
  const DType dtype = draw.chance(20) ? DType::s32 : code(draw);
  workload.inputs = {draw.chance(50) ? form(draw, dtype, n, h, w, c) : nchw_form(dtype, n, c, h, w)};
  const bool flattens = draw.chance(40);
  if (draw.chance(50)) {
    workload.output = flattens ? nchw_form(dtype, n, c * h * w, 1, 1) : nchw_form(dtype, n, c, h, w);
  } else {
    workload.output = flattens ? form(draw, dtype, n, 1, 1, c * h * w) : form(draw, dtype, n, h, w, c);
  }
  return workload;
}

/// Dimensions taken in another order, some of them backwards, in steps, padded, cropped or repeated.
Movement random_movement(Draw& draw, const Shape& shape, Shape& result) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    if (draw.chance(60)) std::swap(order[i], order[static_cast<size_t>(draw.between(0, static_cast<int64_t>(i)))]);
  }
  const Movement from = whole(shape);
  Movement movement;
  for (const size_t dimension : order) {
    MovementAxis axis = from.axes[dimension];
    int64_t extent = axis.extent, copies = 1;
    switch (draw.between(0, 9)) {
      case 0:  // backwards
        movement.start += (axis.extent - 1) * axis.step;
        axis.step = -axis.step;
        break;
      case 1: {  // a part of it, in steps
        const int64_t begin = draw.between(0, axis.extent - 1), step = draw.between(1, 3);
        movement.start += begin * axis.step;
        extent = (axis.extent - begin + step - 1) / step;
        axis = {extent, axis.step * step, 0, extent};
        break;
      }
      case 2: {  // padded, maybe cropped at one end
        const int64_t before = draw.between(-axis.extent, 4),
                      after = draw.between(std::max<int64_t>(0, 1 - axis.extent - before), 4);
        movement.start -= before * axis.step;
        extent = axis.extent + before + after;
        axis = {extent, axis.step, std::max<int64_t>(0, before), std::min(extent, axis.extent + before)};
        if (axis.first >= axis.last) axis.first = axis.last = 0;
        break;
      }
      case 3:
        copies = draw.between(2, 3);
        break;
      default:
        break;
    }
    movement.axes.push_back(axis);
    if (copies > 1) movement.axes.push_back({copies, 0, 0, copies});
    result.push_back(extent * copies);
  }
  return simplified(movement);
}

Workload move(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::move;
  const Pixels all = pixels(draw);
  const int64_t c = channels(draw), n = all.n, h = all.h, w = all.w;
  const DType dtype = draw.chance(75) ? code(draw) : draw.one_of({DType::s32, DType::f32, DType::s64, DType::boolean});
  Shape y;
  workload.movement = random_movement(draw, {n, c, h, w}, y);
  const bool from_nhwc = (is_code(dtype) || dtype == DType::s32) && draw.chance(70),
             to_nhwc = is_code(dtype) && draw.chance(70);
  workload.inputs = {from_nhwc ? form(draw, dtype, n, h, w, c) : nchw_form(dtype, n, c, h, w)};
  workload.output = to_nhwc ? form(draw, dtype, y[0], y[2], y[3], y[1]) : nchw_form(dtype, y[0], y[1], y[2], y[3]);
  return workload;
}

Workload conversion(Draw& draw) {
  Workload workload;
  workload.kind = draw.one_of({OpKind::quantize, OpKind::dequantize, OpKind::lookup});
  const Pixels all = pixels(draw);
  const int64_t c = channels(draw), n = all.n, h = all.h, w = all.w;
  const TensorForm codes = form(draw, code(draw), n, h, w, c), floats = nchw_form(DType::f32, n, c, h, w);
  workload.inputs = {workload.kind == OpKind::quantize ? floats : codes};
  workload.output = workload.kind == OpKind::quantize     ? codes
                    : workload.kind == OpKind::dequantize ? floats
                                                          : form(draw, code(draw), n, h, w, c);
  return workload;
}

Workload any_kind(Draw& draw) {
  switch (draw.between(0, 16)) {
    case 0:
      return pool(draw);
    case 1:
      return elementwise(draw);
    case 2:
      return draw.chance(40) ? concat(draw) : draw.chance(50) ? layout(draw) : move(draw);
    case 3:
      return conversion(draw);
    case 4:
    case 5:
      return dense(draw);
    case 6:
      return matmul(draw);
    case 7:
    case 8:
    case 9:
    case 10:
    case 11:
      return random_real_workload(draw);
    default:
      return conv2d(draw);
  }
}

bool is_small(const Workload& workload) {
  if (workload.output.pixels() == 0 || workload.multiply_adds() > kMostProducts) return false;
  for (const TensorForm& input : workload.inputs) {
    if (input.buffer_elements() > kMostElements) return false;
  }
  return workload.output.buffer_elements() <= kMostElements;
}

void fill(Tensor& tensor, Draw& draw) {
  if (!is_code(tensor.dtype)) return;
  const auto least = static_cast<uint8_t>(code_min(tensor.dtype)), most = static_cast<uint8_t>(code_max(tensor.dtype));
  const auto bytes = tensor.as<uint8_t>();
  const int64_t pattern = draw.between(0, 2);  // all least, all most, or a mixture of both
  for (uint8_t& byte : bytes) byte = pattern == 0 || (pattern == 2 && draw.chance(50)) ? least : most;
}

}  // namespace

Workload random_workload(Draw& draw) {
  Workload workload = any_kind(draw);
  while (!is_small(workload)) workload = any_kind(draw);
  check(workload);
  return workload;
}

Example random_example(const Workload& workload, Draw& draw) {
  Example example = make_example(workload, draw.generator()());
  if (draw.chance(20)) {
    for (Tensor& input : example.inputs) fill(input, draw);
  }
  const auto weights = example.values.find("weights");
  if (weights != example.values.end() && draw.chance(20)) fill(weights->second, draw);
  return example;
}

}  // namespace warpwright::testing
