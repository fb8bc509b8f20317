// Arithmetic on constants.
#include "src/import/constant_arithmetic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <variant>

#include "src/core/error.h"
#include "src/import/onnx_file.h"
#include "src/import/operators.h"

namespace warpwright {

namespace {

using Whole = std::vector<int64_t>;
using Real = std::vector<double>;
using Numbers = std::variant<Whole, Real>;

template <typename T, typename Wide>
std::vector<Wide> widened(const OnnxConstant& constant) {
  const auto values = elements<T>(constant);
  return {values.begin(), values.end()};
}

Numbers numbers(const OnnxConstant& constant) {
  switch (constant.type) {
    case kFloat32:
      return widened<float, double>(constant);
    case kFloat64:
      return elements<double>(constant);
    case kInt64:
      return elements<int64_t>(constant);
    case kInt32:
      return widened<int32_t, int64_t>(constant);
    case kInt8:
      return widened<int8_t, int64_t>(constant);
    case kUint8:
    case kBool:
      return widened<uint8_t, int64_t>(constant);
    default:
      throw UsageError(fmt::format("constant \"{}\" is {}, which is not computed with", constant.name,
                                   element_type_name(constant.type)));
  }
}

template <typename T, typename Wide>
OnnxConstant narrowed(int type, Shape shape, const std::vector<Wide>& values) {
  std::vector<T> narrow;
  narrow.reserve(values.size());
  for (const Wide value : values) narrow.push_back(static_cast<T>(value));
  return make_constant(type, std::move(shape), narrow);
}

OnnxConstant constant_of(int type, Shape shape, const Whole& values) {
  switch (type) {
    case kInt64:
      return make_constant(type, std::move(shape), values);
    case kInt32:
      return narrowed<int32_t>(type, std::move(shape), values);
    case kInt8:
      return narrowed<int8_t>(type, std::move(shape), values);
    default:
      return narrowed<uint8_t>(type, std::move(shape), values);
  }
}

OnnxConstant constant_of(int type, Shape shape, const Real& values) {
  if (type == kFloat64) return make_constant(type, std::move(shape), values);
  return narrowed<float>(type, std::move(shape), values);
}

// Integers: the product of unsigned numbers wraps, that of signed ones may not be formed.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }
int64_t add(int64_t a, int64_t b) { return wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t subtract(int64_t a, int64_t b) { return wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
int64_t multiply(int64_t a, int64_t b) { return wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

int64_t divide(int64_t a, int64_t b) {
  if (b == 0) throw UsageError("an integer is divided by 0");
  return b == -1 ? subtract(0, a) : a / b;
}

int64_t remainder_like_divisor(int64_t a, int64_t b) {
  if (b == 0) throw UsageError("an integer is divided by 0");
  const int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t remainder_like_dividend(int64_t a, int64_t b) {
  if (b == 0) throw UsageError("an integer is divided by 0");
  return b == -1 ? 0 : a % b;
}

double least(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); }
double most(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); }

/// An operator of two numbers; null where it does not take that kind.
struct BinaryOperator {
  int64_t (*whole)(int64_t, int64_t);
  double (*real)(double, double);
  bool gives_bool = false;
};

template <template <typename> typename Comparison>
BinaryOperator comparison() {
  return {[](int64_t a, int64_t b) { return int64_t{Comparison<int64_t>()(a, b)}; },
          [](double a, double b) { return Comparison<double>()(a, b) ? 1.0 : 0.0; }, true};
}

const std::map<std::string, BinaryOperator>& binary_operators() {
  static const std::map<std::string, BinaryOperator> kOperators{
      {"Add", {add, [](double a, double b) { return a + b; }}},
      {"Sub", {subtract, [](double a, double b) { return a - b; }}},
      {"Mul", {multiply, [](double a, double b) { return a * b; }}},
      {"Div", {divide, [](double a, double b) { return a / b; }}},
      {"Min", {[](int64_t a, int64_t b) { return std::min(a, b); }, least}},
      {"Max", {[](int64_t a, int64_t b) { return std::max(a, b); }, most}},
      {"Mod", {remainder_like_divisor, nullptr}},
      {"And", {[](int64_t a, int64_t b) { return a & b; }, nullptr, true}},
      {"Or", {[](int64_t a, int64_t b) { return a | b; }, nullptr, true}},
      {"Equal", comparison<std::equal_to>()},
      {"Less", comparison<std::less>()},
      {"LessOrEqual", comparison<std::less_equal>()},
      {"Greater", comparison<std::greater>()},
      {"GreaterOrEqual", comparison<std::greater_equal>()},
  };
  return kOperators;
}

struct UnaryOperator {
  int64_t (*whole)(int64_t);
  double (*real)(double);
};

const std::map<std::string, UnaryOperator>& unary_operators() {
  static const std::map<std::string, UnaryOperator> kOperators{
      {"Neg", {[](int64_t a) { return subtract(0, a); }, [](double a) { return -a; }}},
      {"Abs", {[](int64_t a) { return a < 0 ? subtract(0, a) : a; }, [](double a) { return std::fabs(a); }}},
      {"Sign", {[](int64_t a) { return int64_t{a > 0} - int64_t{a < 0}; }, nullptr}},
      {"Floor", {nullptr, [](double a) { return std::floor(a); }}},
      {"Ceil", {nullptr, [](double a) { return std::ceil(a); }}},
      {"Round", {nullptr, [](double a) { return std::nearbyint(a); }}},
      {"Sqrt", {nullptr, [](double a) { return std::sqrt(a); }}},
      {"Reciprocal", {nullptr, [](double a) { return 1.0 / a; }}},
      {"Not", {[](int64_t a) { return int64_t{a == 0}; }, nullptr}},
  };
  return kOperators;
}

Shape checked_shape(Shape shape) {
  if (element_count(shape) > kMostFoldedElements)
    throw UsageError(fmt::format("shape {} is too large", to_text(shape)));
  return shape;
}

[[noreturn]] void refuse_type(const OnnxConstant& constant) {
  throw UsageError(fmt::format("constant \"{}\" is {}, which the operator does not take here", constant.name,
                               element_type_name(constant.type)));
}

OnnxConstant binary(const BinaryOperator& op, const OnnxConstant& a, const OnnxConstant& b) {
  if (a.type != b.type) {
    throw UsageError(fmt::format("\"{}\" is {}, \"{}\" is {}", a.name, element_type_name(a.type), b.name,
                                 element_type_name(b.type)));
  }
  const Shape shape = checked_shape(broadcast(a.shape, b.shape));
  const auto from_a = broadcast_positions(a.shape, shape), from_b = broadcast_positions(b.shape, shape);
  const Numbers left = numbers(a), right = numbers(b);
  const int type = op.gives_bool ? kBool : a.type;
  if (const auto* x = std::get_if<Whole>(&left)) {
    if (!op.whole) refuse_type(a);
    Whole result;
    for (size_t i = 0; i < from_a.size(); ++i) {
      result.push_back(op.whole((*x)[from_a[i]], std::get<Whole>(right)[from_b[i]]));
    }
    return constant_of(type, shape, result);
  }
  if (!op.real) refuse_type(a);
  Real result;
  for (size_t i = 0; i < from_a.size(); ++i) {
    result.push_back(op.real(std::get<Real>(left)[from_a[i]], std::get<Real>(right)[from_b[i]]));
  }
  if (op.gives_bool) return constant_of(type, shape, Whole(result.begin(), result.end()));
  return constant_of(type, shape, result);
}

OnnxConstant unary(const UnaryOperator& op, const OnnxConstant& x) {
  Numbers values = numbers(x);
  if (auto* whole = std::get_if<Whole>(&values)) {
    if (!op.whole) refuse_type(x);
    std::transform(whole->begin(), whole->end(), whole->begin(), op.whole);
    return constant_of(x.type, x.shape, *whole);
  }
  if (!op.real) refuse_type(x);
  auto& real = std::get<Real>(values);
  std::transform(real.begin(), real.end(), real.begin(), op.real);
  return constant_of(x.type, x.shape, real);
}

template <typename Values, typename Operator>
Values reduced_values(const Values& x, const std::vector<size_t>& target, size_t count, Operator op) {
  Values result(count);
  std::vector<bool> begun(count, false);
  for (size_t i = 0; i < x.size(); ++i) {
    auto& sum = result[target[i]];
    sum = begun[target[i]] ? op(sum, x[i]) : x[i];
    begun[target[i]] = true;
  }
  return result;
}

}  // namespace

bool is_numeric(int type) {
  return type == kFloat32 || type == kFloat64 || type == kInt64 || type == kInt32 || type == kInt8 || type == kUint8 ||
         type == kBool;
}

bool is_elementwise_operator(const std::string& op_type) {
  return binary_operators().count(op_type) > 0 || unary_operators().count(op_type) > 0;
}

OnnxConstant elementwise(const std::string& op_type, Attributes& attributes,
                         const std::vector<const OnnxConstant*>& inputs) {
  if (const auto found = unary_operators().find(op_type); found != unary_operators().end()) {
    if (inputs.size() != 1) throw UsageError(fmt::format("{} inputs, 1 expected", inputs.size()));
    return unary(found->second, *inputs[0]);
  }
  BinaryOperator op = binary_operators().at(op_type);
  if (op_type == "Mod" && attributes.integer("fmod", 0) != 0) {
    op = {remainder_like_dividend, [](double a, double b) { return std::fmod(a, b); }};
  }
  const bool any_number = op_type == "Min" || op_type == "Max";
  if (inputs.empty() || (!any_number && inputs.size() != 2)) {
    throw UsageError(fmt::format("{} inputs, 2 expected", inputs.size()));
  }
  OnnxConstant result = *inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) result = binary(op, result, *inputs[i]);
  return result;
}

OnnxConstant reduced(const std::string& op_type, const OnnxConstant& x, const std::vector<bool>& over, bool keep) {
  Shape kept, shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (over[i] && x.shape[i] == 0) throw UsageError("a reduction over nothing is not supported");
    kept.push_back(over[i] ? 1 : x.shape[i]);
    if (keep || !over[i]) shape.push_back(kept.back());
  }
  const std::string op_name = op_type == "ReduceSum"    ? "Add"
                              : op_type == "ReduceProd" ? "Mul"
                              : op_type == "ReduceMin"  ? "Min"
                                                        : "Max";
  const BinaryOperator& op = binary_operators().at(op_name);
  const auto target = broadcast_positions(kept, x.shape);
  const auto count = static_cast<size_t>(element_count(kept));
  const Numbers values = numbers(x);
  if (const auto* whole = std::get_if<Whole>(&values)) {
    return constant_of(x.type, shape, reduced_values(*whole, target, count, op.whole));
  }
  return constant_of(x.type, shape, reduced_values(std::get<Real>(values), target, count, op.real));
}

OnnxConstant range(const OnnxConstant& start, const OnnxConstant& limit, const OnnxConstant& delta) {
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1 || start.type != limit.type ||
      start.type != delta.type) {
    throw UsageError("start, limit and delta must be one number each, of one type");
  }
  const Numbers first = numbers(start), end = numbers(limit), step = numbers(delta);
  const auto checked = [](double count) {
    if (!(count <= static_cast<double>(kMostFoldedElements))) throw UsageError("the range is too long");
    return std::max<int64_t>(0, static_cast<int64_t>(count));
  };
  if (const auto* whole = std::get_if<Whole>(&first)) {
    const int64_t from = (*whole)[0], to = std::get<Whole>(end)[0], by = std::get<Whole>(step)[0];
    if (by == 0) throw UsageError("delta is 0");
    const int64_t count =
        checked(std::ceil((static_cast<double>(to) - static_cast<double>(from)) / static_cast<double>(by)));
    Whole values;
    for (int64_t i = 0; i < count; ++i) values.push_back(add(from, multiply(i, by)));
    return constant_of(start.type, {count}, values);
  }
  const double from = std::get<Real>(first)[0], to = std::get<Real>(end)[0], by = std::get<Real>(step)[0];
  if (by == 0 || !std::isfinite(from) || !std::isfinite(to) || !std::isfinite(by)) {
    throw UsageError(fmt::format("a range from {} to {} by {}", from, to, by));
  }
  const int64_t count = checked(std::ceil((to - from) / by));
  Real values;
  for (int64_t i = 0; i < count; ++i) values.push_back(from + static_cast<double>(i) * by);
  return constant_of(start.type, {count}, values);
}

