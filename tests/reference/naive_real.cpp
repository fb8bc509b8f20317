// The naive implementation of the float32 kinds: one output element at a time, the formulas as they are written.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "src/reference/real_functions.h"
#include "tests/reference/naive.h"
#include "tests/reference/naive_numbers.h"

namespace warpwright::testing {

namespace {

class NaiveReal {
 public:
  NaiveReal(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs)
      : w_(workload),
        values_(values),
        inputs_(inputs),
        y_(workload.output.dtype, {workload.output.buffer_elements()}) {}

  Tensor run() {
    const TensorForm& form = w_.output;
    int64_t e = 0;
    for (int64_t n = 0; n < form.n; ++n)
      for (int64_t c = 0; c < form.c; ++c)
        for (int64_t h = 0; h < form.h; ++h)
          for (int64_t w = 0; w < form.w; ++w, ++e) element(e, n, c, h, w);
    return y_;
  }

 private:
  float value(const std::string& name, int64_t i) const { return values_.at(name).as<float>()[static_cast<size_t>(i)]; }
  int64_t index(const std::string& name, int64_t i) const {
    return values_.at(name).as<int32_t>()[static_cast<size_t>(i)];
  }
  float x(int64_t i) const { return inputs_[0]->as<float>()[static_cast<size_t>(i)]; }
  float x(int64_t n, int64_t c, int64_t h, int64_t w) const {
    const TensorForm& form = w_.inputs[0];
    return x(((n * form.c + c) * form.h + h) * form.w + w);
  }
  bool inside(int64_t h, int64_t w) const { return h >= 0 && h < w_.inputs[0].h && w >= 0 && w < w_.inputs[0].w; }

  void element(int64_t e, int64_t n, int64_t c, int64_t h, int64_t w) {
    switch (w_.kind) {
      case OpKind::real_conv2d:
        return store(y_, e, conv(n, c, h, w));
      case OpKind::real_matmul:
        return store(y_, e, matmul(n, c));
      case OpKind::map:
        return store(y_, e, map(e));
      case OpKind::reduce:
        return store(y_, e, reduce(e));
      case OpKind::softmax:
        return store(y_, e, softmax(e));
      case OpKind::normalize:
        return store(y_, e, normalize(e));
      case OpKind::real_max_pool:
      case OpKind::real_average_pool:
        return store(y_, e, pool(n, c, h, w));
      case OpKind::resample:
        return store(y_, e, resample(n, c, h, w));
      case OpKind::gather:
        return gather(e);
      case OpKind::join:
        return join(e);
      default:
        throw std::logic_error("kind");
    }
  }

  float conv(int64_t n, int64_t k, int64_t p, int64_t q) const {
    const Window& window = w_.window;
    const int64_t channels = w_.inputs[0].c / w_.groups, group = k / (w_.output.c / w_.groups);
    float sum = 0;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < window.kernel_h; ++i)
        for (int64_t j = 0; j < window.kernel_w; ++j) {
          const int64_t h = p * window.stride_h + i * window.dilation_h - window.pad_top;
          const int64_t w = q * window.stride_w + j * window.dilation_w - window.pad_left;
          const float weight = value("weights", ((k * channels + c) * window.kernel_h + i) * window.kernel_w + j);
          sum = std::fma(inside(h, w) ? x(n, group * channels + c, h, w) : 0.0F, weight, sum);
        }
    return w_.epilogue.bias ? sum + value("bias", k) : sum;
  }

  float matmul(int64_t row, int64_t column) const {
    const int64_t depth = w_.inputs[0].c, columns = w_.output.c, i = row / w_.matrix_rows();
    const Tensor& b = w_.inputs.size() == 2 ? *inputs_[1] : values_.at("weights");
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t at = w_.transposed ? (i * columns + column) * depth + k : (i * depth + k) * columns + column;
      sum = std::fma(x(row * depth + k), b.as<float>()[static_cast<size_t>(at)], sum);
    }
    return w_.epilogue.bias ? sum + value("bias", column) : sum;
  }

