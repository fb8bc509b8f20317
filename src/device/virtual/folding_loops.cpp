// Loops of a kernel, for the folding.
#include "src/device/virtual/folding_loops.h"

#include <algorithm>

#include "src/device/virtual/folding_cost.h"

namespace warpwright {
namespace {

/// Blocks from which `end` is reached without passing `header`. Compilers make no loop with two entries.
void add_body(const std::vector<std::vector<int>>& predecessors, int end, Loop& loop) {
  std::vector<int> work;
  const auto add = [&](int block) {
    if (loop.contains[block]) return;
    loop.contains[block] = true;
    work.push_back(block);
  };
  add(end);
  while (!work.empty()) {
    const int block = work.back();
    work.pop_back();
    for (const int predecessor : predecessors[block]) add(predecessor);
  }
}

/// Whether ptxas may compute it earlier and keep the result; there are few predicates to keep.
bool is_movable(const ptx::Kernel& kernel, const ptx::Instruction& instruction) {
  using ptx::Opcode;
  return instruction.guard < 0 && instruction.destinations.size() == 1 && instruction.destinations[0].reg >= 0 &&
         kernel.registers[instruction.destinations[0].reg].type != ptx::Type::pred && !has_side_effects(instruction) &&
         instruction.opcode != Opcode::ld && instruction.opcode != Opcode::ldmatrix &&
         instruction.opcode != Opcode::mma && instruction.opcode != Opcode::activemask;
}

}  // namespace

size_t Loop::size() const { return static_cast<size_t>(std::ranges::count(contains, true)); }

std::vector<Loop> loops(const ptx::Kernel& kernel) {
  const int count = static_cast<int>(kernel.blocks.size());
  std::vector<std::vector<int>> predecessors(kernel.blocks.size());
  for (int b = 0; b < count; ++b) {
    for (const int successor : kernel.blocks[b].successors) {
      if (successor < count) predecessors[successor].push_back(b);
    }
  }
  std::vector<Loop> found;
  for (int header = 0; header < count; ++header) {
    Loop loop;
    loop.header = header;
    loop.contains.assign(kernel.blocks.size(), false);
    loop.contains[header] = true;
    for (const int end : predecessors[header]) {
      if (end >= header) add_body(predecessors, end, loop);
    }
    const bool is_loop = std::ranges::any_of(predecessors[header], [&](int end) { return end >= header; });
    if (!is_loop) continue;
    int entries = 0;
    for (const int predecessor : predecessors[header]) {
      if (loop.contains[predecessor]) continue;
      loop.before = predecessor;
      ++entries;
    }
    if (entries != 1) loop.before = -1;
    found.push_back(std::move(loop));
  }
  std::ranges::stable_sort(found, std::ranges::less{}, &Loop::size);
  return found;
}

std::vector<bool> invariants(const ptx::Kernel& kernel, const Loop& loop) {
  const auto& code = kernel.instructions;
  std::vector<int> written(kernel.registers.size(), 0);
  for (const ptx::Instruction& instruction : code) {
    for (const int reg : ptx::registers_written(instruction)) ++written[reg];
  }
  std::vector<bool> same(code.size(), false), varies(kernel.registers.size(), false);
  for (size_t i = 0; i < code.size(); ++i) {
    same[i] = loop.contains[code[i].block] && is_movable(kernel, code[i]) && written[code[i].destinations[0].reg] == 1;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < code.size(); ++i) {
      if (!loop.contains[code[i].block]) continue;
      if (same[i] && std::ranges::any_of(ptx::registers_read(code[i]), [&](int reg) { return bool(varies[reg]); })) {
        same[i] = false;
      }
      if (same[i]) continue;
      for (const int reg : ptx::registers_written(code[i])) {
        changed = changed || !varies[reg];
        varies[reg] = true;
      }
    }
  }
  return same;
}

}  // namespace warpwright
