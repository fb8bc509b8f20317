// make_example: inputs and values that reach saturation, ties, wrap-around and extreme codes.
//
// Scales have random mantissas but stand in simple ratios to one another, so that quotients fall on ties and one
// rounding beside them: that is where a contracted, reordered or approximate step shows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "src/core/error.h"
#include "src/reference/example_real.h"
#include "src/reference/reference.h"

namespace warpwright {

namespace {

class ExampleMaker {
 public:
  ExampleMaker(const Workload& workload, uint64_t seed) : workload_(workload) {
    const std::string text = key(workload);
    uint64_t state = 14695981039346656037ULL ^ (seed * 0x9E3779B97F4A7C15ULL);
    for (const char c : text) state = (state ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
    random_.seed(state);
  }

  Example make() {
    if (workload_.is_real()) return make_real_example(workload_, random_);
    make_values();
    for (size_t i = 0; i < workload_.inputs.size(); ++i) {
      const TensorForm& form = workload_.inputs[i];
      example_.inputs.push_back(form.dtype == DType::f32 ? floats(form) : codes(form, input_zero_point(i)));
    }
    return std::move(example_);
  }

 private:
  int64_t uniform(int64_t lo, int64_t hi) { return random_.uniform(lo, hi); }
  float mantissa() { return random_.mantissa(); }
  float scale() { return std::ldexp(mantissa(), static_cast<int>(uniform(-8, -3))); }
  /// A float that is `ratio` times `of`, or one rounding beside it.
  float related(float of, float ratio) { return nudged(of * ratio); }
  float nudged(float value) {
    const int64_t step = uniform(-2, 2);
    if (step == -2) return std::nextafter(value, 0.0f);
    if (step == 2) return std::nextafter(value, std::numeric_limits<float>::max());
    return value;
  }

  void set_f32(const std::string& name, float value) { example_.values[name] = scalar_f32(value); }
  int32_t set_code(const std::string& name, DType dtype) {
    // The ends of the range turn up often, as they do in models.
    const int64_t pick = uniform(0, 7);
    int64_t code = uniform(code_min(dtype), code_max(dtype));
    if (pick == 0) code = code_min(dtype);
    if (pick == 1) code = code_max(dtype);
    example_.values[name] = scalar_s32(static_cast<int32_t>(code));
    return static_cast<int32_t>(code);
  }
  /// Zero points that leave room on both sides, so that outputs do not all saturate.
  int32_t set_middle_code(const std::string& name, DType dtype) {
    const int64_t quarter = 64;
    const int64_t code = uniform(code_min(dtype) + quarter / 2, code_max(dtype) - quarter);
    example_.values[name] = scalar_s32(static_cast<int32_t>(code));
    return static_cast<int32_t>(code);
  }
  void set_bounds(const std::string& lo_name, const std::string& hi_name, DType dtype, int32_t zero_point) {
    int32_t lo = code_min(dtype) - zero_point, hi = code_max(dtype) - zero_point;
    const int64_t pick = uniform(0, 3);  // 0: Relu, 1: a Clip to fewer codes, else the whole range
    if (pick == 0) lo = std::min(0, hi);
    if (pick == 1) {
      hi -= static_cast<int32_t>(uniform(0, (hi - lo) / 4));
      lo += static_cast<int32_t>(uniform(0, (hi - lo) / 4));
    }
    set_f32(lo_name, static_cast<float>(lo));
    set_f32(hi_name, static_cast<float>(hi));
  }
  void set_table() {
    Tensor table(DType::u8, {256});
    for (uint8_t& entry : table.as<uint8_t>()) entry = static_cast<uint8_t>(uniform(0, 255));
    example_.values["table"] = std::move(table);
  }

  void make_values();
  void make_product_values();
  void make_matmul_values();
  void make_weights();
  void make_channel_values();
  void make_requantization();
  void make_residual_values();
  void make_fill();

  int32_t input_zero_point(size_t index) const;
  Tensor codes(const TensorForm& form, int32_t zero_point);
  Tensor floats(const TensorForm& form);

  const Workload& workload_;
  ExampleRandom random_;
  Example example_;
};

void ExampleMaker::make_values() {
  const DType out = workload_.output.dtype;
  if (workload_.output.layout == Layout::nhwc) {
    if (is_code(out)) {
      set_code("pad_code", out);
    } else {
      example_.values["pad_code"] = scalar_s32(0);
    }
  }
  switch (workload_.kind) {
    case OpKind::conv2d:
    case OpKind::dense:
      return make_product_values();
    case OpKind::matmul:
      return make_matmul_values();
    case OpKind::quantize:
      set_f32("scale", scale());
      set_bounds("lo", "hi", out, set_middle_code("zero_point", out));
      return;
    case OpKind::dequantize:
      set_f32("scale", scale());
      set_code("zero_point", workload_.inputs[0].dtype);
      return;
    case OpKind::lookup:
      return set_table();
    case OpKind::add:
    case OpKind::mul: {
      const float a = scale(), b = workload_.kind == OpKind::add ? related(a, uniform(0, 1) ? 1.0f : 1.5f) : scale();
      set_f32("a_scale", a);
      set_f32("b_scale", b);
      set_f32("y_scale", workload_.kind == OpKind::add ? related(a, 2.0f) : related(a * b, uniform(0, 1) ? 64 : 6));
      set_middle_code("a_zero_point", workload_.inputs[0].dtype);
      set_middle_code("b_zero_point", workload_.inputs[1].dtype);
      set_bounds("lo", "hi", out, set_middle_code("y_zero_point", out));
      return;
    }
    case OpKind::average_pool: {
      const float x = scale();
      set_f32("x_scale", x);
      set_f32("y_scale", related(x, uniform(0, 1) ? 0.5f : 0.25f));
      set_middle_code("x_zero_point", workload_.inputs[0].dtype);
      set_bounds("lo", "hi", out, set_middle_code("y_zero_point", out));
      return;
    }
    case OpKind::move:
      return make_fill();
    case OpKind::max_pool:
    case OpKind::concat:
    case OpKind::layout:
      return;
    default:
      throw InternalError("a float32 kind has an example of its own");
  }
}

void ExampleMaker::make_product_values() {
  if (workload_.x_zero_point == ZeroPointForm::zero) {
    example_.values["x_zero_point"] = scalar_s32(0);
  } else {
    set_code("x_zero_point", workload_.inputs[0].dtype);
  }
  if (workload_.weight_zero_point != ZeroPointForm::zero) {
    const bool per_channel = workload_.weight_zero_point == ZeroPointForm::per_channel;
    Tensor zero_points(DType::s32, {per_channel ? workload_.output.c : 1});
    for (int32_t& zero_point : zero_points.as<int32_t>()) {
      zero_point = static_cast<int32_t>(uniform(code_min(workload_.weight_dtype), code_max(workload_.weight_dtype)));
    }
    example_.values["weight_zero_point"] = std::move(zero_points);
  }
  if (workload_.output.dtype != DType::s32) make_requantization();
  make_weights();
  make_channel_values();
}

void ExampleMaker::make_requantization() {
  const DType before_table = workload_.epilogue.table_input;
  const int32_t zero_point = set_middle_code("y_zero_point", before_table);
  if (workload_.epilogue.residual == ResidualForm::none) set_bounds("lo", "hi", before_table, zero_point);
  if (workload_.epilogue.residual != ResidualForm::none) {
    make_residual_values();
    set_bounds("sum_lo", "sum_hi", before_table, zero_point);
  }
  if (workload_.epilogue.table) set_table();
}

// The multiplier is a power of two half of the time: sums that it brings to ties come often then.
void ExampleMaker::make_matmul_values() {
  const auto zero_point = [&](const char* name, ZeroPointForm form, size_t input) {
    if (form == ZeroPointForm::zero) {
      example_.values[name] = scalar_s32(0);
    } else {
      set_code(name, workload_.inputs[input].dtype);
    }
  };
  zero_point("a_zero_point", workload_.x_zero_point, 0);
  zero_point("b_zero_point", workload_.weight_zero_point, 1);
  const DType out = workload_.output.dtype;
  if (out == DType::s32) return;
  const double spread = 74.0 * 74.0 * std::sqrt(static_cast<double>(workload_.reduction_size()));
  const float factor = static_cast<float>(80.0 / spread) * mantissa();
  set_f32("multiplier", uniform(0, 1) ? factor : std::exp2(std::round(std::log2(factor))));
  set_bounds("lo", "hi", out, set_middle_code("y_zero_point", out));
}

void ExampleMaker::make_fill() {
  if (!workload_.movement.fills()) return;
  const DType dtype = workload_.output.dtype;
  if (is_code(dtype)) {
    set_code("fill", dtype);
  } else if (dtype == DType::boolean) {
    example_.values["fill"] = scalar_s32(static_cast<int32_t>(uniform(0, 1)));
  } else if (dtype == DType::f32) {
    set_f32("fill", -mantissa());
  } else {
    example_.values["fill"] = scalar_s32(static_cast<int32_t>(random_.bits()));
  }
}

void ExampleMaker::make_residual_values() {
  const float conv = scale();
  set_f32("residual_scale", related(conv, uniform(0, 1) ? 1.0f : 0.5f));
  set_code("residual_zero_point", workload_.inputs[1].dtype);
  set_f32("y_scale", related(conv, uniform(0, 1) ? 2.0f : 1.0f));
  if (workload_.epilogue.residual == ResidualForm::rounded) {
    set_f32("conv_scale", conv);
    // What the convolution was rounded to has a type of its own, which the Workload does not know.
    set_bounds("lo", "hi", DType::s8, static_cast<int32_t>(uniform(-64, 64)));
  }
}

// Channel k % 8: 3 has one weight beside the zero point, so that its few values give ties; 5 is all extremes.
void ExampleMaker::make_weights() {
  const int64_t length = workload_.reduction_size();
  const DType dtype = workload_.weight_dtype;
  Tensor weights(dtype, {workload_.output.c, workload_.window.kernel_h, workload_.window.kernel_w,
                         workload_.inputs[0].c / workload_.groups});
  const auto bytes = weights.as<uint8_t>();
  for (int64_t k = 0; k < workload_.output.c; ++k) {
    int32_t zero_point = 0;
    if (workload_.weight_zero_point != ZeroPointForm::zero) {
      const auto zero_points = example_.values.at("weight_zero_point").as<int32_t>();
      zero_point = zero_points[workload_.weight_zero_point == ZeroPointForm::per_channel ? k : 0];
    }
    const auto row = bytes.subspan(k * length, length);
    if (k % 8 == 3) {
      std::ranges::fill(row, static_cast<uint8_t>(zero_point));
      const int32_t beside = zero_point < code_max(dtype) ? zero_point + 1 : zero_point - 1;
      row[uniform(0, length - 1)] = static_cast<uint8_t>(beside);
    } else if (k % 8 == 5) {
      std::ranges::fill(row, static_cast<uint8_t>(uniform(0, 1) ? code_min(dtype) : code_max(dtype)));
    } else {
      for (uint8_t& weight : row) weight = static_cast<uint8_t>(random_.bits() >> 56);
    }
  }
  example_.values["weights"] = std::move(weights);
}

// Bias and multiplier fit the weights: about one output in ten saturates; 7 wraps around int32.
void ExampleMaker::make_channel_values() {
  const int64_t channels = workload_.output.c;
  const bool unrounded = workload_.epilogue.residual == ResidualForm::unrounded;
  const float unit = unrounded ? example_.values.at("y_scale").as<float>()[0] : 1.0f;
  const double spread = 74.0 * 74.0 * std::sqrt(static_cast<double>(workload_.reduction_size()));
  Tensor bias(DType::s32, {channels}), multiplier(DType::f32, {channels});
  for (int64_t k = 0; k < channels; ++k) {
    int64_t offset = uniform(-static_cast<int64_t>(spread / 2), static_cast<int64_t>(spread / 2));
    float factor = static_cast<float>(80.0 / spread) * mantissa();
    if (k % 8 == 1) factor = std::exp2(std::round(std::log2(factor)));
    if (k % 8 == 3) {
      offset = uniform(-20, 20);
      factor = uniform(0, 1) ? 0.5f : nudged(0.25f);
    }
    if (k % 16 == 7 && workload_.epilogue.bias) {
      offset = std::numeric_limits<int32_t>::max() - uniform(0, static_cast<int64_t>(spread / 2));
      factor = std::ldexp(mantissa(), -25);
    }
    offset = std::clamp<int64_t>(offset, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    bias.as<int32_t>()[k] = static_cast<int32_t>(offset);
    multiplier.as<float>()[k] = factor * unit;
  }
  if (workload_.epilogue.bias) example_.values["bias"] = std::move(bias);
  if (workload_.output.dtype != DType::s32) example_.values["multiplier"] = std::move(multiplier);
}

int32_t ExampleMaker::input_zero_point(size_t index) const {
  const char* names[2] = {"x_zero_point", "residual_zero_point"};
  const bool has_a_and_b =
      workload_.kind == OpKind::add || workload_.kind == OpKind::mul || workload_.kind == OpKind::matmul;
  if (has_a_and_b) names[0] = "a_zero_point", names[1] = "b_zero_point";
  if (workload_.kind == OpKind::dequantize) names[0] = "zero_point";
  if (index > 1) return 0;
  const auto found = example_.values.find(names[index]);
  return found == example_.values.end() ? 0 : found->second.as<int32_t>()[0];
}

/// Every byte is random, pad lanes too: no result may depend on them. Of s32 as well.
Tensor ExampleMaker::codes(const TensorForm& form, int32_t zero_point) {
  Tensor tensor(form.dtype, {form.buffer_elements()});
  const DType code_type = is_code(form.dtype) ? form.dtype : DType::s8;
  const uint8_t extremes[4] = {static_cast<uint8_t>(code_min(code_type)), static_cast<uint8_t>(code_max(code_type)),
                               static_cast<uint8_t>(zero_point), static_cast<uint8_t>(zero_point + 1)};
  for (uint8_t& code : tensor.as<uint8_t>()) {
    const uint64_t bits = random_.bits();
    code = bits % 16 < 4 ? extremes[bits % 4] : static_cast<uint8_t>(bits >> 56);
    if (form.dtype == DType::boolean) code &= 1;
  }
  return tensor;
}

Tensor ExampleMaker::floats(const TensorForm& form) {
  Tensor tensor(form.dtype, {form.buffer_elements()});
  const float scale = workload_.kind == OpKind::quantize ? example_.values.at("scale").as<float>()[0] : 1.0f;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float rare[8] = {0.0f,
                         -0.0f,
                         kInfinity,
                         -kInfinity,
                         3e38f,
                         -3e38f,
                         std::numeric_limits<float>::denorm_min(),
                         std::numeric_limits<float>::quiet_NaN()};
  for (float& value : tensor.as<float>()) {
    const int64_t pick = uniform(0, 127);
    if (pick < 8) {
      value = rare[pick];
    } else if (pick < 64) {  // ties, and one rounding beside them
      value = nudged(static_cast<float>(uniform(-600, 600)) * 0.5f * scale);
    } else {
      value = static_cast<float>(uniform(-300 * (1 << 15), 300 * (1 << 15))) * (scale / (1 << 15));
    }
  }
  return tensor;
}

}  // namespace

Example make_example(const Workload& workload, uint64_t seed) {
  check(workload);
  Example example = ExampleMaker(workload, seed).make();
  check(workload, example.values);
  return example;
}

}  // namespace warpwright
