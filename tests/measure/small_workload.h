// A small dense Workload that every target has a kernel for.
#pragma once

#include "src/core/workload.h"

namespace warpwright {

inline Workload small_dense(int64_t rows = 8) {
  Workload workload;
  workload.kind = OpKind::dense;
  workload.inputs = {nhwc_form(DType::s8, rows, 1, 1, 64)};
  workload.output = nhwc_form(DType::s8, rows, 1, 1, 32);
  workload.epilogue.bias = true;
  return workload;
}

}  // namespace warpwright
