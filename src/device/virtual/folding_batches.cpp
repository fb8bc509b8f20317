// Which loads ptxas brings into flight together.
#include <algorithm>

#include "src/device/virtual/folding.h"

namespace warpwright {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Space;

constexpr int kWordsInFlight = 32;  // registers that ptxas gives to loads whose results nobody needs yet

bool is_load(const Instruction& instruction) {
  if (instruction.opcode == Opcode::ldmatrix) return true;
  return instruction.opcode == Opcode::ld && instruction.space != Space::param && instruction.space != Space::local;
}

/// Loads stay on their side of these.
bool stops_loads(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::bar:
    case Opcode::bar_warp:
    case Opcode::fence:
    case Opcode::membar:
    case Opcode::atom:
    case Opcode::red:
      return true;
    default:
      return false;
  }
}

/// ldmatrix gives a register for each of its matrices.
int words_of(const Instruction& load) {
  if (load.opcode == Opcode::ldmatrix) return load.vector;
  return load.vector * std::max(1, ptx::size_bytes(load.type) / 4);
}

class Batcher {
 public:
  explicit Batcher(const ptx::Kernel& kernel)
      : kernel_(kernel), batches_(kernel.instructions.size(), -1), levels_(kernel.registers.size(), 0) {}

  std::vector<int> run() {
    for (const ptx::Block& block : kernel_.blocks) {
      start_stretch();
      for (int i = block.first; i < block.last; ++i) {
        const Instruction& instruction = kernel_.instructions[i];
        if (stops_loads(instruction)) start_stretch();
        visit(i);
      }
    }
    return std::move(batches_);
  }

 private:
  /// An open batch: loads of one space that depend on equally many loads before them in the stretch.
  struct Open {
    Space space;
    int level, batch, words;
  };

  void start_stretch() {
    open_.clear();
    for (const int reg : touched_) levels_[reg] = 0;
    touched_.clear();
  }

  void visit(int i) {
    const Instruction& instruction = kernel_.instructions[i];
    int level = 0;
    for (const int reg : registers_read(instruction)) level = std::max(level, levels_[reg]);
    if (is_load(instruction)) {
      batches_[i] = batch_for(instruction, level);
      ++level;
    }
    for (const int reg : registers_written(instruction)) {
      levels_[reg] = level;
      touched_.push_back(reg);
    }
  }

  int batch_for(const Instruction& load, int level) {
    auto found =
        std::ranges::find_if(open_, [&](const Open& open) { return open.space == load.space && open.level == level; });
    if (found == open_.end()) found = open_.insert(open_.end(), {load.space, level, count_++, 0});
    if (found->words > 0 && found->words + words_of(load) > kWordsInFlight) {
      found->batch = count_++;
      found->words = 0;
    }
    found->words += words_of(load);
    return found->batch;
  }

  const ptx::Kernel& kernel_;
  std::vector<int> batches_;
  std::vector<int> levels_;   // by register: loads behind one another in this stretch that it depends on
  std::vector<int> touched_;  // registers with a level
  std::vector<Open> open_;
  int count_ = 0;
};

}  // namespace

std::vector<int> load_batches(const ptx::Kernel& kernel) { return Batcher(kernel).run(); }

}  // namespace warpwright
