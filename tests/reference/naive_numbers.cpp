// Operations on numbers: integers in 128 bits, then wrapped; floats by the library, but for the functions of
// src/core/real_functions.h.
#include "tests/reference/naive_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "src/reference/real_functions.h"

namespace warpwright::testing {

Number number_at(const Tensor& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  switch (tensor.dtype) {
    case DType::f32:
      return tensor.as<float>()[i];
    case DType::s32:
      return tensor.as<int32_t>()[i];
    case DType::s64:
      return tensor.as<int64_t>()[i];
    case DType::boolean:
      return tensor.as<uint8_t>()[i] != 0;
    case DType::s8:
      return tensor.as<int8_t>()[i];
    case DType::u8:
      return tensor.as<uint8_t>()[i];
    case DType::f16:
      return tensor.as<uint16_t>()[i];
  }
  throw std::logic_error("type");
}

void store(Tensor& tensor, int64_t index, const Number& number) {
  std::visit([&](auto value) { tensor.as<decltype(value)>()[static_cast<size_t>(index)] = value; }, number);
}

float largest(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  if (a == 0 && b == 0) return std::signbit(a) && std::signbit(b) ? -0.0F : 0.0F;
  return std::fmax(a, b);
}
float smallest(float a, float b) { return -largest(-a, -b); }

namespace {

float of_floats(MapOp op, float a, float b) {
  switch (op) {
    case MapOp::negate:
      return -a;
    case MapOp::absolute:
      return std::fabs(a);
    case MapOp::sign:
      return std::isnan(a) ? a : static_cast<float>((a > 0) - (a < 0));
    case MapOp::floor:
      return std::floor(a);
    case MapOp::ceil:
      return std::ceil(a);
    case MapOp::round:
      return std::nearbyint(a);
    case MapOp::square_root:
      return std::sqrt(a);
    case MapOp::reciprocal:
      return 1 / a;
    case MapOp::exponential:
      return real::exp(a);
    case MapOp::logarithm:
      return real::log(a);
    case MapOp::error_function:
      return real::error_function(a);
    case MapOp::tanh:
      return real::tanh(a);
    case MapOp::sine:
      return real::sine(a);
    case MapOp::cosine:
      return real::cosine(a);
    case MapOp::add:
      return a + b;
    case MapOp::subtract:
      return a - b;
    case MapOp::multiply:
      return a * b;
    case MapOp::divide:
      return a / b;
    case MapOp::minimum:
      return smallest(a, b);
    case MapOp::maximum:
      return largest(a, b);
    case MapOp::remainder:
      return std::fmod(a, b);
    case MapOp::power:
      return real::power(a, b);
    default:
      throw std::logic_error("operation");
  }
}

/// In 128 bits, then wrapped.
template <typename T>
T of_integers(MapOp op, __int128 a, __int128 b) {
  const auto wrapped = [](__int128 value) { return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value)); };
  switch (op) {
    case MapOp::negate:
      return wrapped(-a);
    case MapOp::absolute:
      return wrapped(a < 0 ? -a : a);
    case MapOp::sign:
      return wrapped((a > 0) - (a < 0));
    case MapOp::add:
      return wrapped(a + b);
    case MapOp::subtract:
      return wrapped(a - b);
    case MapOp::multiply:
      return wrapped(a * b);
    case MapOp::divide:
      return wrapped(b == 0 ? 0 : a / b);
    case MapOp::minimum:
      return wrapped(a < b ? a : b);
    case MapOp::maximum:
      return wrapped(a < b ? b : a);
    case MapOp::remainder:
      return wrapped(b == 0 ? 0 : a % b);
    case MapOp::modulo:
      return wrapped(b == 0 ? 0 : (a % b + b) % b);
    default:
      throw std::logic_error("operation");
  }
}

template <typename T>
Number of_numbers(MapOp op, T a, T b) {
  if (op == MapOp::equal) return a == b;
  if (op == MapOp::less) return a < b;
  if (op == MapOp::less_equal) return a <= b;
  if (op == MapOp::logical_not) return a == T{0};
  if constexpr (std::is_same_v<T, float>) {
    if (op == MapOp::is_nan) return std::isnan(a);
    return of_floats(op, a, b);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (op == MapOp::logical_and) return a && b;
    if (op == MapOp::logical_or) return a || b;
    return a != b;
  } else if constexpr (sizeof(T) > 1) {
    return of_integers<T>(op, a, b);
  } else {
    throw std::logic_error("operation");
  }
}

template <typename To>
To integer_of(const Number& number) {
  return std::visit(
      [](auto value) -> To {
        if constexpr (std::is_same_v<decltype(value), float>) {
          if (std::isnan(value)) return 0;
          const auto wide = static_cast<long double>(value);
          if (wide <= static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
          if (wide >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
        }
        return static_cast<To>(value);
      },
      number);
}

/// By the definition of binary16: 10 bits behind the first one, exponents from -14 to 15.
float real_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return static_cast<float>(half >> 15 != 0 ? -value : value);
}

uint16_t half_of_real(float real) {
  if (std::isnan(real)) return 0x7fff;
  const int sign = std::signbit(real) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(real));
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
  const int exponent = magnitude == 0 ? -14 : std::max(-14, std::ilogb(magnitude));
  const int steps =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // a carry reaches the exponent
  return static_cast<uint16_t>(sign + ((exponent + 14) << 10) + steps);
}

Number convert(MapOp op, const Number& number) {
  if (const auto* half = std::get_if<uint16_t>(&number)) return real_of_half(*half);
  switch (op) {
    case MapOp::to_f16:
      return half_of_real(std::get<float>(number));
    case MapOp::to_f32:
      return std::visit([](auto value) { return static_cast<float>(value); }, number);
    case MapOp::to_s32:
      return integer_of<int32_t>(number);
    case MapOp::to_s64:
      return integer_of<int64_t>(number);
    case MapOp::to_boolean:
      return std::visit([](auto value) { return value != 0; }, number);
    case MapOp::to_s8:
      return static_cast<int8_t>(std::min(127, std::max(-128, std::get<int32_t>(number))));
    default:
      return static_cast<uint8_t>(std::min(255, std::max(0, std::get<int32_t>(number))));
  }
}

}  // namespace

Number computed(MapOp op, const Number& a, const Number& b) {
  if (op >= MapOp::to_f32) return convert(op, a);
  return std::visit([&](auto value) { return of_numbers(op, value, std::get<decltype(value)>(b)); }, a);
}

}  // namespace warpwright::testing
