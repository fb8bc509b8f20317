// quantize, dequantize, lookup, add and mul.
#include <algorithm>
#include <array>

#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/rounding.h"
#include "src/reference/target_clones.h"
#include "src/reference/tensor_view.h"

namespace warpwright {

namespace {

struct Requantization {
  float y_scale, lo, hi;
  int32_t zero_point;
};

/// codes[i] = rne(clamp(v[i] / y_scale, lo, hi)) + zero_point.
WW_TARGET_CLONES void requantize(const float* v, int64_t count, Requantization to, int32_t* codes) {
  for (int64_t i = 0; i < count; ++i) {
    codes[i] = round_to_int(clamp_float(v[i] / to.y_scale, to.lo, to.hi)) + to.zero_point;
  }
}

/// fl(float(code - zero_point) * scale) for every byte pattern of a code.
std::array<float, 256> dequantized(DType dtype, int32_t zero_point, float scale) {
  std::array<float, 256> values;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const int32_t code = dtype == DType::s8 ? static_cast<int8_t>(byte) : byte;
    values[byte] = static_cast<float>(code - zero_point) * scale;
  }
  return values;
}

/// Calls `work(n, h)` for every row of the form, on all cores.
template <typename Work>
void for_each_row(const TensorForm& form, const Work& work) {
  parallel_for(form.n * form.h, [&](int64_t row) { work(row / form.h, row % form.h); });
}

/// The view of an input that broadcasts: extents of 1 have stride 0.
TensorView broadcast_view(const TensorForm& form) {
  TensorView view(form);
  if (form.n == 1) view.stride_n = 0;
  if (form.h == 1) view.stride_h = 0;
  if (form.w == 1) view.stride_w = 0;
  if (form.c == 1) view.stride_c = 0;
  return view;
}

}  // namespace

void run_quantize(const Operation& operation) {
  const TensorForm& form = operation.workload.output;
  const TensorView from(operation.workload.inputs[0]), to(form);
  const auto x = operation.inputs[0]->as<float>();
  const auto y = operation.output.as<uint8_t>();
  const Requantization requantization{operation.f32("scale"), operation.f32("lo"), operation.f32("hi"),
                                      operation.s32("zero_point")};
  for_each_row(form, [&](int64_t n, int64_t h) {
    std::vector<int32_t> codes(form.w);
    for (int64_t c = 0; c < form.c; ++c) {
      requantize(&x[from.at(n, h, 0, c)], form.w, requantization, codes.data());
      for (int64_t w = 0; w < form.w; ++w) y[to.at(n, h, w, c)] = static_cast<uint8_t>(codes[w]);
    }
  });
}

void run_dequantize(const Operation& operation) {
  const TensorForm& form = operation.workload.output;
  const TensorForm& input = operation.workload.inputs[0];
  const TensorView from(input), to(form);
  const auto x = operation.inputs[0]->as<uint8_t>();
  const auto y = operation.output.as<float>();
  const auto values = dequantized(input.dtype, operation.s32("zero_point"), operation.f32("scale"));
  for_each_row(form, [&](int64_t n, int64_t h) {
    for (int64_t c = 0; c < form.c; ++c) {
      for (int64_t w = 0; w < form.w; ++w) y[to.at(n, h, w, c)] = values[x[from.at(n, h, w, c)]];
    }
  });
}

void run_lookup(const Operation& operation) {
  const TensorForm& form = operation.workload.output;
  const TensorView from(operation.workload.inputs[0]), to(form);
  const auto x = operation.inputs[0]->as<uint8_t>();
  const auto y = operation.output.as<uint8_t>();
  const auto table = operation.values.at("table").as<uint8_t>();
  for_each_row(form, [&](int64_t n, int64_t h) {
    for (int64_t w = 0; w < form.w; ++w) {
      for (int64_t c = 0; c < form.c; ++c) y[to.at(n, h, w, c)] = table[x[from.at(n, h, w, c)]];
    }
  });
}

void run_add_or_mul(const Operation& operation) {
  const Workload& workload = operation.workload;
  const TensorForm& form = workload.output;
  const TensorView a_view = broadcast_view(workload.inputs[0]), b_view = broadcast_view(workload.inputs[1]), to(form);
  const auto a = operation.inputs[0]->as<uint8_t>(), b = operation.inputs[1]->as<uint8_t>();
  const auto y = operation.output.as<uint8_t>();
  const auto da = dequantized(workload.inputs[0].dtype, operation.s32("a_zero_point"), operation.f32("a_scale"));
  const auto db = dequantized(workload.inputs[1].dtype, operation.s32("b_zero_point"), operation.f32("b_scale"));
  const Requantization requantization{operation.f32("y_scale"), operation.f32("lo"), operation.f32("hi"),
                                      operation.s32("y_zero_point")};
  const bool is_add = workload.kind == OpKind::add;
  for_each_row(form, [&](int64_t n, int64_t h) {
    std::vector<float> v(form.c);
    std::vector<int32_t> codes(form.c);
    for (int64_t w = 0; w < form.w; ++w) {
      const auto a_pixel = a.subspan(a_view.at(n, h, w, 0)), b_pixel = b.subspan(b_view.at(n, h, w, 0));
      for (int64_t c = 0; c < form.c; ++c) {
        const float first = da[a_pixel[c * a_view.stride_c]], second = db[b_pixel[c * b_view.stride_c]];
        v[c] = is_add ? first + second : first * second;
      }
      requantize(v.data(), form.c, requantization, codes.data());
      for (int64_t c = 0; c < form.c; ++c) y[to.at(n, h, w, c)] = static_cast<uint8_t>(codes[c]);
    }
  });
}

}  // namespace warpwright
