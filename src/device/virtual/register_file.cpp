// Liveness of registers, and a linear scan over it.
#include "src/device/virtual/register_file.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace warpwright::virtual_gpu {
namespace {

using Set = std::vector<uint64_t>;

bool has(const Set& set, int i) { return (set[static_cast<size_t>(i) / 64] >> (i % 64) & 1) != 0; }
void insert(Set& set, int i) { set[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64); }

struct Liveness {
  std::vector<Set> in, out;  // by block
};

// `read`: read before written in the block; `killed`: written there by all lanes that pass.
void summarise(const ptx::Kernel& kernel, const ptx::Block& block, Set& read, Set& killed) {
  for (int i = block.first; i < block.last; ++i) {
    const ptx::Instruction& in = kernel.instructions[static_cast<size_t>(i)];
    for (const int r : ptx::registers_read(in)) {
      if (!has(killed, r)) insert(read, r);
    }
    if (in.guard >= 0) continue;
    for (const int r : ptx::registers_written(in)) insert(killed, r);
  }
}

Liveness live_registers(const ptx::Kernel& kernel) {
  const size_t blocks = kernel.blocks.size(), words = kernel.registers.size() / 64 + 1;
  Liveness out{std::vector<Set>(blocks, Set(words)), std::vector<Set>(blocks, Set(words))};
  std::vector<Set> read(blocks, Set(words)), killed(blocks, Set(words));
  for (size_t b = 0; b < blocks; ++b) summarise(kernel, kernel.blocks[b], read[b], killed[b]);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks; b-- > 0;) {
      for (const int to : kernel.blocks[b].successors) {
        for (size_t w = 0; w < words; ++w) out.out[b][w] |= out.in[static_cast<size_t>(to)][w];
      }
      for (size_t w = 0; w < words; ++w) {
        const uint64_t live = read[b][w] | (out.out[b][w] & ~killed[b][w]);
        changed = changed || live != out.in[b][w];
        out.in[b][w] = live;
      }
    }
  }
  return out;
}

// From the first to the last instruction where the register may hold a value that counts.
struct Interval {
  int reg = 0, first = 0, last = -1;
  void cover(int at) {
    first = last < 0 ? at : std::min(first, at);
    last = std::max(last, at);
  }
};

std::vector<Interval> intervals_of(const ptx::Kernel& kernel, const Liveness& live) {
  std::vector<Interval> all(kernel.registers.size());
  for (size_t r = 0; r < all.size(); ++r) all[r].reg = static_cast<int>(r);
  for (size_t b = 0; b < kernel.blocks.size(); ++b) {
    const ptx::Block& block = kernel.blocks[b];
    for (int r = 0; r < static_cast<int>(all.size()); ++r) {
      if (has(live.in[b], r)) all[static_cast<size_t>(r)].cover(block.first);
      if (has(live.out[b], r)) all[static_cast<size_t>(r)].cover(block.last - 1);
    }
    for (int i = block.first; i < block.last; ++i) {
      const ptx::Instruction& in = kernel.instructions[static_cast<size_t>(i)];
      for (const int r : ptx::registers_read(in)) all[static_cast<size_t>(r)].cover(i);
      for (const int r : ptx::registers_written(in)) all[static_cast<size_t>(r)].cover(i);
    }
  }
  std::erase_if(all, [](const Interval& interval) { return interval.last < 0; });
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) {
    return a.first != b.first ? a.first < b.first : a.reg < b.reg;
  });
  return all;
}

// Hands out places of one width and takes them back when their register is dead.
class Pool {
 public:
  explicit Pool(int lines_each) : lines_each_(lines_each) {}

  Place take(const Interval& interval, size_t& lines) {
    while (!held_.empty() && held_.top().first < interval.first) {
      free_.push_back(held_.top().second);
      held_.pop();
    }
    if (free_.empty()) {
      free_.push_back(static_cast<Place>(lines * sizeof(LaneLine)));
      lines += static_cast<size_t>(lines_each_);
    }
    const Place place = free_.back();
    free_.pop_back();
    held_.emplace(interval.last, place);
    return place;
  }

 private:
  int lines_each_;
  std::vector<Place> free_;
  std::priority_queue<std::pair<int, Place>, std::vector<std::pair<int, Place>>, std::greater<>> held_;
};

}  // namespace

RegisterFile place_registers(const ptx::Kernel& kernel) {
  const Liveness live = live_registers(kernel);
  RegisterFile file;
  file.places.assign(kernel.registers.size(), 0);
  Pool narrow(1), wide(2);
  for (const Interval& interval : intervals_of(kernel, live)) {
    const auto reg = static_cast<size_t>(interval.reg);
    const ptx::Type type = kernel.registers[reg].type;
    if (type == ptx::Type::pred) {
      file.places[reg] = static_cast<Place>(file.predicates++);
      continue;
    }
    const bool is_wide = ptx::size_bytes(type) == 8;
    file.places[reg] = (is_wide ? wide : narrow).take(interval, file.lines);
    if (has(live.in[0], interval.reg)) {
      file.zeroed.push_back(file.places[reg]);
      if (is_wide) file.zeroed.push_back(file.places[reg] + static_cast<Place>(sizeof(LaneLine)));
    }
  }
  return file;
}

}  // namespace warpwright::virtual_gpu
