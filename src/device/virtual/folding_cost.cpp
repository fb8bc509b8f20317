// The cost of one PTX instruction by itself.
#include "src/device/virtual/folding_cost.h"

namespace warpwright {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

bool is_64(Type type) { return type == Type::b64 || type == Type::u64 || type == Type::s64; }

int bits(Type type) { return type == Type::pred ? 1 : 8 * ptx::size_bytes(type); }

bool has_immediate(const Instruction& instruction) {
  for (const Operand& source : instruction.sources) {
    if (source.kind == Operand::Kind::immediate) return true;
  }
  return false;
}

Pipe pipe_of_space(Space space) {
  switch (space) {
    case Space::shared:
      return Pipe::shared;
    case Space::local:
      return Pipe::local;
    case Space::param:
    case Space::constant:
      return Pipe::constant;
    default:
      return Pipe::global;
  }
}

IssueCost cost_of_move(const Instruction& instruction) {
  const Operand& source = instruction.sources.front();
  if (source.kind == Operand::Kind::special) {
    switch (source.special) {
      case ptx::Special::ntid_x:
      case ptx::Special::ntid_y:
      case ptx::Special::ntid_z:
      case ptx::Special::nctaid_x:
      case ptx::Special::nctaid_y:
      case ptx::Special::nctaid_z:
        return {Pipe::constant, 0};  // operands of the constant bank
      default:
        return {Pipe::integer, 1};
    }
  }
  // Packing two halves into a word is a permute; pairs of words are register pairs.
  const bool packs = instruction.sources.size() > 1 || instruction.destinations.size() > 1;
  return {Pipe::integer, static_cast<uint8_t>(packs && bits(instruction.type) <= 32 ? 1 : 0)};
}

IssueCost cost_of_conversion(const Instruction& instruction) {
  if (is_copy(instruction)) return {Pipe::integer, 0};
  if (is_float(instruction.type) || is_float(instruction.source_type) || instruction.saturate) {
    return {Pipe::conversion, 1};
  }
  return {Pipe::integer, 1};  // extension: a permute, a shift or a mask
}

/// Words of a 64-bit shift by a constant: from 32 on, one word is moved or shifted.
IssueCost cost_of_shift(const Instruction& instruction) {
  if (!is_64(instruction.type)) return {Pipe::integer, 1};
  const Operand& count = instruction.sources[1];
  if (count.kind != Operand::Kind::immediate || count.value < 32) return {Pipe::integer, 2};
  return {Pipe::integer, static_cast<uint8_t>(count.value == 32 ? 0 : 1)};
}

IssueCost cost_of_multiply(const Instruction& instruction) {
  if (is_float(instruction.type)) return {Pipe::floating, 1};
  const bool wide_operands = is_64(instruction.type) && instruction.mul_mode != ptx::MulMode::wide;
  return {Pipe::multiply, static_cast<uint8_t>(wide_operands ? 4 : 1)};
}

IssueCost cost_of_division(const Instruction& instruction) {
  if (is_float(instruction.type)) {
    // A reciprocal with five fused steps, a range check and its branch; the slow path is rare.
    return {Pipe::floating, 6, 2};
  }
  if (is_64(instruction.type)) return {Pipe::multiply, 70, 3};
  if (has_immediate(instruction)) return {Pipe::multiply, 3, 0};
  return {Pipe::multiply, 15, 3};
}

IssueCost cost_of_arithmetic(const Instruction& instruction) {
  if (is_float(instruction.type)) return {Pipe::floating, 1};
  return {Pipe::integer, static_cast<uint8_t>(is_64(instruction.type) ? 2 : 1)};
}

/// Comparisons, whose width is that of their sources.
IssueCost cost_of_comparison(const Instruction& instruction) {
  if (is_float(instruction.type)) return {Pipe::floating, 1};
  return {Pipe::integer, static_cast<uint8_t>(is_64(instruction.type) ? 2 : 1)};
}

}  // namespace

