// The naive implementation: plain formulas, no blocking, no tables, no threads.
#include "tests/reference/naive.h"

#include <cfenv>
#include <cmath>
#include <stdexcept>

namespace warpwright::testing {

namespace {

struct Position {
  int64_t n, h, w, c;
};

int64_t lane(const TensorForm& form, Position at) {
  if (form.layout == Layout::nchw) return ((at.n * form.c + at.c) * form.h + at.h) * form.w + at.w;
  return ((at.n * form.h + at.h) * form.w + at.w) * form.pixel_stride + form.channel_offset + at.c;
}

int64_t code_at(const Tensor& tensor, int64_t index) {
  const auto byte = static_cast<uint8_t>(tensor.bytes[index]);
  return tensor.dtype == DType::s8 ? static_cast<int8_t>(byte) : byte;
}

class Naive {
 public:
  Naive(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs)
      : w_(workload),
        values_(values),
        inputs_(inputs),
        y_(workload.output.dtype, {workload.output.buffer_elements()}) {}

  Tensor run() {
    if (values_.contains("pad_code")) {
      for (std::byte& byte : y_.bytes) byte = static_cast<std::byte>(s32("pad_code"));  // 0 for s32
    }
    const TensorForm& form = w_.output;
    for (int64_t n = 0; n < form.n; ++n)
      for (int64_t h = 0; h < form.h; ++h)
        for (int64_t w = 0; w < form.w; ++w)
          for (int64_t c = 0; c < form.c; ++c) element({n, h, w, c});
    return y_;
  }

 private:
  float f32(const std::string& name, int64_t i = 0) const { return values_.at(name).as<float>()[i]; }
  int32_t s32(const std::string& name, int64_t i = 0) const { return values_.at(name).as<int32_t>()[i]; }
  int64_t x(int input, Position at) const { return code_at(*inputs_[input], lane(w_.inputs[input], at)); }
  void store(Position at, int64_t code) { y_.bytes[lane(w_.output, at)] = static_cast<std::byte>(code & 255); }
  static int64_t rne(float v, float lo, float hi) { return std::lrint(std::fmin(std::fmax(v, lo), hi)); }
  static int32_t wrap(int64_t v) { return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(v))); }

  void element(Position at) {
    switch (w_.kind) {
      case OpKind::conv2d:
      case OpKind::dense:
        return product(at);
      case OpKind::matmul:
        return matmul(at);
      case OpKind::quantize: {
        const volatile float q = inputs_[0]->as<float>()[lane(w_.inputs[0], at)] / f32("scale");
        return store(at, rne(q, f32("lo"), f32("hi")) + s32("zero_point"));
      }
      case OpKind::dequantize:
        y_.as<float>()[lane(w_.output, at)] = static_cast<float>(x(0, at) - s32("zero_point")) * f32("scale");
        return;
      case OpKind::lookup:
        return store(at, values_.at("table").as<uint8_t>()[x(0, at) & 255]);
      case OpKind::add:
      case OpKind::mul:
        return store(at, broadcast(at));
      case OpKind::max_pool:
      case OpKind::average_pool:
        return store(at, pool(at));
      case OpKind::concat:
        return store(at, part(at));
      case OpKind::layout:
        return move(at);
      case OpKind::move:
        return gather(at);
      default:
        throw std::logic_error("kind");
    }
  }

  void store_sum(Position at, int32_t sum) { y_.as<int32_t>()[lane(w_.output, at)] = sum; }

  void product(Position at) {
    const TensorForm& form = w_.inputs[0];
    const Window& window = w_.window;
    const int64_t inputs = form.c / w_.groups, outputs = w_.output.c / w_.groups;
    int64_t sum = 0, index = at.c * window.kernel_h * window.kernel_w * inputs;
    int64_t weight_zero = 0;
    if (w_.weight_zero_point == ZeroPointForm::scalar) weight_zero = s32("weight_zero_point");
    if (w_.weight_zero_point == ZeroPointForm::per_channel) weight_zero = s32("weight_zero_point", at.c);
    for (int64_t r = 0; r < window.kernel_h; ++r)
      for (int64_t s = 0; s < window.kernel_w; ++s)
        for (int64_t c = 0; c < inputs; ++c, ++index) {
          const int64_t h = at.h * window.stride_h + r * window.dilation_h - window.pad_top;
          const int64_t w = at.w * window.stride_w + s * window.dilation_w - window.pad_left;
          if (h < 0 || w < 0 || h >= form.h || w >= form.w) continue;
          const int64_t value = x(0, {at.n, h, w, at.c / outputs * inputs + c});
          sum += (value - s32("x_zero_point")) * (code_at(values_.at("weights"), index) - weight_zero);
        }
    if (w_.epilogue.bias) sum += s32("bias", at.c);
    if (w_.output.dtype == DType::s32) return store_sum(at, wrap(sum));
    store(at, epilogue(at, wrap(sum)));
  }

