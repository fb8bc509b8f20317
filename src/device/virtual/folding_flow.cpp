// Data flow of a kernel, for the folding.
#include "src/device/virtual/folding_flow.h"

#include <algorithm>

#include "src/device/virtual/folding_cost.h"

namespace warpwright {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

bool is_64(Type type) { return type == Type::b64 || type == Type::u64 || type == Type::s64; }

namespace {

bool is_memory(const Instruction& i) {
  switch (i.opcode) {
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
    case Opcode::ldmatrix:
    case Opcode::cp_async:
    case Opcode::prefetch:
      return true;
    default:
      return false;
  }
}

bool is_uniform_special(ptx::Special special) {
  switch (special) {
    case ptx::Special::tid_x:
    case ptx::Special::tid_y:
    case ptx::Special::tid_z:
    case ptx::Special::laneid:
    case ptx::Special::warpid:
    case ptx::Special::lanemask_eq:
    case ptx::Special::lanemask_lt:
    case ptx::Special::lanemask_le:
    case ptx::Special::lanemask_gt:
    case ptx::Special::lanemask_ge:
      return false;
    default:
      return true;
  }
}

/// Results that differ between threads whatever the operands.
bool varies(const Instruction& instruction) {
  if (instruction.opcode == Opcode::ld) return instruction.space != ptx::Space::param;
  return instruction.opcode == Opcode::atom || instruction.opcode == Opcode::ldmatrix ||
         instruction.opcode == Opcode::mma || instruction.opcode == Opcode::shfl ||
         instruction.opcode == Opcode::vote || instruction.opcode == Opcode::match ||
         instruction.opcode == Opcode::activemask || instruction.opcode == Opcode::redux;
}

}  // namespace

DataFlow::DataFlow(const ptx::Kernel& kernel) : kernel_(kernel), code_(kernel.instructions) {
  find_definitions();
  find_alive();
  find_uniform();
  find_uses();
}

void DataFlow::find_definitions() {
  definitions_.resize(kernel_.registers.size());
  for (size_t i = 0; i < code_.size(); ++i) {
    for (const int reg : registers_written(code_[i])) definitions_[reg].push_back(static_cast<int>(i));
  }
}

void DataFlow::find_alive() {
  alive_.assign(code_.size(), false);
  std::vector<int> work;
  const auto mark = [&](int i) {
    if (!alive_[i]) {
      alive_[i] = true;
      work.push_back(i);
    }
  };
  for (size_t i = 0; i < code_.size(); ++i) {
    if (has_side_effects(code_[i])) mark(static_cast<int>(i));
  }
  while (!work.empty()) {
    const int i = work.back();
    work.pop_back();
    for (const int reg : registers_read(code_[i])) {
      for (const int definition : definitions_[reg]) mark(definition);
    }
  }
}

void DataFlow::find_uniform() {
  uniform_.assign(kernel_.registers.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& instruction : code_) {
      const bool same = !varies(instruction) && (instruction.guard < 0 || uniform_[instruction.guard]) &&
                        std::ranges::all_of(instruction.sources, [&](const Operand& o) { return is_uniform(o); });
      if (same) continue;
      for (const int reg : registers_written(instruction)) {
        changed = changed || uniform_[reg];
        uniform_[reg] = false;
      }
    }
  }
}

bool DataFlow::is_uniform(const Operand& operand) const {
  if (operand.kind == Operand::Kind::special) return is_uniform_special(operand.special);
  return operand.reg < 0 || uniform_[operand.reg];
}

bool DataFlow::is_alias(int i) const {
  const Instruction& instruction = code_[i];
  return (is_copy(instruction) || extends_load(instruction)) && instruction.guard < 0 &&
         instruction.sources[0].kind == Operand::Kind::reg && is_single(instruction.destinations[0].reg) &&
         is_single(instruction.sources[0].reg);
}

bool DataFlow::extends_load(const Instruction& instruction) const {
  if (instruction.opcode != Opcode::cvt || instruction.saturate || is_float(instruction.type) ||
      is_float(instruction.source_type) || instruction.sources[0].kind != Operand::Kind::reg) {
    return false;
  }
  const int reg = instruction.sources[0].reg;
  if (!is_single(reg)) return false;
  const Instruction& load = code_[definitions_[reg][0]];
  return load.opcode == Opcode::ld && ptx::size_bytes(load.type) < 4 &&
         ptx::size_bytes(load.type) <= ptx::size_bytes(instruction.source_type) &&
         is_signed(load.type) == is_signed(instruction.source_type);
}

int DataFlow::origin(int reg) const {
  while (is_single(reg) && is_alias(definitions_[reg][0])) reg = code_[definitions_[reg][0]].sources[0].reg;
  return reg;
}

int DataFlow::source_of(const Operand& operand) const {
  if (operand.kind != Operand::Kind::reg) return -1;
  const int reg = origin(operand.reg);
  return is_single(reg) ? definitions_[reg][0] : -1;
}

bool DataFlow::is_constant(const Operand& operand) const {
  if (operand.kind == Operand::Kind::immediate) return true;
  if (operand.kind == Operand::Kind::symbol) return operand.space != ptx::Space::global;
  const int source = source_of(operand);
  return source >= 0 && code_[source].opcode == Opcode::mov && code_[source].sources.size() == 1 &&
         code_[source].sources[0].kind != Operand::Kind::reg && is_constant(code_[source].sources[0]);
}

void DataFlow::find_uses() {
  uses_.resize(kernel_.registers.size());
  for (size_t i = 0; i < code_.size(); ++i) {
    if (!alive_[i] || is_alias(static_cast<int>(i))) continue;
    const Instruction& instruction = code_[i];
    for (const Operand& source : instruction.sources) {
      if (source.reg < 0) continue;
      const bool as_address = is_memory(instruction) && source.kind == Operand::Kind::address;
      uses_[origin(source.reg)].push_back({static_cast<int>(i), as_address});
    }
    if (instruction.guard >= 0) uses_[origin(instruction.guard)].push_back({static_cast<int>(i), false});
  }
}

const std::vector<DataFlow::Use>& DataFlow::uses_of(int i) const {
  static const std::vector<Use> none;
  if (code_[i].destinations.empty() || code_[i].destinations[0].reg < 0) return none;
  return uses_[origin(code_[i].destinations[0].reg)];
}

bool DataFlow::has_one_result(int i) const {
  return code_[i].destinations.size() == 1 && code_[i].destinations[0].reg >= 0 &&
         is_single(code_[i].destinations[0].reg) && code_[i].guard < 0;
}

bool DataFlow::feeds_only(int producer, int consumer) const {
  return has_one_result(producer) && uses_of(producer).size() == 1 && code_[producer].block == code_[consumer].block;
}

void DataFlow::hand_over_uses(int i) {
  const std::vector<Use> handed = uses_of(i);
  for (const Operand& source : code_[i].sources) {
    if (source.reg < 0 || is_constant(source)) continue;
    auto& uses = uses_[origin(source.reg)];
    std::erase_if(uses, [&](const Use& use) { return use.instruction == i; });
    uses.insert(uses.end(), handed.begin(), handed.end());
  }
}

}  // namespace warpwright
