// Depthwise conv2d: all output channels of a pixel side by side, tap after tap.
#include <algorithm>
#include <vector>

#include "src/reference/dot_product.h"
#include "src/reference/epilogue.h"
#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/target_clones.h"
#include "src/reference/tensor_view.h"

namespace warpwright {

namespace {

// Products lie within +-255 * 255; the sums wrap.
WW_TARGET_CLONES void multiply_add(const int16_t* x, const int16_t* w, int64_t count, uint32_t* sums) {
  for (int64_t i = 0; i < count; ++i) {
    sums[i] += static_cast<uint32_t>(static_cast<int32_t>(x[i]) * static_cast<int32_t>(w[i]));
  }
}

/// Centred weights, [tap][output channel].
std::vector<int16_t> centred_weights(const Operation& operation, int64_t taps) {
  const Workload& workload = operation.workload;
  const int64_t outputs = workload.output.c;
  std::vector<int16_t> weights(taps * outputs);
  with_code_type(workload.weight_dtype, [&](auto code) {
    const auto from = operation.values.at("weights").as<decltype(code)>();
    for (int64_t k = 0; k < outputs; ++k) {
      int32_t zero_point = 0;
      if (workload.weight_zero_point != ZeroPointForm::zero) {
        const auto zero_points = operation.values.at("weight_zero_point").as<int32_t>();
        zero_point = zero_points[workload.weight_zero_point == ZeroPointForm::per_channel ? k : 0];
      }
      for (int64_t tap = 0; tap < taps; ++tap) {
        weights[tap * outputs + k] = static_cast<int16_t>(from[k * taps + tap] - zero_point);
      }
    }
  });
  return weights;
}

/// The centred input pixel at `offset`, every channel `multiplier` times in a row.
void read_pixel(const Operation& operation, int64_t offset, int64_t stride, int64_t multiplier, int32_t zero_point,
                std::vector<int16_t>& to) {
  const TensorForm& x = operation.workload.inputs[0];
  with_code_type(x.dtype, [&](auto code) {
    const auto* from = operation.inputs[0]->template as<decltype(code)>().data() + offset;
    if (stride == 1 && multiplier == 1) {
      centre(from, x.c, zero_point, to.data());
      return;
    }
    for (int64_t k = 0; k < x.c * multiplier; ++k) {
      to[k] = static_cast<int16_t>(from[k / multiplier * stride] - zero_point);
    }
  });
}

}  // namespace

void run_depthwise(const Operation& operation) {
  const Workload& workload = operation.workload;
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  const TensorView x_view(x);
  const EpilogueStep epilogue(operation);
  const std::vector<int16_t> weights = centred_weights(operation, window.kernel_h * window.kernel_w);
  const int32_t zero_point = workload.x_zero_point == ZeroPointForm::zero ? 0 : operation.s32("x_zero_point");

  parallel_for(y.n * y.h, [&](int64_t index) {
    const int64_t n = index / y.h, p = index % y.h;
    std::vector<int16_t> pixel(y.c);
    std::vector<uint32_t> sums(y.c);
    std::vector<int32_t> accumulators(y.c);
    for (int64_t q = 0; q < y.w; ++q) {
      std::fill(sums.begin(), sums.end(), 0U);
      for (int64_t r = 0; r < window.kernel_h; ++r) {
        const int64_t h = p * window.stride_h - window.pad_top + r * window.dilation_h;
        if (h < 0 || h >= x.h) continue;
        for (int64_t s = 0; s < window.kernel_w; ++s) {
          const int64_t w = q * window.stride_w - window.pad_left + s * window.dilation_w;
          if (w < 0 || w >= x.w) continue;
          read_pixel(operation, x_view.at(n, h, w, 0), x_view.stride_c, y.c / x.c, zero_point, pixel);
          multiply_add(pixel.data(), &weights[(r * window.kernel_w + s) * y.c], y.c, sums.data());
        }
      }
      std::copy(sums.begin(), sums.end(), accumulators.begin());
      epilogue.write(n, p, q, 0, y.c, accumulators.data());
    }
  });
}

}  // namespace warpwright
