// Whether the parts of mma, ldmatrix, cp.async, cvt.pack and prefetch go together, and what they need of a module.
#include <fmt/format.h>

#include <charconv>

#include "src/device/virtual/ptx_kernel_parser.h"

namespace warpwright::ptx {
namespace {

bool says(const Instruction& in, std::string_view modifier) {
  const std::string& text = in.text;
  for (size_t at = text.find(modifier); at != std::string::npos; at = text.find(modifier, at + 1)) {
    const size_t end = at + modifier.size();
    if (end == text.size() || text[end] == '.') return true;
  }
  return false;
}

bool is_predicate(const Operand& operand, const Kernel& kernel) {
  return operand.reg >= 0 && kernel.registers[static_cast<size_t>(operand.reg)].type == Type::pred;
}

const char* why_mma_wrong(const Instruction& in) {
  if (in.mma_shape == MmaShape::none) return "needs a shape: m8n8k16, m16n8k16 or m16n8k32";
  if (!says(in, ".aligned")) return "needs .aligned";
  if (!says(in, ".row.col") || in.vector != 1 || in.transposed || says(in, ".m8n8")) return "is .row.col alone";
  const size_t halves = in.mma_shape == MmaShape::m8n8k16 ? 1 : 2;
  const size_t chunks = in.mma_shape == MmaShape::m16n8k32 ? 2 : 1;
  const size_t a = halves * chunks, b = chunks, c = 2 * halves;
  const bool fits = in.destinations.size() == c && in.sources.size() == a + b + c;
  return fits ? nullptr : "has a wrong number of registers for its shape";
}

const char* why_ldmatrix_wrong(const Instruction& in) {
  if (!says(in, ".aligned") || !says(in, ".m8n8")) return "needs .aligned.m8n8";
  if (!says(in, ".x1") && !says(in, ".x2") && !says(in, ".x4")) return "needs .x1, .x2 or .x4";
  if (in.mma_shape != MmaShape::none || in.saturate || says(in, ".row") || says(in, ".col"))
    return "multiplies nothing";
  if (in.space != Space::shared) return "is supported for .shared alone";
  return in.destinations.size() == in.vector ? nullptr : "has a wrong number of registers";
}

const char* why_copy_wrong(const Instruction& in, const Kernel& kernel) {
  if (in.space != Space::shared || !says(in, ".global")) return "copies from .global to .shared alone";
  const bool all = says(in, ".ca"), global_level = says(in, ".cg");
  if (all == global_level) return "needs .ca or .cg";
  const Operand& size = in.sources[2];
  const bool known = size.kind == Operand::Kind::immediate && (size.value == 4 || size.value == 8 || size.value == 16);
  if (!known) return "copies 4, 8 or 16 bytes";
  if (global_level && size.value != 16) return "copies 16 bytes alone with .cg";
  if (in.sources.size() == 3) return nullptr;
  const Operand& read = in.sources[3];
  if (read.kind == Operand::Kind::immediate)
    return read.value >= 0 && read.value <= size.value ? nullptr : "reads more than it copies";
  if (read.kind != Operand::Kind::reg) return "needs a source size or a predicate there";
  const Type type = kernel.registers[static_cast<size_t>(read.reg)].type;
  return is_predicate(read, kernel) || size_bytes(type) == 4 ? nullptr : "needs a source size of 32 bits";
}

const char* why_pack_wrong(const Instruction& in) {
  if (!in.saturate) return "needs .sat";
  const bool bytes = size_bytes(in.type) == 1;
  if (bytes != in.text.ends_with(".s32.b32")) return "packs bytes on top of .b32, halves alone";
  return in.sources.size() == (bytes ? 3u : 2u) ? nullptr : "has a wrong number of operands";
}

struct Need {
  int target = 0, version = 0;
};

// PTX ISA, `PTX ISA Notes` and `Target ISA Notes` of each instruction.
Need need_of(const Instruction& in, const Kernel& kernel) {
  switch (in.opcode) {
    case Opcode::mma:
      return in.mma_shape == MmaShape::m8n8k16 ? Need{75, 65} : Need{80, 70};
    case Opcode::ldmatrix:
      return {75, 65};
    case Opcode::cp_async:
      if (in.sources.size() == 4 && is_predicate(in.sources[3], kernel)) return {80, 75};
      return {80, in.text.find(".L2::") != std::string::npos ? 74 : 70};
    case Opcode::cp_async_commit:
    case Opcode::cp_async_wait_all:
    case Opcode::cp_async_wait_group:
      return {80, 70};
    case Opcode::redux:
      return {80, 70};
    case Opcode::cvt_pack:
      return {72, 65};
    case Opcode::nanosleep:
      return {70, 63};
    default:
      return {};
  }
}

}  // namespace

const char* why_tensor_instruction_wrong(const Instruction& in, const Kernel& kernel) {
  switch (in.opcode) {
    case Opcode::mma:
      return why_mma_wrong(in);
    case Opcode::ldmatrix:
      return why_ldmatrix_wrong(in);
    case Opcode::cp_async:
      return why_copy_wrong(in, kernel);
    case Opcode::cp_async_wait_group: {
      const Operand& groups = in.sources[0];
      return groups.kind == Operand::Kind::immediate && groups.value >= 0 ? nullptr : "needs a number of groups";
    }
    case Opcode::cvt_pack:
      return why_pack_wrong(in);
    default:
      return nullptr;
  }
}

void check_available(const Instruction& in, const Kernel& kernel, const Module& module) {
  const Need need = need_of(in, kernel);
  int target = 0;
  if (module.target.starts_with("sm_"))
    std::from_chars(module.target.data() + 3, module.target.data() + module.target.size(), target);
  if (target < need.target) fail_at(in.line, fmt::format("'{}' needs .target sm_{} or newer", in.text, need.target));
  if (module.version < need.version) {
    fail_at(in.line, fmt::format("'{}' needs PTX {}.{} or newer", in.text, need.version / 10, need.version % 10));
  }
}

int access_bytes(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
      return in.vector * size_bytes(in.type);
    case Opcode::ldmatrix:
      return 16;
    case Opcode::cp_async:
      return static_cast<int>(in.sources[2].value);
    default:
      return 0;
  }
}

}  // namespace warpwright::ptx
