// map: a block of elements at a time, one loop an instruction.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "src/core/error.h"
#include "src/core/half.h"
#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/real_functions.h"
#include "src/reference/target_clones.h"

namespace warpwright {

namespace {

constexpr int64_t kBlock = 1024;

/// One value of the block, of any type.
struct alignas(64) Lanes {
  std::byte bytes[kBlock * 8];
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes);
  }
};

/// y = function(x), always inline: the loop takes the instructions of the function that it stands in.
template <float (*kFunction)(float)>
[[gnu::always_inline]] inline void apply(const float* __restrict x, float* __restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = kFunction(x[i]);
}

WW_FMA_CLONES void apply_real(MapOp op, const float* x, float* y, int64_t count) {
  switch (op) {
    case MapOp::floor:
      return apply<std::floor>(x, y, count);
    case MapOp::ceil:
      return apply<std::ceil>(x, y, count);
    case MapOp::round:
      return apply<real::rint>(x, y, count);
    case MapOp::square_root:
      return apply<std::sqrt>(x, y, count);
    case MapOp::reciprocal:
      return apply<real::reciprocal>(x, y, count);
    case MapOp::exponential:
      return apply<real::exp>(x, y, count);
    case MapOp::logarithm:
      return apply<real::log>(x, y, count);
    case MapOp::error_function:
      return apply<real::error_function>(x, y, count);
    case MapOp::tanh:
      return apply<real::tanh>(x, y, count);
    case MapOp::sine:
      return apply<real::sine>(x, y, count);
    case MapOp::cosine:
      return apply<real::cosine>(x, y, count);
    default:
      throw InternalError("map: no operation of one float");
  }
}

/// Arithmetic that wraps around in two's complement, and that of floats.
template <typename T>
struct Arithmetic {
  using U = std::make_unsigned_t<T>;
  static T wrapped(U value) { return static_cast<T>(value); }
  static T add(T a, T b) { return wrapped(static_cast<U>(a) + static_cast<U>(b)); }
  static T subtract(T a, T b) { return wrapped(static_cast<U>(a) - static_cast<U>(b)); }
  static T multiply(T a, T b) { return wrapped(static_cast<U>(a) * static_cast<U>(b)); }
  static T divide(T a, T b) { return b == 0 ? 0 : b == -1 ? subtract(0, a) : a / b; }
  static T remainder(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; }
  static T modulo(T a, T b) {
    const T left = remainder(a, b);
    return left != 0 && (left < 0) != (b < 0) ? left + b : left;
  }
  static T minimum(T a, T b) { return std::min(a, b); }
  static T maximum(T a, T b) { return std::max(a, b); }
  static T power(T, T) { throw InternalError("map: no power of integers"); }
  static T sign(T a) { return static_cast<T>((a > 0) - (a < 0)); }
  static T negate(T a) { return subtract(0, a); }
  static T absolute(T a) { return a < 0 ? negate(a) : a; }
};
template <>
struct Arithmetic<float> {
  static float add(float a, float b) { return a + b; }
  static float subtract(float a, float b) { return a - b; }
  static float multiply(float a, float b) { return a * b; }
  static float divide(float a, float b) { return a / b; }
  static float remainder(float a, float b) { return real::remainder(a, b); }
  static float modulo(float, float) { throw InternalError("map: no modulo of floats"); }
  static float minimum(float a, float b) { return real::minimum(a, b); }
  static float maximum(float a, float b) { return real::maximum(a, b); }
  static float power(float a, float b) { return real::power(a, b); }
  static float sign(float a) { return a > 0 ? 1.0F : a < 0 ? -1.0F : a == 0 ? 0.0F : a; }
  static float negate(float a) { return -a; }
  static float absolute(float a) { return std::fabs(a); }
};

