// The operators of run_reference, one function a group of kinds. Buffers and values were checked by the caller.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/core/tensor.h"
#include "src/core/workload.h"

namespace warpwright {

/// What every operator works on. The output is filled with pad_code (codes) or 0 already.
struct Operation {
  const Workload& workload;
  const Values& values;
  std::span<const Tensor* const> inputs;
  Tensor& output;

  float f32(const std::string& name) const { return values.at(name).as<float>()[0]; }
  int32_t s32(const std::string& name) const { return values.at(name).as<int32_t>()[0]; }
};

void run_matrix_product(const Operation& operation);  // conv2d, dense
void run_depthwise(const Operation& operation);       // conv2d with one input channel a group
void run_matmul(const Operation& operation);
void run_quantize(const Operation& operation);
void run_dequantize(const Operation& operation);
void run_lookup(const Operation& operation);
void run_add_or_mul(const Operation& operation);
void run_max_pool(const Operation& operation);
void run_average_pool(const Operation& operation);
void run_concat(const Operation& operation);
void run_layout(const Operation& operation);
void run_move(const Operation& operation);
void run_real_conv2d(const Operation& operation);
void run_real_matmul(const Operation& operation);
void run_map(const Operation& operation);
void run_reduce(const Operation& operation);
void run_softmax(const Operation& operation);
void run_normalize(const Operation& operation);
void run_real_max_pool(const Operation& operation);
void run_real_average_pool(const Operation& operation);
void run_resample(const Operation& operation);
void run_gather(const Operation& operation);
void run_join(const Operation& operation);

/// Calls `function` with a value of the C++ type of an 8-bit DType (int8_t or uint8_t).
template <typename Function>
void with_code_type(DType dtype, Function&& function) {
  if (dtype == DType::s8) {
    function(int8_t{});
  } else {
    function(uint8_t{});
  }
}

}  // namespace warpwright
