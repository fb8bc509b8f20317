// TensorView: where the elements of a TensorForm lie in its buffer, whatever the layout.
#pragma once

#include <cstdint>

#include "src/core/workload.h"

namespace warpwright {

struct TensorView {
  int64_t base = 0, stride_n = 0, stride_h = 0, stride_w = 0, stride_c = 0;

  explicit TensorView(const TensorForm& form) {
    if (form.layout == Layout::nchw) {
      stride_w = 1;
      stride_h = form.w;
      stride_c = form.h * form.w;
      stride_n = form.c * stride_c;
    } else {
      base = form.channel_offset;
      stride_c = 1;
      stride_w = form.pixel_stride;
      stride_h = form.w * stride_w;
      stride_n = form.h * stride_h;
    }
  }
  int64_t at(int64_t n, int64_t h, int64_t w, int64_t c) const {
    return base + n * stride_n + h * stride_h + w * stride_w + c * stride_c;
  }
};

}  // namespace warpwright