  void matmul(Position at) {
    const int64_t rows = w_.output.n / w_.batch, depth = w_.inputs[0].c, item = at.n / rows;
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const Position from =
          w_.transposed ? Position{item * w_.output.c + at.c, 0, 0, k} : Position{item * depth + k, 0, 0, at.c};
      sum += (x(0, {at.n, 0, 0, k}) - s32("a_zero_point")) * (x(1, from) - s32("b_zero_point"));
    }
    if (w_.output.dtype == DType::s32) return store_sum(at, wrap(sum));
    const volatile float scaled = static_cast<float>(wrap(sum)) * f32("multiplier");
    store(at, rne(scaled, f32("lo"), f32("hi")) + s32("y_zero_point"));
  }

  int64_t epilogue(Position at, int32_t sum) const {
    const volatile float scaled = static_cast<float>(sum) * f32("multiplier", at.c);
    int64_t code;
    if (w_.epilogue.residual == ResidualForm::none) {
      code = rne(scaled, f32("lo"), f32("hi"));
    } else {
      volatile float conv = scaled;
      if (w_.epilogue.residual == ResidualForm::rounded) {
        conv = static_cast<float>(rne(scaled, f32("lo"), f32("hi"))) * f32("conv_scale");
      }
      const volatile float other = static_cast<float>(x(1, at) - s32("residual_zero_point")) * f32("residual_scale");
      const volatile float v = conv + other;
      const volatile float quotient = v / f32("y_scale");
      code = rne(quotient, f32("sum_lo"), f32("sum_hi"));
    }
    code += s32("y_zero_point");
    return w_.epilogue.table ? values_.at("table").as<uint8_t>()[code & 255] : code;
  }

  int64_t broadcast(Position at) const {
    auto value = [&](int input, const std::string& prefix) {
      const TensorForm& form = w_.inputs[input];
      const Position from{at.n % form.n, at.h % form.h, at.w % form.w, at.c % form.c};
      return static_cast<float>(x(input, from) - s32(prefix + "_zero_point")) * f32(prefix + "_scale");
    };
    const volatile float a = value(0, "a"), b = value(1, "b");
    const volatile float v = w_.kind == OpKind::add ? a + b : a * b;
    const volatile float quotient = v / f32("y_scale");
    return rne(quotient, f32("lo"), f32("hi")) + s32("y_zero_point");
  }

  int64_t pool(Position at) const {
    const TensorForm& form = w_.inputs[0];
    const Window& window = w_.window;
    int64_t largest = code_min(form.dtype), sum = 0, inside = 0, padded = 0;
    for (int64_t r = 0; r < window.kernel_h; ++r)
      for (int64_t s = 0; s < window.kernel_w; ++s) {
        const int64_t h = at.h * window.stride_h + r * window.dilation_h - window.pad_top;
        const int64_t w = at.w * window.stride_w + s * window.dilation_w - window.pad_left;
        if (h < form.h + window.pad_bottom && w < form.w + window.pad_right) ++padded;
        if (h < 0 || w < 0 || h >= form.h || w >= form.w) continue;
        ++inside;
        const int64_t code = x(0, {at.n, h, w, at.c});
        largest = std::max(largest, code);
        if (w_.kind == OpKind::average_pool) sum += code - s32("x_zero_point");
      }
    if (w_.kind == OpKind::max_pool) return largest;
    const volatile float divisor = f32("y_scale") * static_cast<float>(w_.count_include_pad ? padded : inside);
    const volatile float multiplier = f32("x_scale") / divisor;
    const volatile float scaled = static_cast<float>(sum) * multiplier;
    return rne(scaled, f32("lo"), f32("hi")) + s32("y_zero_point");
  }

  int64_t part(Position at) const {
    int input = 0;
    for (; at.c >= w_.inputs[input].c; ++input) at.c -= w_.inputs[input].c;
    return x(input, at);
  }

  void move(Position at) {
    const TensorForm& y = w_.output;
    const TensorForm& form = w_.inputs[0];
    const int64_t linear = ((at.n * y.c + at.c) * y.h + at.h) * y.w + at.w;
    const Position from{linear / (form.c * form.h * form.w), linear / form.w % form.h, linear % form.w,
                        linear / (form.h * form.w) % form.c};
    if (y.dtype == DType::s32) return store_sum(at, inputs_[0]->as<int32_t>()[lane(form, from)]);
    store(at, x(0, from));
  }

  void gather(Position at) {
    const TensorForm& y = w_.output;
    const TensorForm& form = w_.inputs[0];
    int64_t rest = ((at.n * y.c + at.c) * y.h + at.h) * y.w + at.w, inner = y.pixels() * y.c,
            source = w_.movement.start;
    bool exists = true;
    for (const MovementAxis& axis : w_.movement.axes) {
      inner /= axis.extent;
      const int64_t index = rest / inner;
      rest %= inner;
      if (index < axis.first || index >= axis.last) exists = false;
      source += index * axis.step;
    }
    const int64_t to = lane(y, at);
    int64_t from = 0;
    if (exists) {
      const int64_t plane = form.h * form.w;
      from =
          lane(form, {source / (form.c * plane), source / form.w % form.h, source % form.w, source / plane % form.c});
    }
    if (is_code(y.dtype) || y.dtype == DType::boolean)
      return store(at, exists ? code_at(*inputs_[0], from) : s32("fill"));
    if (y.dtype == DType::f32) {
      y_.as<float>()[to] = exists ? inputs_[0]->as<float>()[from] : f32("fill");
    } else if (y.dtype == DType::s64) {
      y_.as<int64_t>()[to] = exists ? inputs_[0]->as<int64_t>()[from] : s32("fill");
    } else {
      y_.as<int32_t>()[to] = exists ? inputs_[0]->as<int32_t>()[from] : s32("fill");
    }
  }

  const Workload& w_;
  const Values& values_;
  std::span<const Tensor* const> inputs_;
  Tensor y_;
};

}  // namespace

Tensor run_naive(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs) {
  if (workload.is_real()) return run_naive_real(workload, values, inputs);
  return Naive(workload, values, inputs).run();
}

}  // namespace warpwright::testing
