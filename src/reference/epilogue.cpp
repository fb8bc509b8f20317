// Epilogue: loops over a few channels of one pixel.
#include "src/reference/epilogue.h"

#include <algorithm>

#include "src/reference/rounding.h"
#include "src/reference/target_clones.h"
#include "src/reference/tensor_view.h"

namespace warpwright {

EpilogueStep::EpilogueStep(const Operation& operation) : operation_(operation), bias_(operation.workload.output.c, 0) {
  const Epilogue& epilogue = operation.workload.epilogue;
  if (epilogue.bias) {
    const auto bias = operation.values.at("bias").as<int32_t>();
    std::copy(bias.begin(), bias.end(), bias_.begin());
  }
  if (operation.workload.output.dtype == DType::s32) return;
  multiplier_ = operation.values.at("multiplier").as<float>().data();
  if (epilogue.residual != ResidualForm::unrounded) {
    constants_.lo = operation.f32("lo");
    constants_.hi = operation.f32("hi");
  }
  if (epilogue.residual == ResidualForm::rounded) constants_.conv_scale = operation.f32("conv_scale");
  if (epilogue.residual != ResidualForm::none) {
    constants_.residual_scale = operation.f32("residual_scale");
    constants_.residual_zero_point = operation.s32("residual_zero_point");
    constants_.y_scale = operation.f32("y_scale");
    constants_.sum_lo = operation.f32("sum_lo");
    constants_.sum_hi = operation.f32("sum_hi");
  }
  constants_.y_zero_point = operation.s32("y_zero_point");
  if (epilogue.table) table_ = operation.values.at("table").as<uint8_t>().data();
}

WW_TARGET_CLONES void EpilogueStep::requantize_plain(const Constants& constants, const int32_t* bias,
                                                     const float* multiplier, int64_t count,
                                                     const int32_t* accumulators, int32_t* codes) {
  const float lo = constants.lo, hi = constants.hi;
  const int32_t zero_point = constants.y_zero_point;
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = static_cast<float>(wrapping_add(accumulators[i], bias[i])) * multiplier[i];
    codes[i] = wrapping_add(round_to_int(clamp_float(scaled, lo, hi)), zero_point);
  }
}

WW_TARGET_CLONES void EpilogueStep::requantize_residual(const Constants& constants, bool rounded, const int32_t* bias,
                                                        const float* multiplier, const int32_t* residual, int64_t count,
                                                        const int32_t* accumulators, int32_t* codes) {
  const Constants c = constants;
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = static_cast<float>(wrapping_add(accumulators[i], bias[i])) * multiplier[i];
    const float conv = rounded ? std::nearbyint(clamp_float(scaled, c.lo, c.hi)) * c.conv_scale : scaled;
    const float other = static_cast<float>(residual[i] - c.residual_zero_point) * c.residual_scale;
    const float sum = conv + other;
    codes[i] = wrapping_add(round_to_int(clamp_float(sum / c.y_scale, c.sum_lo, c.sum_hi)), c.y_zero_point);
  }
}

void EpilogueStep::read_residual(int64_t n, int64_t p, int64_t q, int64_t first, int64_t count, int32_t* to) const {
  const TensorForm& form = operation_.workload.inputs[1];
  const TensorView view(form);
  const int64_t offset = view.at(n, p, q, first);
  with_code_type(form.dtype, [&](auto code) {
    const auto* from = operation_.inputs[1]->as<decltype(code)>().data() + offset;
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * view.stride_c];
  });
}

void EpilogueStep::store(int64_t offset, int64_t stride, int64_t count, const int32_t* codes) const {
  auto* to = operation_.output.as<uint8_t>().data() + offset;
  if (table_ != nullptr) {
    for (int64_t i = 0; i < count; ++i) to[i * stride] = table_[codes[i] & 255];
  } else if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(codes[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] = static_cast<uint8_t>(codes[i]);
  }
}

void EpilogueStep::write_accumulators(int64_t offset, int64_t stride, int64_t first, int64_t count,
                                      const int32_t* accumulators) const {
  int32_t* to = operation_.output.as<int32_t>().data() + offset;
  for (int64_t i = 0; i < count; ++i) to[i * stride] = wrapping_add(accumulators[i], bias_[first + i]);
}

void EpilogueStep::write(int64_t n, int64_t p, int64_t q, int64_t first, int64_t count,
                         const int32_t* accumulators) const {
  const TensorView view(operation_.workload.output);
  const ResidualForm residual_form = operation_.workload.epilogue.residual;
  if (operation_.workload.output.dtype == DType::s32) {
    return write_accumulators(view.at(n, p, q, first), view.stride_c, first, count, accumulators);
  }
  for (int64_t begin = 0; begin < count; begin += kBatch) {
    const int64_t part = std::min(kBatch, count - begin);
    const int64_t channel = first + begin;
    int32_t codes[kBatch];
    if (residual_form == ResidualForm::none) {
      requantize_plain(constants_, &bias_[channel], multiplier_ + channel, part, accumulators + begin, codes);
    } else {
      int32_t residual[kBatch];
      read_residual(n, p, q, channel, part, residual);
      requantize_residual(constants_, residual_form == ResidualForm::rounded, &bias_[channel], multiplier_ + channel,
                          residual, part, accumulators + begin, codes);
    }
    store(view.at(n, p, q, channel), view.stride_c, part, codes);
  }
}

}  // namespace warpwright