OnnxConstant where(const OnnxConstant& condition, const OnnxConstant& a, const OnnxConstant& b) {
  if (condition.type != kBool || a.type != b.type) {
    throw UsageError(fmt::format("{} chooses between {} and {}", element_type_name(condition.type),
                                 element_type_name(a.type), element_type_name(b.type)));
  }
  const Shape shape = checked_shape(broadcast(condition.shape, broadcast(a.shape, b.shape)));
  const auto from_condition = broadcast_positions(condition.shape, shape);
  const auto from_a = broadcast_positions(a.shape, shape), from_b = broadcast_positions(b.shape, shape);
  const size_t width = element_bytes(a.type);
  std::string bytes;
  for (size_t i = 0; i < from_a.size(); ++i) {
    const bool first = condition.bytes()[from_condition[i]] != 0;
    bytes.append(first ? a.bytes() : b.bytes(), (first ? from_a[i] : from_b[i]) * width, width);
  }
  return {"", a.type, shape, std::move(bytes)};
}

std::vector<size_t> broadcast_positions(const Shape& from, const Shape& to) {
  std::vector<size_t> positions{0};
  size_t step = element_count(from) == 0 ? 0 : static_cast<size_t>(element_count(from));
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t fresh = to.size() - from.size();
    const bool repeats = i < fresh || from[i - fresh] == 1;
    if (!repeats && from[i - fresh] != 0) step /= static_cast<size_t>(from[i - fresh]);
    std::vector<size_t> next;
    next.reserve(positions.size() * static_cast<size_t>(to[i]));
    for (const size_t position : positions) {
      for (int64_t k = 0; k < to[i]; ++k) next.push_back(repeats ? position : position + static_cast<size_t>(k) * step);
    }
    positions = std::move(next);
  }
  return positions;
}

}  // namespace warpwright
