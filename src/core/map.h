// Map: an element by element computation as data: instructions over broadcast operands.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/core/dtype.h"

namespace warpwright {

/// Operations of f32 are single roundings; those with a name in core/real_functions.h (exponential to cosine, power,
/// remainder) are defined there. s32 and s64 wrap around.
enum class MapOp {
  negate,    // f32, s32, s64
  absolute,  // f32, s32, s64
  sign,      // f32, s32, s64: 1, -1, or +0 of either zero; of NaN NaN
  floor,     // f32, as ceil; both keep the sign of a zero result: ceil(-0.5) = -0
  ceil,
  round,        // f32, half to even; keeps the sign of a zero result
  square_root,  // f32, as all up to cosine
  reciprocal,   // fl(1 / x)
  exponential,
  logarithm,
  error_function,
  tanh,
  sine,
  cosine,
  // Of two f32, s32 or s64 of one type. Integers: divide truncates; divide, modulo and remainder by 0 give 0.
  add,
  subtract,
  multiply,
  divide,
  minimum,    // f32: NaN if there is one; of two zeros -0 if there is one
  maximum,    // f32: NaN if there is one; of two zeros +0 if there is one
  modulo,     // s32 and s64 only: has the sign of the divisor
  remainder,  // has the sign of the dividend; of f32 exact (fmod)
  power,      // f32 only
  // Comparisons of two of one type give boolean; NaN is not equal to and not less than anything.
  equal,       // f32, s32, s64, boolean
  less,        // f32, s32, s64
  less_equal,  // f32, s32, s64
  is_nan,      // f32
  // Of booleans.
  logical_and,
  logical_or,
  logical_xor,
  logical_not,
  select,  // boolean, a, b of any one type: a where true, else b
  // Conversions of any type; of f16 only to_f32.
  to_f32,      // nearest, half to even
  to_s32,      // f32 truncates and saturates, NaN gives 0; s64 wraps
  to_s64,      // f32 truncates and saturates, NaN gives 0
  to_boolean,  // whether it is not 0; NaN is not 0
  to_s8,       // of s32 only: saturates
  to_u8,       // of s32 only: saturates
  to_f16,      // of f32 only: to_half of core/half.h
};

struct MapOperand {
  DType dtype = DType::f32;
  bool constant = false;
  std::vector<int64_t> steps;  // elements from index to index along each of the extents; 0 where it is repeated
  bool operator==(const MapOperand&) const = default;
};

struct MapInstruction {
  MapOp op = MapOp::add;
  std::vector<int> arguments;  // numbers of operands and earlier instructions
  bool operator==(const MapInstruction&) const = default;
};

/// Operands have the numbers 0, 1, ..., instructions the numbers behind them, in order; the last one is the output.
/// Operands that are no constants are the inputs, in order.
struct Map {
  std::vector<int64_t> extents;  // of the output, the last the fastest
  std::vector<MapOperand> operands;
  std::vector<MapInstruction> instructions;

  int64_t elements() const;
  bool operator==(const Map&) const = default;
};

std::string_view name(MapOp op);
/// Throws UsageError when `text` names no operation.
MapOp map_op_from_name(std::string_view text);
int argument_count(MapOp op);
/// Of an instruction whose argument, for `select` the chosen ones, has the type `argument`.
DType result_type(MapOp op, DType argument);

/// Elements that the operand reads from first to last: how long a constant is.
int64_t span(const Map& map, const MapOperand& operand);

/// Types by number: operands, then instructions. Throws InternalError when an instruction cannot take its arguments.
std::vector<DType> value_types(const Map& map);

/// The same map with as few extents as possible: extents of 1 go, and neighbours merge where every operand allows it.
Map simplified(const Map& map);

/// Throws InternalError unless types, numbers and steps fit together, everything is used, and it is simplified.
void check(const Map& map);

}  // namespace warpwright