  Number map(int64_t e) const {
    const Map& map = w_.map;
    std::vector<Number> numbers;
    size_t input = 0, constant = 0;
    for (const MapOperand& operand : map.operands) {
      int64_t rest = e, offset = 0;
      for (size_t k = map.extents.size(); k-- > 0; rest /= map.extents[k])
        offset += rest % map.extents[k] * operand.steps[k];
      const Tensor& from = operand.constant ? values_.at("constant" + std::to_string(constant++)) : *inputs_[input++];
      numbers.push_back(number_at(from, offset));
    }
    for (const MapInstruction& instruction : map.instructions) {
      const auto argument = [&](size_t i) { return numbers[static_cast<size_t>(instruction.arguments.at(i))]; };
      if (instruction.op == MapOp::select) {
        numbers.push_back(std::get<bool>(argument(0)) ? argument(1) : argument(2));
      } else {
        numbers.push_back(computed(instruction.op, argument(0), argument(instruction.arguments.size() - 1)));
      }
    }
    return numbers.back();
  }

  /// Place of element `i` of the row that output element `e` of [outer, inner] belongs to.
  int64_t place(int64_t e, int64_t i) const {
    const Rows& rows = w_.rows;
    return (e / rows.inner * rows.length + i) * rows.inner + e % rows.inner;
  }
  /// Row of an element of [outer, length, inner].
  int64_t row_of(int64_t e) const { return e / (w_.rows.length * w_.rows.inner) * w_.rows.inner + e % w_.rows.inner; }

  template <typename T, typename Element, typename Take, typename Join>
  T by_lanes(T start, Element element, Take take, Join join) const {
    const int64_t lanes = w_.rows.inner == 1 ? 32 : 1;
    std::vector<T> part(static_cast<size_t>(lanes), start);
    for (int64_t l = 0; l < lanes; ++l)
      for (int64_t i = l; i < w_.rows.length; i += lanes) part[l] = take(part[l], element(i));
    for (int64_t d = lanes / 2; d > 0; d /= 2)
      for (int64_t l = 0; l < d; ++l) part[l] = join(part[l], part[l + d]);
    return part[0];
  }

  template <typename T, typename Element>
  Number reduced(ReductionOp op, Element element) const {
    constexpr bool kFloat = std::is_same_v<T, float>;
    const auto add = [](T a, T b) -> T {
      if constexpr (kFloat) return a + b;
      return std::get<T>(computed(MapOp::add, a, b));
    };
    const auto multiply = [](T a, T b) -> T {
      if constexpr (kFloat) return a * b;
      return std::get<T>(computed(MapOp::multiply, a, b));
    };
    switch (op) {
      case ReductionOp::sum:
        return by_lanes(T{0}, element, add, add);
      case ReductionOp::mean:
        return by_lanes(T{0}, element, add, add) / static_cast<T>(w_.rows.length);
      case ReductionOp::product:
        return by_lanes(T{1}, element, multiply, multiply);
      case ReductionOp::sum_square:
        if constexpr (kFloat)
          return by_lanes(
              T{0}, element, [](T a, T b) { return std::fma(b, b, a); }, add);
        return by_lanes(
            T{0}, element, [&](T a, T b) { return add(a, multiply(b, b)); }, add);
      case ReductionOp::sum_abs:
        return by_lanes(
            T{0}, element, [&](T a, T b) { return add(a, b < 0 || (b == 0 && kFloat) ? multiply(b, T(-1)) : b); }, add);
      default:
        break;
    }
    T best = element(0);
    for (int64_t i = 1; i < w_.rows.length; ++i) {
      const T other = element(i);
      const bool most = op == ReductionOp::max;
      if constexpr (kFloat) {
        best = most ? largest(best, other) : smallest(best, other);
      } else {
        best = most ? std::max(best, other) : std::min(best, other);
      }
    }
    return best;
  }

  template <typename T>
  Number reduce_as(int64_t e) const {
    const auto element = [&](int64_t i) { return inputs_[0]->as<T>()[static_cast<size_t>(place(e, i))]; };
    const bool most = w_.reduction == ReductionOp::arg_max;
    if (!most && w_.reduction != ReductionOp::arg_min) return reduced<T>(w_.reduction, element);
    // What stands before all others; then the first or last that is like it.
    const auto before = [&](T a, T b) {
      if (a != a || b != b) return a != a && b == b;
      return most ? a > b : a < b;
    };
    T best = element(0);
    for (int64_t i = 1; i < w_.rows.length; ++i) best = before(element(i), best) ? element(i) : best;
    int64_t found = -1;
    for (int64_t i = 0; i < w_.rows.length; ++i) {
      const bool like = element(i) == best || (best != best && element(i) != element(i));
      if (like && (found < 0 || w_.select_last)) found = i;
    }
    return found;
  }
  Number reduce(int64_t e) const {
    return w_.inputs[0].dtype == DType::f32 ? reduce_as<float>(e) : reduce_as<int32_t>(e);
  }

