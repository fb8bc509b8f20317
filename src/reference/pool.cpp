// Pools of codes and of float32.
#include <algorithm>
#include <vector>

#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/real_functions.h"
#include "src/reference/rounding.h"
#include "src/reference/tensor_view.h"

namespace warpwright {

namespace {

/// Calls `tap(h, w)` for the positions of the window of output (p, q) that lie inside the image.
template <typename Tap>
void for_each_tap(const Workload& workload, int64_t p, int64_t q, const Tap& tap) {
  const Window& window = workload.window;
  const TensorForm& x = workload.inputs[0];
  for (int64_t r = 0; r < window.kernel_h; ++r) {
    const int64_t h = p * window.stride_h - window.pad_top + r * window.dilation_h;
    if (h < 0 || h >= x.h) continue;
    for (int64_t s = 0; s < window.kernel_w; ++s) {
      const int64_t w = q * window.stride_w - window.pad_left + s * window.dilation_w;
      if (w >= 0 && w < x.w) tap(h, w);
    }
  }
}

/// Positions of the window along one axis that lie in [-pad_before, extent + pad_after).
int64_t positions_in_padded(int64_t start, int64_t kernel, int64_t dilation, int64_t pad_before, int64_t extent,
                            int64_t pad_after) {
  int64_t count = 0;
  for (int64_t i = 0; i < kernel; ++i) {
    const int64_t at = start + i * dilation;
    if (at >= -pad_before && at < extent + pad_after) ++count;
  }
  return count;
}

int64_t average_count(const Workload& workload, int64_t p, int64_t q) {
  const Window& window = workload.window;
  const TensorForm& x = workload.inputs[0];
  if (workload.count_include_pad) {
    return positions_in_padded(p * window.stride_h - window.pad_top, window.kernel_h, window.dilation_h, window.pad_top,
                               x.h, window.pad_bottom) *
           positions_in_padded(q * window.stride_w - window.pad_left, window.kernel_w, window.dilation_w,
                               window.pad_left, x.w, window.pad_right);
  }
  int64_t count = 0;
  for_each_tap(workload, p, q, [&](int64_t, int64_t) { ++count; });
  return count;
}

}  // namespace

void run_max_pool(const Operation& operation) {
  const Workload& workload = operation.workload;
  const TensorForm& form = workload.output;
  const TensorView from(workload.inputs[0]), to(form);
  with_code_type(form.dtype, [&](auto code) {
    using Code = decltype(code);
    const auto x = operation.inputs[0]->as<Code>();
    const auto y = operation.output.as<Code>();
    parallel_for(form.n * form.h, [&](int64_t row) {
      const int64_t n = row / form.h, p = row % form.h;
      for (int64_t q = 0; q < form.w; ++q) {
        Code* largest = &y[to.at(n, p, q, 0)];
        std::fill_n(largest, form.c, static_cast<Code>(code_min(form.dtype)));
        for_each_tap(workload, p, q, [&](int64_t h, int64_t w) {
          const Code* pixel = &x[from.at(n, h, w, 0)];
          for (int64_t c = 0; c < form.c; ++c) largest[c] = std::max(largest[c], pixel[c]);
        });
      }
    });
  });
}

void run_average_pool(const Operation& operation) {
  const Workload& workload = operation.workload;
  const TensorForm& form = workload.output;
  const TensorView from(workload.inputs[0]), to(form);
  const float x_scale = operation.f32("x_scale"), y_scale = operation.f32("y_scale");
  const float lo = operation.f32("lo"), hi = operation.f32("hi");
  const int32_t x_zero_point = operation.s32("x_zero_point"), y_zero_point = operation.s32("y_zero_point");
  const auto y = operation.output.as<uint8_t>();
  with_code_type(workload.inputs[0].dtype, [&](auto code) {
    const auto x = operation.inputs[0]->as<decltype(code)>();
    parallel_for(form.n * form.h, [&](int64_t row) {
      const int64_t n = row / form.h, p = row % form.h;
      std::vector<uint32_t> sums(form.c);
      for (int64_t q = 0; q < form.w; ++q) {
        std::fill(sums.begin(), sums.end(), 0U);
        for_each_tap(workload, p, q, [&](int64_t h, int64_t w) {
          const auto* pixel = &x[from.at(n, h, w, 0)];
          for (int64_t c = 0; c < form.c; ++c) sums[c] += static_cast<uint32_t>(pixel[c] - x_zero_point);
        });
        const float multiplier = x_scale / (y_scale * static_cast<float>(average_count(workload, p, q)));
        for (int64_t c = 0; c < form.c; ++c) {
          const float scaled = static_cast<float>(static_cast<int32_t>(sums[c])) * multiplier;
          y[to.at(n, p, q, c)] = static_cast<uint8_t>(round_to_int(clamp_float(scaled, lo, hi)) + y_zero_point);
        }
      }
    });
  });
}

namespace {

/// Calls `pool(plane, p, q)` for every output in order; `plane` are the input's elements.
template <typename Pool>
void for_each_real_output(const Operation& operation, Pool pool) {
  const TensorForm &x_form = operation.workload.inputs[0], &y_form = operation.workload.output;
  const float* x = operation.inputs[0]->as<float>().data();
  float* y = operation.output.as<float>().data();
  parallel_for(y_form.n * y_form.c, [&](int64_t plane) {
    float* to = y + plane * y_form.h * y_form.w;
    for (int64_t p = 0; p < y_form.h; ++p) {
      for (int64_t q = 0; q < y_form.w; ++q) *to++ = pool(x + plane * x_form.h * x_form.w, p, q);
    }
  });
}

}  // namespace

void run_real_max_pool(const Operation& operation) {
  const Workload& workload = operation.workload;
  const int64_t width = workload.inputs[0].w;
  for_each_real_output(operation, [&](const float* x, int64_t p, int64_t q) {
    float most = -real::kInfinity;
    for_each_tap(workload, p, q, [&](int64_t h, int64_t w) { most = real::maximum(most, x[h * width + w]); });
    return most;
  });
}

void run_real_average_pool(const Operation& operation) {
  const Workload& workload = operation.workload;
  const int64_t width = workload.inputs[0].w;
  for_each_real_output(operation, [&](const float* x, int64_t p, int64_t q) {
    float sum = 0;
    for_each_tap(workload, p, q, [&](int64_t h, int64_t w) { sum += x[h * width + w]; });
    return sum / static_cast<float>(std::max<int64_t>(average_count(workload, p, q), 1));
  });
}

}  // namespace warpwright
