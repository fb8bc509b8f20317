// Maps: names, types of their values, checks, and fewer extents for the same.
#include "src/core/map.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/enum_names.h"
#include "src/core/error.h"

namespace warpwright {

namespace {

constexpr size_t kMostExtents = 16, kMostOperands = 64, kMostInstructions = 256;
constexpr int64_t kMostElements = int64_t{1} << 40;

constexpr EnumNames<MapOp, 39> kOps{{{MapOp::negate, "negate"},
                                     {MapOp::absolute, "absolute"},
                                     {MapOp::sign, "sign"},
                                     {MapOp::floor, "floor"},
                                     {MapOp::ceil, "ceil"},
                                     {MapOp::round, "round"},
                                     {MapOp::square_root, "square_root"},
                                     {MapOp::reciprocal, "reciprocal"},
                                     {MapOp::exponential, "exponential"},
                                     {MapOp::logarithm, "logarithm"},
                                     {MapOp::error_function, "error_function"},
                                     {MapOp::tanh, "tanh"},
                                     {MapOp::sine, "sine"},
                                     {MapOp::cosine, "cosine"},
                                     {MapOp::add, "add"},
                                     {MapOp::subtract, "subtract"},
                                     {MapOp::multiply, "multiply"},
                                     {MapOp::divide, "divide"},
                                     {MapOp::minimum, "minimum"},
                                     {MapOp::maximum, "maximum"},
                                     {MapOp::modulo, "modulo"},
                                     {MapOp::remainder, "remainder"},
                                     {MapOp::power, "power"},
                                     {MapOp::equal, "equal"},
                                     {MapOp::less, "less"},
                                     {MapOp::less_equal, "less_equal"},
                                     {MapOp::is_nan, "is_nan"},
                                     {MapOp::logical_and, "logical_and"},
                                     {MapOp::logical_or, "logical_or"},
                                     {MapOp::logical_xor, "logical_xor"},
                                     {MapOp::logical_not, "logical_not"},
                                     {MapOp::select, "select"},
                                     {MapOp::to_f32, "to_f32"},
                                     {MapOp::to_s32, "to_s32"},
                                     {MapOp::to_s64, "to_s64"},
                                     {MapOp::to_boolean, "to_boolean"},
                                     {MapOp::to_s8, "to_s8"},
                                     {MapOp::to_u8, "to_u8"},
                                     {MapOp::to_f16, "to_f16"}}};

void require(bool condition, const std::string& what) {
  if (!condition) throw InternalError("map: " + what);
}

bool is_integer(DType dtype) { return dtype == DType::s32 || dtype == DType::s64; }
bool is_number(DType dtype) { return dtype == DType::f32 || is_integer(dtype); }

/// Whether `op` takes arguments of the type `dtype`; select: of its two alternatives.
bool takes(MapOp op, DType dtype) {
  switch (op) {
    case MapOp::negate:
    case MapOp::absolute:
    case MapOp::sign:
    case MapOp::add:
    case MapOp::subtract:
    case MapOp::multiply:
    case MapOp::divide:
    case MapOp::minimum:
    case MapOp::maximum:
    case MapOp::remainder:
    case MapOp::less:
    case MapOp::less_equal:
      return is_number(dtype);
    case MapOp::modulo:
      return is_integer(dtype);
    case MapOp::equal:
      return is_number(dtype) || dtype == DType::boolean;
    case MapOp::logical_and:
    case MapOp::logical_or:
    case MapOp::logical_xor:
    case MapOp::logical_not:
      return dtype == DType::boolean;
    case MapOp::to_s8:
    case MapOp::to_u8:
      return dtype == DType::s32;
    case MapOp::select:
    case MapOp::to_f32:
      return true;
    case MapOp::to_s32:
    case MapOp::to_s64:
    case MapOp::to_boolean:
      return dtype != DType::f16;
    default:
      return dtype == DType::f32;
  }
}

}  // namespace

int64_t Map::elements() const {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  return count;
}

std::string_view name(MapOp op) { return to_name(kOps, op); }
MapOp map_op_from_name(std::string_view text) { return from_name(kOps, text, "operation of a map"); }

DType result_type(MapOp op, DType argument) {
  switch (op) {
    case MapOp::equal:
    case MapOp::less:
    case MapOp::less_equal:
    case MapOp::is_nan:
    case MapOp::to_boolean:
      return DType::boolean;
    case MapOp::to_f32:
      return DType::f32;
    case MapOp::to_s32:
      return DType::s32;
    case MapOp::to_s64:
      return DType::s64;
    case MapOp::to_s8:
      return DType::s8;
    case MapOp::to_u8:
      return DType::u8;
    case MapOp::to_f16:
      return DType::f16;
    default:
      return argument;
  }
}

int argument_count(MapOp op) {
  if (op == MapOp::select) return 3;
  const bool two = (op >= MapOp::add && op <= MapOp::less_equal) || op == MapOp::logical_and ||
                   op == MapOp::logical_or || op == MapOp::logical_xor;
  return two ? 2 : 1;
}

int64_t span(const Map& map, const MapOperand& operand) {
  int64_t last = 0;
  for (size_t k = 0; k < map.extents.size(); ++k) last += (map.extents[k] - 1) * operand.steps.at(k);
  return last + 1;
}

std::vector<DType> value_types(const Map& map) {
  std::vector<DType> types;
  for (const MapOperand& operand : map.operands) types.push_back(operand.dtype);
  for (const MapInstruction& instruction : map.instructions) {
    const std::string op(name(instruction.op));
    require(static_cast<int>(instruction.arguments.size()) == argument_count(instruction.op),
            fmt::format("{} takes {} arguments", op, argument_count(instruction.op)));
    for (const int argument : instruction.arguments) {
      require(argument >= 0 && static_cast<size_t>(argument) < types.size(),
              fmt::format("{} reads value {} before it is there", op, argument));
    }
    const DType type = types[static_cast<size_t>(instruction.arguments.back())];
    require(takes(instruction.op, type), fmt::format("{} does not take {}", op, warpwright::name(type)));
    for (size_t i = 0; i < instruction.arguments.size(); ++i) {
      const DType wanted = instruction.op == MapOp::select && i == 0 ? DType::boolean : type;
      require(types[static_cast<size_t>(instruction.arguments[i])] == wanted,
              fmt::format("the arguments of {} have types that do not go together", op));
    }
    types.push_back(result_type(instruction.op, type));
  }
  return types;
}

Map simplified(const Map& map) {
  Map result = map;
  result.extents.clear();
  for (MapOperand& operand : result.operands) operand.steps.clear();
  for (size_t k = 0; k < map.extents.size(); ++k) {
    const int64_t extent = map.extents[k];
    if (extent == 1) continue;
    bool merges = !result.extents.empty();
    for (size_t i = 0; merges && i < map.operands.size(); ++i) {
      merges = result.operands[i].steps.back() == static_cast<__int128>(map.operands[i].steps[k]) * extent;
    }
    if (merges) {
      result.extents.back() *= extent;
      for (size_t i = 0; i < map.operands.size(); ++i) result.operands[i].steps.back() = map.operands[i].steps[k];
    } else {
      result.extents.push_back(extent);
      for (size_t i = 0; i < map.operands.size(); ++i) result.operands[i].steps.push_back(map.operands[i].steps[k]);
    }
  }
  return result;
}

void check(const Map& map) {
  require(map.extents.size() <= kMostExtents, "has up to 16 extents");
  require(map.operands.size() <= kMostOperands, "has up to 64 operands");
  require(!map.instructions.empty() && map.instructions.size() <= kMostInstructions, "has 1 to 256 instructions");
  __int128 elements = 1;
  for (const int64_t extent : map.extents) {
    require(extent >= 1 && extent <= kMostElements, "an extent is out of range");
    elements *= extent;
    require(elements <= kMostElements, "is too large");
  }
  for (const MapOperand& operand : map.operands) {
    require(operand.steps.size() == map.extents.size(), "an operand has one step for each extent");
    __int128 last = 0;
    for (size_t k = 0; k < map.extents.size(); ++k) {
      require(operand.steps[k] >= 0 && operand.steps[k] <= kMostElements, "a step is out of range");
      last += static_cast<__int128>(operand.steps[k]) * (map.extents[k] - 1);
    }
    require(last < kMostElements, "an operand is too large");
  }
  std::vector<bool> used(value_types(map).size());
  used.back() = true;
  for (const MapInstruction& instruction : map.instructions) {
    for (const int argument : instruction.arguments) used[static_cast<size_t>(argument)] = true;
  }
  require(std::ranges::find(used, false) == used.end(), "has an operand or instruction that is of no use");
  require(simplified(map) == map, "has more extents than it needs");
}

}  // namespace warpwright