  float softmax(int64_t e) const {
    const int64_t row = row_of(e);
    const auto element = [&](int64_t i) { return x(place(row, i)); };
    const float most = std::get<float>(reduced<float>(ReductionOp::max, element));
    const auto powers = [&](int64_t i) { return real::exp(element(i) - most); };
    const float sum = std::get<float>(reduced<float>(ReductionOp::sum, powers));
    return w_.logarithm ? (x(e) - most) - real::log(sum) : real::exp(x(e) - most) / sum;
  }

  float normalize(int64_t e) const {
    const int64_t row = row_of(e), i = e % w_.rows.length;
    const auto element = [&](int64_t at) { return x(place(row, at)); };
    const float mean = w_.centered ? std::get<float>(reduced<float>(ReductionOp::mean, element)) : 0.0F;
    const auto difference = [&](int64_t at) { return element(at) - mean; };
    const float sum = std::get<float>(reduced<float>(ReductionOp::sum_square, difference));
    const float variance = sum / static_cast<float>(w_.rows.length) + value("epsilon", 0);
    const float d = (x(e) - mean) * (1 / std::sqrt(variance));
    return w_.epilogue.bias ? std::fma(d, value("scale", i), value("bias", i)) : d * value("scale", i);
  }

  float pool(int64_t n, int64_t c, int64_t p, int64_t q) const {
    const Window& window = w_.window;
    const TensorForm& form = w_.inputs[0];
    const bool average = w_.kind == OpKind::real_average_pool;
    float result = average ? 0.0F : -std::numeric_limits<float>::infinity();
    int64_t count = 0;
    for (int64_t i = 0; i < window.kernel_h; ++i)
      for (int64_t j = 0; j < window.kernel_w; ++j) {
        const int64_t h = p * window.stride_h + i * window.dilation_h - window.pad_top;
        const int64_t w = q * window.stride_w + j * window.dilation_w - window.pad_left;
        const bool padded = h < form.h + window.pad_bottom && w < form.w + window.pad_right;
        if (inside(h, w) || (w_.count_include_pad && padded)) ++count;
        if (inside(h, w)) result = average ? result + x(n, c, h, w) : largest(result, x(n, c, h, w));
      }
    return average ? result / static_cast<float>(std::max<int64_t>(1, count)) : result;
  }

  float resample(int64_t n, int64_t c, int64_t p, int64_t q) const {
    float sum = 0;
    for (int64_t i = 0; i < w_.h_taps; ++i) {
      float r = 0;
      for (int64_t j = 0; j < w_.w_taps; ++j) {
        const int64_t row = p * w_.h_taps + i, column = q * w_.w_taps + j;
        r = std::fma(value("w_weight", column), x(n, c, index("h_index", row), index("w_index", column)), r);
      }
      sum = std::fma(value("h_weight", p * w_.h_taps + i), r, sum);
    }
    return sum;
  }

  void gather(int64_t e) {
    const Rows& rows = w_.rows;
    const Tensor& indices = *inputs_.back();
    const int64_t i = e % rows.inner, j = e / rows.inner % indices.size(), o = e / rows.inner / indices.size();
    int64_t picked = std::get<int64_t>(computed(MapOp::to_s64, number_at(indices, j), {}));
    if (picked < 0) picked += rows.length;
    if (picked < 0 || picked >= rows.length) return;
    const Tensor& from = w_.inputs.size() == 2 ? *inputs_[0] : values_.at("table");
    store(y_, e, number_at(from, (o * rows.length + picked) * rows.inner + i));
  }

  void join(int64_t e) {
    const Rows& rows = w_.rows;
    const int64_t o = e / rows.inner / rows.length, i = e % rows.inner;
    int64_t at = e / rows.inner % rows.length;
    size_t part = 0;
    for (; at >= w_.lengths[part]; ++part) at -= w_.lengths[part];
    store(y_, e, number_at(*inputs_[part], (o * w_.lengths[part] + at) * rows.inner + i));
  }

  const Workload& w_;
  const Values& values_;
  std::span<const Tensor* const> inputs_;
  Tensor y_;
};

}  // namespace

Tensor run_naive_real(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs) {
  return NaiveReal(workload, values, inputs).run();
}

}  // namespace warpwright::testing