template <typename To, typename From>
To converted(From value) {
  if constexpr (std::is_same_v<From, uint16_t>) {
    return converted<To>(from_half(value));
  } else if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
    // The type's ends are powers of two, but for the largest, which no float is.
    constexpr float kEnd = static_cast<float>(uint64_t{1} << (sizeof(To) * 8 - 1));
    if (value != value) return 0;
    if (value >= kEnd) return std::numeric_limits<To>::max();
    return value < -kEnd ? std::numeric_limits<To>::min() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename T>
T saturated(int32_t value) {
  return static_cast<T>(std::clamp<int32_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

/// Calls `function` with a value of the C++ type of `dtype`; boolean is uint8_t, f16 alone uint16_t.
template <typename Function>
void with_type(DType dtype, Function function) {
  switch (dtype) {
    case DType::f32:
      return function(float{});
    case DType::s32:
      return function(int32_t{});
    case DType::s64:
      return function(int64_t{});
    case DType::s8:
      return function(int8_t{});
    case DType::u8:
    case DType::boolean:
      return function(uint8_t{});
    case DType::f16:
      return function(uint16_t{});
  }
}

/// The instructions of a Map on one block of elements.
class MapBlock {
 public:
  MapBlock(const Map& map, const std::vector<DType>& types) : map_(map), types_(types), values_(types.size()) {}

  /// Elements [first, first + count) of operand number `operand`, from `source`.
  void load(size_t operand, const Tensor& source, int64_t first, int64_t count);
  void run(int64_t count);
  const Lanes& result() const { return values_.back(); }

 private:
  template <typename T>
  void run_numbers(const MapInstruction& instruction, Lanes& to, int64_t count) const;
  void run_booleans(const MapInstruction& instruction, Lanes& to, int64_t count) const;
  void convert(const MapInstruction& instruction, Lanes& to, int64_t count) const;
  void select(const MapInstruction& instruction, Lanes& to, int64_t count) const;

  size_t number(const MapInstruction& instruction, size_t argument) const {
    return static_cast<size_t>(instruction.arguments[argument]);
  }
  const Lanes& value(const MapInstruction& instruction, size_t argument) const {
    return values_[number(instruction, argument)];
  }

  const Map& map_;
  const std::vector<DType>& types_;
  std::vector<Lanes> values_;
};

void MapBlock::load(size_t operand, const Tensor& source, int64_t first, int64_t count) {
  const std::vector<int64_t>& steps = map_.operands[operand].steps;
  with_type(types_[operand], [&](auto type) {
    using T = decltype(type);
    const T* from = source.as<T>().data();
    T* to = values_[operand].as<T>();
    for (int64_t done = 0; done < count;) {
      int64_t rest = first + done, offset = 0, run = count - done, step = 0;
      for (size_t k = map_.extents.size(); k-- > 0;) {
        const int64_t index = rest % map_.extents[k];
        rest /= map_.extents[k];
        offset += index * steps[k];
        if (k + 1 < map_.extents.size()) continue;
        step = steps[k];
        run = std::min(run, map_.extents[k] - index);
      }
      for (int64_t i = 0; i < run; ++i) to[done + i] = from[offset + i * step];
      done += run;
    }
  });
}

template <typename T>
void MapBlock::run_numbers(const MapInstruction& instruction, Lanes& to, int64_t count) const {
  const T* a = value(instruction, 0).as<T>();
  const T* b = value(instruction, instruction.arguments.size() - 1).as<T>();
  const auto one = [&](auto function) {
    for (int64_t i = 0; i < count; ++i) to.as<T>()[i] = function(a[i]);
  };
  const auto two = [&](auto function) {
    for (int64_t i = 0; i < count; ++i) to.as<T>()[i] = function(a[i], b[i]);
  };
  const auto compare = [&](auto function) {
    for (int64_t i = 0; i < count; ++i) to.as<uint8_t>()[i] = function(a[i], b[i]) ? 1 : 0;
  };
  using Op = Arithmetic<T>;
  switch (instruction.op) {
    case MapOp::negate:
      return one([](T x) { return Op::negate(x); });
    case MapOp::absolute:
      return one([](T x) { return Op::absolute(x); });
    case MapOp::sign:
      return one([](T x) { return Op::sign(x); });
    case MapOp::add:
      return two([](T x, T y) { return Op::add(x, y); });
    case MapOp::subtract:
      return two([](T x, T y) { return Op::subtract(x, y); });
    case MapOp::multiply:
      return two([](T x, T y) { return Op::multiply(x, y); });
    case MapOp::divide:
      return two([](T x, T y) { return Op::divide(x, y); });
    case MapOp::minimum:
      return two([](T x, T y) { return Op::minimum(x, y); });
    case MapOp::maximum:
      return two([](T x, T y) { return Op::maximum(x, y); });
    case MapOp::modulo:
      return two([](T x, T y) { return Op::modulo(x, y); });
    case MapOp::remainder:
      return two([](T x, T y) { return Op::remainder(x, y); });
    case MapOp::power:
      return two([](T x, T y) { return Op::power(x, y); });
    case MapOp::equal:
      return compare([](T x, T y) { return x == y; });
    case MapOp::less:
      return compare([](T x, T y) { return x < y; });
    case MapOp::less_equal:
      return compare([](T x, T y) { return x <= y; });
    case MapOp::is_nan:
      return compare([](T x, T) { return x != x; });
    default:
      if constexpr (std::is_same_v<T, float>) return apply_real(instruction.op, a, to.as<float>(), count);
      throw InternalError("map: no operation of integers");
  }
}

void MapBlock::run_booleans(const MapInstruction& instruction, Lanes& to, int64_t count) const {
  const uint8_t* a = value(instruction, 0).as<uint8_t>();
  const uint8_t* b = value(instruction, instruction.arguments.size() - 1).as<uint8_t>();
  uint8_t* y = to.as<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    switch (instruction.op) {
      case MapOp::equal:
        y[i] = a[i] == b[i] ? 1 : 0;
        break;
      case MapOp::logical_and:
        y[i] = a[i] & b[i];
        break;
      case MapOp::logical_or:
        y[i] = a[i] | b[i];
        break;
      case MapOp::logical_xor:
        y[i] = a[i] ^ b[i];
        break;
      default:
        y[i] = a[i] == 0 ? 1 : 0;
    }
  }
}

void MapBlock::convert(const MapInstruction& instruction, Lanes& to, int64_t count) const {
  const Lanes& from = value(instruction, 0);
  with_type(types_[number(instruction, 0)], [&](auto type) {
    using From = decltype(type);
    const From* x = from.as<From>();
    const auto each = [&]<typename To>(auto function) {
      for (int64_t i = 0; i < count; ++i) to.as<To>()[i] = function(x[i]);
    };
    switch (instruction.op) {
      case MapOp::to_f32:
        return each.template operator()<float>([](From v) { return converted<float>(v); });
      case MapOp::to_s32:
        return each.template operator()<int32_t>([](From v) { return converted<int32_t>(v); });
      case MapOp::to_s64:
        return each.template operator()<int64_t>([](From v) { return converted<int64_t>(v); });
      case MapOp::to_boolean:
        return each.template operator()<uint8_t>([](From v) { return uint8_t{v != From{0}}; });
      case MapOp::to_s8:
        return each.template operator()<int8_t>([](From v) { return saturated<int8_t>(converted<int32_t>(v)); });
      case MapOp::to_f16:
        return each.template operator()<uint16_t>([](From v) { return to_half(converted<float>(v)); });
      default:
        return each.template operator()<uint8_t>([](From v) { return saturated<uint8_t>(converted<int32_t>(v)); });
    }
  });
}

void MapBlock::select(const MapInstruction& instruction, Lanes& to, int64_t count) const {
  const uint8_t* condition = value(instruction, 0).as<uint8_t>();
  with_type(types_[number(instruction, 1)], [&](auto type) {
    using T = decltype(type);
    const T *a = value(instruction, 1).as<T>(), *b = value(instruction, 2).as<T>();
    for (int64_t i = 0; i < count; ++i) to.as<T>()[i] = condition[i] != 0 ? a[i] : b[i];
  });
}

void MapBlock::run(int64_t count) {
  for (size_t i = 0; i < map_.instructions.size(); ++i) {
    const MapInstruction& instruction = map_.instructions[i];
    Lanes& to = values_[map_.operands.size() + i];
    if (instruction.op == MapOp::select) {
      select(instruction, to, count);
      continue;
    }
    if (instruction.op >= MapOp::to_f32) {
      convert(instruction, to, count);
      continue;
    }
    switch (types_[number(instruction, 0)]) {
      case DType::f32:
        run_numbers<float>(instruction, to, count);
        break;
      case DType::s32:
        run_numbers<int32_t>(instruction, to, count);
        break;
      case DType::s64:
        run_numbers<int64_t>(instruction, to, count);
        break;
      default:
        run_booleans(instruction, to, count);
    }
  }
}

}  // namespace

void run_map(const Operation& operation) {
  const Map& map = operation.workload.map;
  const std::vector<DType> types = value_types(map);
  std::vector<const Tensor*> sources;
  size_t input = 0, constant = 0;
  for (const MapOperand& operand : map.operands) {
    sources.push_back(operand.constant ? &operation.values.at("constant" + std::to_string(constant++))
                                       : operation.inputs[input++]);
  }
  const int64_t elements = map.elements();
  const size_t element = size_bytes(types.back());
  // Several blocks a task, so that the values' memory is used again.
  constexpr int64_t kTask = 16 * kBlock;
  parallel_for((elements + kTask - 1) / kTask, [&](int64_t task) {
    MapBlock block(map, types);
    for (int64_t first = task * kTask; first < std::min(elements, (task + 1) * kTask); first += kBlock) {
      const int64_t count = std::min(kBlock, elements - first);
      for (size_t i = 0; i < sources.size(); ++i) block.load(i, *sources[i], first, count);
      block.run(count);
      std::memcpy(operation.output.bytes.data() + static_cast<size_t>(first) * element, block.result().bytes,
                  static_cast<size_t>(count) * element);
    }
  });
}

}  // namespace warpwright
