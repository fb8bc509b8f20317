// Examples of the float32 kinds: numbers of many magnitudes whose sums round at every step, so that another order or a
// contracted step shows; a few NaN, infinities, subnormals and zeros of both signs; indices out of range.
#include "src/reference/example_real.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "src/core/half.h"

namespace warpwright {

namespace {

class RealExample {
 public:
  RealExample(const Workload& workload, ExampleRandom& random) : workload_(workload), random_(random) {}

  Example make() {
    make_values();
    for (size_t i = 0; i < workload_.inputs.size(); ++i) {
      const TensorForm& form = workload_.inputs[i];
      const bool is_index = workload_.kind == OpKind::gather && i + 1 == workload_.inputs.size();
      Tensor input = is_index ? indices(form) : numbers(form.dtype, form.buffer_elements());
      if (form.dtype == DType::f32) spoil(input);
      example_.inputs.push_back(std::move(input));
    }
    return std::move(example_);
  }

 private:
  bool is_product() const { return workload_.kind == OpKind::real_conv2d || workload_.kind == OpKind::real_matmul; }

  float number(int least_exponent, int most_exponent) {
    const float value =
        std::ldexp(random_.mantissa(), static_cast<int>(random_.uniform(least_exponent, most_exponent)));
    return random_.bits() % 2 == 0 ? value : -value;
  }

  Tensor numbers(DType dtype, int64_t count);
  Tensor indices(const TensorForm& form);
  void spoil(Tensor& tensor);
  void make_values();
  void make_resample_values(int64_t places, int64_t extent, int64_t taps, const std::string& prefix);
  void set(const std::string& name, int64_t count) { example_.values[name] = numbers(DType::f32, count); }

