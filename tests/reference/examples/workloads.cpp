// Lists of awkward Workloads: odd channels, slices of wider buffers, asymmetric windows, every epilogue.
#include "tests/reference/examples/workloads.h"

#include <array>

namespace warpwright::testing {

namespace {

int64_t extent(int64_t in, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride) {
  return (in + pads - dilation * (kernel - 1) - 1) / stride + 1;
}

/// `form` as lanes [offset, offset + c) of pixels of `stride` lanes.
TensorForm slice(TensorForm form, int64_t stride, int64_t offset) {
  form.pixel_stride = stride;
  form.channel_offset = offset;
  return form;
}

Workload light(OpKind kind, std::vector<TensorForm> inputs, TensorForm output) {
  Workload workload;
  workload.kind = kind;
  workload.inputs = std::move(inputs);
  workload.output = output;
  return workload;
}

Workload pool(OpKind kind, TensorForm x, DType y, Window window, bool count_include_pad = false) {
  const int64_t h =
      extent(x.h, window.pad_top + window.pad_bottom, window.kernel_h, window.dilation_h, window.stride_h);
  const int64_t w =
      extent(x.w, window.pad_left + window.pad_right, window.kernel_w, window.dilation_w, window.stride_w);
  Workload workload = light(kind, {x}, nhwc_form(y, x.n, h, w, x.c));
  workload.window = window;
  workload.count_include_pad = count_include_pad;
  return workload;
}

}  // namespace

Window square_window(int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  return {kernel, kernel, stride, stride, dilation, dilation, pad, pad, pad, pad};
}

Workload conv2d_workload(TensorForm x, DType y, int64_t outputs, int64_t groups, Window window) {
  Workload workload = pool(OpKind::conv2d, x, y, window);
  workload.output = nhwc_form(y, x.n, workload.output.h, workload.output.w, outputs);
  workload.groups = groups;
  workload.epilogue.bias = true;
  workload.epilogue.table_input = y;
  return workload;
}

Workload dense_workload(DType x, DType y, int64_t rows, int64_t inputs, int64_t outputs) {
  Workload workload = conv2d_workload(nhwc_form(x, rows, 1, 1, inputs), y, outputs, 1, {});
  workload.kind = OpKind::dense;
  return workload;
}

Workload matmul_workload(DType a, DType b, DType y, std::array<int64_t, 4> batch_rows_depth_columns, bool transposed) {
  const auto [batch, rows, depth, columns] = batch_rows_depth_columns;
  Workload workload = light(OpKind::matmul,
                            {nhwc_form(a, batch * rows, 1, 1, depth),
                             nhwc_form(b, batch * (transposed ? columns : depth), 1, 1, transposed ? depth : columns)},
                            nhwc_form(y, batch * rows, 1, 1, columns));
  workload.batch = batch;
  workload.transposed = transposed;
  return workload;
}

std::vector<Workload> matmul_workloads() {
  constexpr DType s8 = DType::s8, u8 = DType::u8, s32 = DType::s32;
  std::vector<Workload> list;
  const auto add = [&](const Workload& workload, ZeroPointForm a, ZeroPointForm b) {
    list.push_back(workload);
    list.back().x_zero_point = a, list.back().weight_zero_point = b;
  };
  constexpr ZeroPointForm zero = ZeroPointForm::zero, scalar = ZeroPointForm::scalar;
  for (const bool transposed : {false, true}) {
    add(matmul_workload(s8, s8, s8, {1, 16, 32, 16}, transposed), zero, zero);
    add(matmul_workload(u8, s8, u8, {3, 1, 17, 33}, transposed), scalar, zero);
    add(matmul_workload(s8, u8, s8, {2, 19, 100, 5}, transposed), zero, scalar);
    add(matmul_workload(u8, u8, s32, {3, 5, 65, 7}, transposed), scalar, scalar);
    add(matmul_workload(u8, s8, s32, {1, 40, 3, 70}, transposed), zero, zero);
    add(matmul_workload(u8, u8, u8, {2, 70, 130, 64}, transposed), scalar, scalar);
    // Slices of wider matrices, at offsets that only words divide.
    Workload sliced = matmul_workload(u8, s8, u8, {2, 9, 40, 24}, transposed);
    sliced.inputs[0] = slice(sliced.inputs[0], 64, 12);
    sliced.inputs[1] = slice(sliced.inputs[1], 52, 8);
    sliced.output = slice(sliced.output, 48, 20);
    add(sliced, scalar, scalar);
  }
  return list;
}

std::vector<Workload> product_workloads() {
  constexpr DType s8 = DType::s8, u8 = DType::u8;
  std::vector<Workload> list;
  auto add = [&](Workload workload) -> Workload& { return list.emplace_back(std::move(workload)); };
  add(conv2d_workload(nhwc_form(s8, 1, 7, 9, 3), s8, 5, 1, square_window(3, 1, 1)));
  add(conv2d_workload(nhwc_form(u8, 2, 8, 8, 16), u8, 32, 1, square_window(1, 1, 0))).x_zero_point =
      ZeroPointForm::scalar;
  add(conv2d_workload(nhwc_form(u8, 1, 11, 6, 17), s8, 70, 1, {3, 2, 2, 1, 1, 2, 0, 2, 3, 1})).x_zero_point =
      ZeroPointForm::scalar;
  Workload& grouped = add(conv2d_workload(nhwc_form(s8, 1, 6, 6, 12), u8, 18, 3, square_window(3, 1, 2, 2)));
  grouped.weight_dtype = u8;
  grouped.weight_zero_point = ZeroPointForm::per_channel;
  grouped.x_zero_point = ZeroPointForm::scalar;
  Workload& stem = add(conv2d_workload(nhwc_form(u8, 1, 15, 15, 3), u8, 8, 1, square_window(7, 2, 3)));
  stem.weight_dtype = u8;
  stem.weight_zero_point = ZeroPointForm::scalar;
  stem.x_zero_point = ZeroPointForm::scalar;
  stem.epilogue.bias = false;
  Workload& depthwise = add(conv2d_workload(nhwc_form(u8, 2, 9, 7, 20), s8, 20, 20, square_window(3, 2, 1)));
  depthwise.x_zero_point = ZeroPointForm::scalar;
  depthwise.weight_zero_point = ZeroPointForm::per_channel;
  add(conv2d_workload(nhwc_form(s8, 1, 9, 7, 6), s8, 18, 6, square_window(5, 1, 2)));  // channel multiplier 3
  Workload& sliced = add(conv2d_workload(slice(nhwc_form(s8, 1, 5, 5, 10), 64, 20), s8, 12, 1, square_window(3, 1, 1)));
  sliced.output = slice(sliced.output, 48, 16);
  Workload& rounded = add(conv2d_workload(nhwc_form(s8, 1, 6, 6, 16), s8, 24, 1, square_window(3, 1, 1)));
  rounded.epilogue.residual = ResidualForm::rounded;
  rounded.inputs.push_back(slice(rounded.output, 64, 8));
  Workload& unrounded = add(conv2d_workload(nhwc_form(u8, 1, 6, 6, 16), s8, 24, 1, square_window(1, 1, 0)));
  unrounded.x_zero_point = ZeroPointForm::scalar;
  unrounded.epilogue.residual = ResidualForm::unrounded;
  unrounded.inputs.push_back(nhwc_form(u8, 1, 6, 6, 24));
  Workload& table = add(conv2d_workload(nhwc_form(s8, 1, 6, 6, 16), u8, 9, 1, square_window(1, 1, 0)));
  table.epilogue.table = true;
  table.epilogue.table_input = s8;
  Workload& both = add(conv2d_workload(nhwc_form(s8, 1, 5, 6, 8), s8, 8, 8, square_window(3, 1, 1)));
  both.epilogue.residual = ResidualForm::rounded;
  both.epilogue.table = true;
  both.epilogue.table_input = u8;
  both.inputs.push_back(nhwc_form(u8, 1, 5, 6, 8));
  add(dense_workload(s8, s8, 1, 64, 100));
  add(dense_workload(u8, u8, 5, 33, 10)).x_zero_point = ZeroPointForm::scalar;
  return list;
}

std::vector<Workload> accumulator_workloads() {
  constexpr DType s8 = DType::s8, u8 = DType::u8, s32 = DType::s32;
  std::vector<Workload> list{dense_workload(u8, s32, 5, 33, 10), dense_workload(s8, s32, 17, 64, 100),
                             conv2d_workload(nhwc_form(u8, 1, 7, 9, 24), s32, 40, 1, square_window(3, 1, 1)),
                             conv2d_workload(nhwc_form(s8, 1, 7, 9, 24), s32, 24, 24, square_window(3, 1, 1))};
  list[0].x_zero_point = list[2].x_zero_point = ZeroPointForm::scalar;
  list[1].epilogue.bias = false;
  list[2].weight_zero_point = ZeroPointForm::per_channel;
  return list;
}

namespace {

Workload movement(TensorForm x, TensorForm y, Movement movement) {
  Workload workload = light(OpKind::move, {x}, y);
  workload.movement = simplified(movement);
  return workload;
}

std::vector<Workload> movement_workloads() {
  constexpr DType s8 = DType::s8, u8 = DType::u8, s32 = DType::s32, f32 = DType::f32;
  std::vector<Workload> list;
  // [2,20,6,7] transposed, with and without pad lanes, from and to every layout.
  for (const auto& order : std::vector<std::vector<int64_t>>{{0, 2, 3, 1}, {0, 2, 1, 3}, {3, 1, 0, 2}, {0, 1, 3, 2}}) {
    const std::array<int64_t, 4> from{2, 20, 6, 7};
    std::array<int64_t, 4> to{};
    for (size_t i = 0; i < 4; ++i) to[i] = from[static_cast<size_t>(order[i])];
    const Movement turned = transposition({2, 20, 6, 7}, order);
    const TensorForm x = nhwc_form(u8, 2, 6, 7, 20), y = nhwc_form(u8, to[0], to[2], to[3], to[1]);
    list.push_back(movement(x, y, turned));
    list.push_back(movement(nchw_form(u8, 2, 20, 6, 7), y, turned));
    list.push_back(movement(slice(x, 64, 12), slice(y, 96, 20), turned));
    for (const DType dtype : {s8, s32, f32}) {
      list.push_back(movement(nchw_form(dtype, 2, 20, 6, 7), nchw_form(dtype, to[0], to[1], to[2], to[3]), turned));
    }
    list.push_back(movement(nhwc_form(s32, 2, 6, 7, 20), nchw_form(s32, to[0], to[1], to[2], to[3]), turned));
  }
  // Six dimensions; rows backwards, every second column; padded on all sides; each pixel four times; nothing but fill.
  list.push_back(movement(nhwc_form(s8, 2, 60, 7, 3), nhwc_form(s8, 7, 24, 5, 3),
                          transposition({2, 3, 3, 4, 5, 7}, {5, 2, 0, 3, 1, 4})));
  const Movement skipping{5 * 7, {{40, 42, 0, 40}, {6, -7, 0, 6}, {4, 2, 0, 4}}};
  const Movement padded{-50, {{22, 42, 1, 21}, {9, 7, 1, 7}, {8, 1, 1, 8}}};
  const Movement repeated{0, {{20, 42, 0, 20}, {6, 7, 0, 6}, {2, 0, 0, 2}, {7, 1, 0, 7}, {2, 0, 0, 2}}};
  const Movement nothing{0, {{1, 0, 0, 0}, {42, 1, 0, 42}}};
  list.push_back(movement(nhwc_form(u8, 2, 6, 7, 20), nhwc_form(u8, 2, 6, 4, 20), skipping));
  list.push_back(movement(nhwc_form(u8, 1, 6, 7, 20), nhwc_form(u8, 1, 12, 14, 20), repeated));
  list.push_back(movement(nhwc_form(s8, 1, 6, 7, 20), nhwc_form(s8, 1, 9, 8, 22), padded));
  for (const DType dtype : {u8, s32, f32}) {
    const TensorForm x = nchw_form(dtype, 1, 20, 6, 7);
    list.push_back(movement(x, nchw_form(dtype, 1, 22, 9, 8), padded));
    list.push_back(movement(x, nchw_form(dtype, 1, 1, 6, 7), nothing));
  }
  return list;
}

}  // namespace

std::vector<Workload> light_workloads() {
  constexpr DType s8 = DType::s8, u8 = DType::u8, f32 = DType::f32;
  std::vector<Workload> list;
  for (const auto& [n, h, w, c] : std::vector<std::array<int64_t, 4>>{{1, 17, 13, 3}, {2, 5, 6, 40}, {3, 1, 1, 1000}}) {
    for (const DType code : {s8, u8}) {
      list.push_back(light(OpKind::quantize, {nchw_form(f32, n, c, h, w)}, nhwc_form(code, n, h, w, c)));
      list.push_back(light(OpKind::dequantize, {nhwc_form(code, n, h, w, c)}, nchw_form(f32, n, c, h, w)));
      list.push_back(light(OpKind::lookup, {nhwc_form(code, n, h, w, c)}, nhwc_form(u8, n, h, w, c)));
      list.push_back(light(OpKind::layout, {nhwc_form(code, n, h, w, c)}, nhwc_form(code, n, 1, 1, c * h * w)));
      list.push_back(light(OpKind::layout, {nhwc_form(code, n, h, w, c)}, nchw_form(code, n, c, h, w)));
      list.push_back(light(OpKind::layout, {nchw_form(code, n, c, h, w)}, nhwc_form(code, 1, 1, n, c * h * w)));
    }
    list.push_back(light(OpKind::layout, {nhwc_form(DType::s32, n, h, w, c)}, nchw_form(DType::s32, n, c, h, w)));
    list.push_back(
        light(OpKind::layout, {nhwc_form(DType::s32, n, h, w, c)}, nchw_form(DType::s32, n, c * h * w, 1, 1)));
  }
  list.push_back(light(OpKind::layout, {nchw_form(s8, 1, 6, 4, 5)}, nchw_form(s8, 2, 3, 5, 4)));
  const TensorForm wide = slice(nhwc_form(u8, 1, 6, 7, 20), 64, 12);
  list.push_back(light(OpKind::lookup, {wide}, slice(nhwc_form(s8, 1, 6, 7, 20), 48, 16)));
  // The last pixel's lanes end with the buffer, those that are written go on.
  list.push_back(light(OpKind::lookup, {slice(nhwc_form(s8, 1, 3, 3, 20), 32, 12)}, nhwc_form(s8, 1, 3, 3, 20)));
  list.push_back(light(OpKind::quantize, {nchw_form(f32, 1, 20, 6, 7)}, wide));
  list.push_back(light(OpKind::dequantize, {wide}, nchw_form(f32, 1, 20, 6, 7)));
  list.push_back(light(OpKind::layout, {wide}, slice(nhwc_form(u8, 1, 6, 7, 20), 32, 0)));
  for (const OpKind kind : {OpKind::add, OpKind::mul}) {
    const TensorForm y = nhwc_form(s8, 2, 5, 6, 24);
    list.push_back(light(kind, {y, y}, y));
    list.push_back(light(kind, {nhwc_form(u8, 2, 5, 6, 24), nhwc_form(s8, 2, 1, 1, 24)}, y));
    list.push_back(light(kind, {nhwc_form(u8, 1, 1, 6, 1), nhwc_form(u8, 2, 5, 6, 24)}, nhwc_form(u8, 2, 5, 6, 24)));
    list.push_back(light(kind, {nhwc_form(s8, 2, 5, 1, 24), nhwc_form(s8, 1, 1, 6, 24)}, slice(y, 64, 24)));
    list.push_back(light(kind, {wide, nhwc_form(s8, 1, 1, 1, 1)}, nhwc_form(u8, 1, 6, 7, 20)));
    list.push_back(light(kind, {nhwc_form(u8, 1, 3, 3, 2), nhwc_form(s8, 1, 3, 3, 2)}, nhwc_form(s8, 1, 3, 3, 2)));
  }
  for (const OpKind kind : {OpKind::max_pool, OpKind::average_pool}) {
    list.push_back(pool(kind, nhwc_form(s8, 1, 12, 12, 16), s8, square_window(3, 2, 1)));
    list.push_back(pool(kind, nhwc_form(u8, 2, 9, 7, 21), u8, {3, 2, 1, 2, 2, 1, 2, 0, 1, 1}));
    list.push_back(pool(kind, nhwc_form(u8, 1, 7, 7, 100), u8, square_window(7, 1, 0)));  // global
    list.push_back(pool(kind, wide, u8, square_window(2, 2, 0)));
    Workload beyond = pool(kind, nhwc_form(s8, 1, 5, 5, 3), s8, square_window(2, 2, 1));  // ceil_mode
    beyond.output = nhwc_form(s8, 1, 4, 4, 3);
    beyond.window.pad_bottom = beyond.window.pad_right = 2;
    list.push_back(beyond);
    beyond.output = slice(beyond.output, 16, 8);
    list.push_back(beyond);
  }
  list.push_back(pool(OpKind::average_pool, nhwc_form(s8, 1, 9, 9, 8), u8, square_window(3, 2, 1), true));
  list.push_back(pool(OpKind::average_pool, nhwc_form(u8, 2, 20, 30, 40), u8, {20, 30, 1, 1, 1, 1, 0, 0, 0, 0}));
  for (const auto& channels : std::vector<std::vector<int64_t>>{{16, 32}, {3, 5, 24}, {20}, {1, 1, 1, 1, 1}}) {
    std::vector<TensorForm> parts;
    int64_t sum = 0;
    for (const int64_t c : channels) parts.push_back(nhwc_form(u8, 2, 4, 5, c)), sum += c;
    list.push_back(light(OpKind::concat, parts, nhwc_form(u8, 2, 4, 5, sum)));
  }
  list.push_back(light(OpKind::concat, {wide, nhwc_form(u8, 1, 6, 7, 12)}, slice(nhwc_form(u8, 1, 6, 7, 32), 64, 4)));
  const std::vector<Workload> movements = movement_workloads();
  list.insert(list.end(), movements.begin(), movements.end());
  return list;
}

}  // namespace warpwright::testing
