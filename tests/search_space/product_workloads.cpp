// Workloads of conv2d and dense for the tests of their families.
#include "tests/search_space/product_workloads.h"

#include "tests/reference/examples/workloads.h"

namespace warpwright::testing {

namespace {

constexpr DType s8 = DType::s8, u8 = DType::u8;

/// What surrounds the shape of a product.
struct Forms {
  DType x = s8, weights = s8, y = s8;
  ZeroPointForm x_zero_point = ZeroPointForm::zero, weight_zero_point = ZeroPointForm::zero;
  bool bias = true;
  ResidualForm residual = ResidualForm::none;
  bool table = false;
};

Workload with(Workload workload, const Forms& forms) {
  workload.inputs[0].dtype = forms.x;
  workload.weight_dtype = forms.weights;
  workload.output.dtype = forms.y;
  workload.x_zero_point = forms.x_zero_point;
  workload.weight_zero_point = forms.weight_zero_point;
  workload.epilogue = {forms.bias, forms.residual, forms.table, forms.table && forms.y == s8 ? u8 : forms.y};
  if (forms.residual != ResidualForm::none) {
    TensorForm residual = nhwc_form(u8, workload.output.n, workload.output.h, workload.output.w, workload.output.c);
    workload.inputs.push_back(residual);
  }
  check(workload);
  return workload;
}

Workload conv(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, const Window& window, int64_t groups = 1) {
  return conv2d_workload(nhwc_form(s8, n, h, w, c), s8, k, groups, window);
}

TensorForm slice(TensorForm form, int64_t pixel_stride, int64_t channel_offset) {
  form.pixel_stride = pixel_stride;
  form.channel_offset = channel_offset;
  return form;
}

}  // namespace

std::vector<Workload> awkward_products() {
  constexpr auto zero = ZeroPointForm::zero, scalar = ZeroPointForm::scalar, per_channel = ZeroPointForm::per_channel;
  constexpr auto none = ResidualForm::none, rounded = ResidualForm::rounded, unrounded = ResidualForm::unrounded;
  const Window k3 = square_window(3, 1, 1), k3s2 = square_window(3, 2, 1), k1 = square_window(1, 1, 0);
  std::vector<Workload> list = product_workloads();
  for (const auto& more : {accumulator_workloads(), matmul_workloads()})
    list.insert(list.end(), more.begin(), more.end());
  // dp4a_gemm
  list.push_back(with(conv(1, 7, 7, 16, 33, k3), {u8, s8, u8, scalar, zero}));
  list.push_back(with(conv(2, 5, 13, 33, 17, k3s2), {u8, u8, s8, scalar, scalar, false, rounded}));
  list.push_back(
      with(conv(1, 9, 9, 5, 5, square_window(5, 2, 2)), {s8, u8, u8, scalar, per_channel, true, unrounded, true}));
  list.push_back(with(conv(1, 9, 11, 24, 8, square_window(3, 1, 3, 3)), {s8, s8, s8, scalar, zero, true, none, true}));
  list.push_back(with(conv(1, 6, 6, 6, 6, k3, 3), {u8, s8, s8, scalar, scalar, true, rounded}));
  list.push_back(with(conv(1, 6, 6, 18, 10, k3s2, 2), {s8, s8, u8, zero, per_channel, false}));
  list.push_back(with(conv(1, 8, 8, 32, 64, square_window(3, 2, 0), 2), {u8, s8, u8, scalar, zero, true, unrounded}));
  list.push_back(with(conv(1, 8, 9, 16, 16, {3, 3, 2, 2, 1, 1, 1, 0, 2, 0}), {u8, s8, u8, scalar, zero}));
  list.push_back(with(conv(1, 9, 9, 8, 8, square_window(7, 1, 3)), {u8, s8, u8, scalar, zero}));  // 49 taps
  list.push_back(with(conv(3, 7, 7, 64, 64, {1, 1, 2, 2, 1, 2, 0, 0, 2, 2}), {u8, s8, u8, zero, zero, false, rounded}));
  list.push_back(with(conv(1, 5, 5, 128, 32, {1, 1, 1, 1, 1, 1, 1, 0, 1, 2}), {u8, s8, s8, scalar, zero}));
  list.push_back(with(conv(3, 1, 1, 17, 1, k1), {s8, s8, s8, zero, zero, false}));
  list.push_back(with(dense_workload(s8, s8, 1, 1280, 100), {u8, s8, u8, scalar, zero}));
  list.push_back(with(dense_workload(s8, s8, 1, 33, 3), {s8, s8, s8, zero, zero, false}));
  list.push_back(with(dense_workload(s8, s8, 17, 50, 40), {u8, u8, u8, scalar, scalar}));
  list.push_back(with(dense_workload(s8, s8, 100, 256, 64), {s8, u8, s8, zero, per_channel, true, rounded, true}));
  Workload sliced = conv(1, 6, 5, 10, 14, k3);
  sliced.inputs[0] = slice(sliced.inputs[0], 32, 4);
  sliced.output = slice(sliced.output, 48, 16);
  list.push_back(with(sliced, {u8, s8, u8, scalar, scalar, true, rounded}));
  // depthwise
  list.push_back(
      with(conv(1, 14, 13, 17, 17, square_window(5, 1, 2), 17), {u8, u8, u8, scalar, scalar, false, rounded}));
  list.push_back(
      with(conv(1, 14, 13, 24, 24, square_window(5, 2, 2), 24), {u8, s8, s8, scalar, per_channel, true, none, true}));
  list.push_back(
      with(conv(1, 12, 12, 3, 3, square_window(7, 1, 3), 3), {s8, u8, s8, zero, per_channel, true, unrounded}));
  list.push_back(with(conv(1, 12, 12, 33, 66, square_window(3, 1, 3, 3), 33), {u8, s8, u8, scalar, scalar}));
  list.push_back(
      with(conv(1, 6, 6, 8, 48, square_window(3, 2, 0, 2), 8), {s8, s8, u8, scalar, zero, true, rounded, true}));
  list.push_back(with(conv(1, 6, 6, 20, 20, k1, 20), {u8, s8, u8, scalar, scalar}));
  list.push_back(with(conv(1, 1, 1, 48, 48, k3, 48), {u8, s8, u8, scalar, zero}));
  Workload sliced_depthwise = conv(1, 6, 5, 12, 12, k3, 12);
  sliced_depthwise.inputs[0] = slice(sliced_depthwise.inputs[0], 32, 4);
  sliced_depthwise.output = slice(sliced_depthwise.output, 48, 16);
  list.push_back(with(sliced_depthwise, {u8, s8, u8, scalar, zero}));
  // stem
  list.push_back(
      with(conv(2, 9, 9, 1, 5, square_window(5, 2, 2)), {s8, u8, u8, scalar, per_channel, true, unrounded, true}));
  list.push_back(with(conv(1, 15, 13, 4, 32, square_window(3, 1, 3, 3)), {u8, u8, s8, scalar, scalar, false, rounded}));
  list.push_back(with(conv(1, 17, 17, 3, 18, {3, 3, 2, 2, 1, 1, 0, 0, 1, 1}), {u8, s8, u8, scalar, zero}));
  list.push_back(with(conv(1, 32, 30, 3, 24, square_window(7, 2, 3)), {u8, s8, u8, scalar, zero}));
  return list;
}

std::vector<Workload> typical_products() {
  const Window k3 = square_window(3, 1, 1), k3s2 = square_window(3, 2, 1), k1 = square_window(1, 1, 0);
  const Window k5 = square_window(5, 1, 2);
  return {conv(1, 224, 224, 3, 64, square_window(7, 2, 3)),
          conv(1, 224, 224, 3, 32, k3s2),
          conv(1, 56, 56, 64, 64, k1),
          conv(1, 56, 56, 64, 64, k3),
          conv(1, 28, 28, 128, 512, k1),
          conv(1, 14, 14, 256, 256, k3),
          conv(1, 7, 7, 512, 512, k3),
          conv(1, 7, 7, 2048, 512, k1),
          conv(1, 14, 14, 96, 96, k3, 6),
          conv(8, 14, 14, 1024, 256, k1),
          conv(1, 112, 112, 32, 32, k3, 32),
          conv(1, 28, 28, 240, 240, k5, 240),
          conv(1, 14, 14, 672, 672, square_window(5, 2, 2), 672),
          conv(1, 7, 7, 1152, 1152, k3, 1152),
          dense_workload(s8, s8, 1, 2048, 1000),
          dense_workload(s8, s8, 16, 768, 3072),
          dense_workload(s8, s8, 4096, 4096, 4096)};
}

}  // namespace warpwright::testing