bool is_copy(const Instruction& instruction) {
  if (instruction.opcode == Opcode::cvta) return true;
  if (instruction.opcode == Opcode::mov) {
    return instruction.destinations.size() == 1 && instruction.sources.size() == 1 &&
           instruction.sources[0].kind == Operand::Kind::reg;
  }
  if (instruction.opcode != Opcode::cvt || instruction.saturate) return false;
  const Type to = instruction.type, from = instruction.source_type;
  if (is_float(to) || is_float(from)) return to == from && instruction.rounding == ptx::Rounding::none;
  if (bits(to) <= bits(from)) return bits(to) >= 16;         // truncation to a register of 16 bits or more
  return is_64(to) && !is_signed(from) && bits(from) == 32;  // the high word is RZ
}

bool has_side_effects(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::atom:
    case Opcode::bar:
    case Opcode::bar_warp:
    case Opcode::bra:
    case Opcode::cp_async:
    case Opcode::cp_async_commit:
    case Opcode::cp_async_wait_all:
    case Opcode::cp_async_wait_group:
    case Opcode::exit:
    case Opcode::fence:
    case Opcode::membar:
    case Opcode::nanosleep:
    case Opcode::prefetch:
    case Opcode::red:
    case Opcode::ret:
    case Opcode::st:
    case Opcode::trap:
    case Opcode::shfl:
    case Opcode::vote:
    case Opcode::match:
    case Opcode::redux:
      return true;
    default:
      return false;
  }
}

IssueCost cost_alone(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::nop:
    case Opcode::cvta:
      return {Pipe::integer, 0};
    case Opcode::mov:
      return cost_of_move(instruction);
    case Opcode::cvt:
      return cost_of_conversion(instruction);
    case Opcode::ld:
      // A parameter is an operand of the constant bank.
      if (instruction.space == Space::param) return {Pipe::constant, 0};
      return {pipe_of_space(instruction.space), 1};
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
      return {pipe_of_space(instruction.space), 1};
    case Opcode::dp4a:
    case Opcode::dp2a:
      return {Pipe::dot, 1};
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::madc:
    case Opcode::fma:
      return cost_of_multiply(instruction);
    case Opcode::div:
    case Opcode::rem:
      return cost_of_division(instruction);
    case Opcode::rcp:
    case Opcode::sqrt:
      return {Pipe::floating, 6, 1};
    case Opcode::bra:
    case Opcode::exit:
    case Opcode::nanosleep:
    case Opcode::ret:
    case Opcode::trap:
      return {Pipe::control, 1};
    case Opcode::bar:
    case Opcode::bar_warp:
    case Opcode::membar:
    case Opcode::fence:
    case Opcode::cp_async_commit:
    case Opcode::cp_async_wait_group:
      return {Pipe::barrier, 1};
    case Opcode::cp_async_wait_all:  // commits first
      return {Pipe::barrier, 2};
    case Opcode::cp_async:
    case Opcode::prefetch:
      return {Pipe::global, 1};
    case Opcode::ldmatrix:
      return {Pipe::shared, 1};
    case Opcode::mma:
      return {Pipe::tensor, 1};
    case Opcode::activemask:
    case Opcode::match:
    case Opcode::redux:
    case Opcode::shfl:
    case Opcode::vote:
      return {Pipe::shuffle, 1};
    case Opcode::bfe:
    case Opcode::cnot:
      return {Pipe::integer, 2};
    case Opcode::bfi:
      return {Pipe::integer, static_cast<uint8_t>(has_immediate(instruction) ? 2 : 3)};
    case Opcode::shl:
    case Opcode::shr:
      return cost_of_shift(instruction);
    case Opcode::bfind:
    case Opcode::brev:
    case Opcode::clz:
      return {Pipe::special, 1};
    case Opcode::set:
    case Opcode::setp:
      return cost_of_comparison(instruction);
    case Opcode::min:
    case Opcode::max:
      if (is_64(instruction.type)) return {Pipe::integer, 4};
      return cost_of_arithmetic(instruction);
    default:
      return cost_of_arithmetic(instruction);
  }
}

}  // namespace warpwright
