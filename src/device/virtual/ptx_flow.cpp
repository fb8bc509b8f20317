// Control flow of a kernel: blocks and immediate post-dominators.
#include <algorithm>

#include "src/device/virtual/ptx_kernel_parser.h"

namespace warpwright::ptx {
namespace {

bool ends_block(const Instruction& instruction) {
  return instruction.opcode == Opcode::bra || instruction.opcode == Opcode::ret || instruction.opcode == Opcode::exit;
}

void cut_blocks(Kernel& kernel) {
  auto& code = kernel.instructions;
  std::vector<bool> leads(code.size() + 1, false);
  leads[0] = true;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].target >= 0) leads[static_cast<size_t>(code[i].target)] = true;
    if (ends_block(code[i])) leads[i + 1] = true;
  }
  for (size_t i = 0; i < code.size(); ++i) {
    if (leads[i]) kernel.blocks.push_back({static_cast<int>(i), static_cast<int>(i), {}, -1});
    kernel.blocks.back().last = static_cast<int>(i) + 1;
    code[i].block = static_cast<int>(kernel.blocks.size()) - 1;
  }
}

// The exit of the kernel is a block of its own here, numbered one behind the last.
void link_blocks(Kernel& kernel) {
  const int exit = static_cast<int>(kernel.blocks.size());
  for (int b = 0; b < exit; ++b) {
    Block& block = kernel.blocks[static_cast<size_t>(b)];
    const Instruction& last = kernel.instructions[static_cast<size_t>(block.last - 1)];
    if (last.opcode == Opcode::bra) {
      block.successors.push_back(kernel.instructions[static_cast<size_t>(last.target)].block);
    } else if (ends_block(last)) {
      block.successors.push_back(exit);
    }
    if ((!ends_block(last) || last.guard >= 0) && b + 1 < exit) block.successors.push_back(b + 1);
  }
}

// Blocks from which the exit can be reached, in an order in which each stands behind what it leads to (post-order of
// the reversed graph, from the exit).
std::vector<int> reverse_order(const std::vector<std::vector<int>>& predecessors, int exit) {
  std::vector<int> order;
  std::vector<bool> seen(predecessors.size(), false);
  std::vector<std::pair<int, size_t>> stack{{exit, 0}};
  seen[static_cast<size_t>(exit)] = true;
  while (!stack.empty()) {
    auto& [block, at] = stack.back();
    const auto& next = predecessors[static_cast<size_t>(block)];
    if (at < next.size()) {
      const int to = next[at++];
      if (seen[static_cast<size_t>(to)]) continue;
      seen[static_cast<size_t>(to)] = true;
      stack.emplace_back(to, 0);
    } else {
      order.push_back(block);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Cooper, Harvey and Kennedy's iteration on the reversed graph.
std::vector<int> post_dominators(const Kernel& kernel) {
  const int exit = static_cast<int>(kernel.blocks.size());
  std::vector<std::vector<int>> predecessors(static_cast<size_t>(exit) + 1);
  for (int b = 0; b < exit; ++b) {
    for (const int to : kernel.blocks[static_cast<size_t>(b)].successors) {
      predecessors[static_cast<size_t>(to)].push_back(b);
    }
  }
  const std::vector<int> order = reverse_order(predecessors, exit);
  std::vector<int> rank(static_cast<size_t>(exit) + 1, -1), dominator(static_cast<size_t>(exit) + 1, -1);
  for (size_t i = 0; i < order.size(); ++i) rank[static_cast<size_t>(order[i])] = static_cast<int>(i);
  dominator[static_cast<size_t>(exit)] = exit;
  const auto meet = [&](int a, int b) {
    while (a != b) {
      while (rank[static_cast<size_t>(a)] > rank[static_cast<size_t>(b)]) a = dominator[static_cast<size_t>(a)];
      while (rank[static_cast<size_t>(b)] > rank[static_cast<size_t>(a)]) b = dominator[static_cast<size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const int block : order) {
      if (block == exit) continue;
      int found = -1;
      for (const int to : kernel.blocks[static_cast<size_t>(block)].successors) {
        if (dominator[static_cast<size_t>(to)] < 0) continue;
        found = found < 0 ? to : meet(found, to);
      }
      if (found != dominator[static_cast<size_t>(block)]) {
        dominator[static_cast<size_t>(block)] = found;
        changed = true;
      }
    }
  }
  return dominator;
}

}  // namespace

void build_flow(Kernel& kernel) {
  cut_blocks(kernel);
  link_blocks(kernel);
  const std::vector<int> dominators = post_dominators(kernel);
  const int exit = static_cast<int>(kernel.blocks.size());
  for (size_t b = 0; b < kernel.blocks.size(); ++b) {
    kernel.blocks[b].post_dominator = dominators[b] == exit ? -1 : dominators[b];
    std::erase(kernel.blocks[b].successors, exit);
  }
}

}  // namespace warpwright::ptx