  const Workload& workload_;
  ExampleRandom& random_;
  Example example_;
};

/// Floats: integers and halves, so that rounding meets ties; numbers around 1; numbers of every magnitude.
Tensor RealExample::numbers(DType dtype, int64_t count) {
  Tensor tensor(dtype, {count});
  switch (dtype) {
    case DType::f32:
      for (float& value : tensor.as<float>()) {
        const uint64_t pick = random_.bits() % 8;
        value = pick == 0   ? static_cast<float>(random_.uniform(-64, 64)) * 0.5F
                : pick == 1 ? number(-20, 10)
                            : number(-4, 2);
      }
      break;
    case DType::s32:
      for (int32_t& value : tensor.as<int32_t>()) {
        value = static_cast<int32_t>(random_.bits() % 2 == 0 ? random_.uniform(-300, 300) : random_.bits());
      }
      break;
    case DType::s64:
      for (int64_t& value : tensor.as<int64_t>()) {
        value = random_.bits() % 2 == 0 ? random_.uniform(-300, 300) : static_cast<int64_t>(random_.bits());
      }
      break;
    case DType::f16:
      for (uint16_t& value : tensor.as<uint16_t>()) {
        value = random_.bits() % 2 == 0 ? to_half(number(-4, 2)) : static_cast<uint16_t>(random_.bits() >> 48);
      }
      break;
    case DType::boolean:
      for (uint8_t& value : tensor.as<uint8_t>()) value = static_cast<uint8_t>(random_.bits() % 2);
      break;
    case DType::s8:
    case DType::u8:
      for (uint8_t& value : tensor.as<uint8_t>()) value = static_cast<uint8_t>(random_.bits() >> 56);
      break;
  }
  return tensor;
}

/// Rare numbers at some places. One NaN reaches every sum that meets it, so the rarer the longer the sums are; half of
/// all examples of such kinds have none.
void RealExample::spoil(Tensor& tensor) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float rare[] = {0.0F,
                        -0.0F,
                        kInfinity,
                        -kInfinity,
                        std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::lowest(),
                        std::numeric_limits<float>::denorm_min(),
                        -0x1.8p-130F,
                        0x1p-126F};
  const auto values = tensor.as<float>();
  const bool sums = is_product() || workload_.kind == OpKind::softmax || workload_.kind == OpKind::normalize ||
                    workload_.kind == OpKind::reduce;
  if (sums && random_.bits() % 2 == 0) return;
  const int64_t length = is_product() ? workload_.reduction_size() : sums ? workload_.rows.length : 1;
  const int64_t count = std::max<int64_t>(1, tensor.size() / (16 * std::max<int64_t>(length, 1)));
  for (int64_t i = 0; i < count; ++i) {
    float& value = values[static_cast<size_t>(random_.uniform(0, tensor.size() - 1))];
    value = random_.bits() % 4 == 0 ? std::bit_cast<float>(static_cast<uint32_t>(random_.bits()))
                                    : rare[random_.bits() % std::size(rare)];
  }
}

Tensor RealExample::indices(const TensorForm& form) {
  Tensor tensor(form.dtype, {form.buffer_elements()});
  const int64_t length = workload_.rows.length;
  const int64_t outside[] = {length, -length - 1, std::numeric_limits<int32_t>::max(),
                             std::numeric_limits<int32_t>::min()};
  for (size_t i = 0; i < static_cast<size_t>(tensor.size()); ++i) {
    int64_t index = random_.uniform(-length, length - 1);
    if (random_.bits() % 16 == 0) index = outside[random_.bits() % std::size(outside)];
    if (form.dtype == DType::s64) {
      if (random_.bits() % 64 == 0) index = static_cast<int64_t>(random_.bits());
      tensor.as<int64_t>()[i] = index;
    } else {
      tensor.as<int32_t>()[i] = static_cast<int32_t>(index);
    }
  }
  return tensor;
}

/// Neighbours, as a linear or cubic filter has them, at places in any order.
void RealExample::make_resample_values(int64_t places, int64_t extent, int64_t taps, const std::string& prefix) {
  Tensor index(DType::s32, {places * taps}), weight(DType::f32, {places * taps});
  for (int64_t place = 0; place < places; ++place) {
    const int64_t first = random_.uniform(-1, extent - 1);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const auto at = static_cast<size_t>(place * taps + tap);
      index.as<int32_t>()[at] = static_cast<int32_t>(std::clamp<int64_t>(first + tap, 0, extent - 1));
      weight.as<float>()[at] = number(-6, -1);
    }
  }
  example_.values[prefix + "_index"] = std::move(index);
  example_.values[prefix + "_weight"] = std::move(weight);
}

void RealExample::make_values() {
  const TensorForm &x = workload_.inputs[0], &y = workload_.output;
  const Rows& rows = workload_.rows;
  size_t constant = 0;
  switch (workload_.kind) {
    case OpKind::real_conv2d:
      set("weights", y.c * workload_.reduction_size());
      if (workload_.epilogue.bias) set("bias", y.c);
      return;
    case OpKind::real_matmul:
      if (workload_.inputs.size() == 1) set("weights", workload_.batch * x.c * y.c);
      if (workload_.epilogue.bias) set("bias", y.c);
      return;
    case OpKind::map:
      for (const MapOperand& operand : workload_.map.operands) {
        if (!operand.constant) continue;
        example_.values[fmt::format("constant{}", constant++)] = numbers(operand.dtype, span(workload_.map, operand));
      }
      return;
    case OpKind::normalize:
      example_.values["epsilon"] = scalar_f32(std::ldexp(random_.mantissa(), -17));
      set("scale", rows.length);
      if (workload_.epilogue.bias) set("bias", rows.length);
      return;
    case OpKind::resample:
      make_resample_values(y.h, x.h, workload_.h_taps, "h");
      make_resample_values(y.w, x.w, workload_.w_taps, "w");
      return;
    case OpKind::gather:
      if (workload_.inputs.size() == 1) example_.values["table"] = numbers(y.dtype, rows.elements());
      return;
    default:
      return;
  }
}

}  // namespace

Example make_real_example(const Workload& workload, ExampleRandom& random) {
  return RealExample(workload, random).make();
}

}  // namespace warpwright
