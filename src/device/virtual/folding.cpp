// Folding: data flow over the decoded kernel, then one rule after the other. Each rule is a habit of ptxas.
#include "src/device/virtual/folding.h"

#include <algorithm>
#include <set>

#include "src/device/virtual/folding_cost.h"

namespace warpwright {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

constexpr int64_t kOffsetLimit = 1 << 23;  // the offset of an address has 24 bits with its sign
constexpr int kPredicatedLimit = 7;        // a branch over fewer instructions becomes predicates

bool is_64(Type type) { return type == Type::b64 || type == Type::u64 || type == Type::s64; }
bool is_word(Type type) { return !is_float(type) && ptx::size_bytes(type) == 4; }
bool is_sum(const Instruction& i) { return (i.opcode == Opcode::add || i.opcode == Opcode::sub) && !i.carry_out; }
bool is_logic(const Instruction& i) {
  return i.opcode == Opcode::and_ || i.opcode == Opcode::or_ || i.opcode == Opcode::xor_ || i.opcode == Opcode::not_;
}
bool is_memory(const Instruction& i) {
  return i.opcode == Opcode::ld || i.opcode == Opcode::st || i.opcode == Opcode::atom || i.opcode == Opcode::red;
}

class Folder {
 public:
  explicit Folder(const ptx::Kernel& kernel) : kernel_(kernel), code_(kernel.instructions) {}

  std::vector<IssueCost> run() {
    for (const Instruction& instruction : code_) costs_.push_back(cost_alone(instruction));
    fused_.resize(code_.size());
    leaves_.assign(code_.size(), 2);
    find_definitions();
    drop_dead();
    find_uses();
    charge_moves();
    fold_extensions();
    fold_offsets();
    for (size_t i = 0; i < code_.size(); ++i) {
      if (!alive_[i]) continue;
      if (is_sum(code_[i])) fold_into_sum(static_cast<int>(i));
      if (is_logic(code_[i])) fold_into_logic(static_cast<int>(i));
      if (code_[i].opcode == Opcode::setp) fold_into_comparison(static_cast<int>(i));
      fold_modifier(static_cast<int>(i));
    }
    fold_branches();
    return std::move(costs_);
  }

 private:
  struct Use {
    int instruction;
    bool as_address;
  };

  void find_definitions() {
    definitions_.resize(kernel_.registers.size());
    for (size_t i = 0; i < code_.size(); ++i) {
      for (const int reg : registers_written(code_[i])) definitions_[reg].push_back(static_cast<int>(i));
    }
  }

  /// Marks from the instructions with effects backwards; the rest costs nothing.
  void drop_dead() {
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
    for (size_t i = 0; i < code_.size(); ++i) {
      if (!alive_[i]) costs_[i].slots = costs_[i].special_slots = 0;
    }
  }

  bool is_single(int reg) const { return definitions_[reg].size() == 1; }

  /// A copy whose two registers may be taken as one.
  bool is_alias(int i) const {
    const Instruction& instruction = code_[i];
    return (is_copy(instruction) || load_extends(instruction)) && instruction.guard < 0 &&
           instruction.sources[0].kind == Operand::Kind::reg && is_single(instruction.destinations[0].reg) &&
           is_single(instruction.sources[0].reg);
  }

  /// An extension of what a narrow load has already extended.
  bool load_extends(const Instruction& instruction) const {
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

  /// The register that a chain of copies starts from.
  int origin(int reg) const {
    while (is_single(reg) && is_alias(definitions_[reg][0])) reg = code_[definitions_[reg][0]].sources[0].reg;
    return reg;
  }

  /// The one instruction that gives the value of a register operand, behind copies; -1 when there are several.
  int source_of(const Operand& operand) const {
    if (operand.kind != Operand::Kind::reg) return -1;
    const int reg = origin(operand.reg);
    return is_single(reg) ? definitions_[reg][0] : -1;
  }

  /// An immediate, an address known at load, or a register that holds one.
  bool is_constant(const Operand& operand) const {
    if (operand.kind == Operand::Kind::immediate) return true;
    if (operand.kind == Operand::Kind::symbol) return operand.space != ptx::Space::global;
    const int source = source_of(operand);
    return source >= 0 && code_[source].opcode == Opcode::mov && code_[source].sources.size() == 1 &&
           code_[source].sources[0].kind != Operand::Kind::reg && is_constant(code_[source].sources[0]);
  }

  void find_uses() {
    uses_.resize(kernel_.registers.size());
    for (size_t i = 0; i < code_.size(); ++i) {
      if (!alive_[i] || is_alias(static_cast<int>(i))) continue;
      if (load_extends(code_[i])) costs_[i].slots = 0;
      const Instruction& instruction = code_[i];
      for (const Operand& source : instruction.sources) {
        if (source.reg < 0) continue;
        const bool as_address = is_memory(instruction) && source.kind == Operand::Kind::address;
        uses_[origin(source.reg)].push_back({static_cast<int>(i), as_address});
      }
      if (instruction.guard >= 0) uses_[origin(instruction.guard)].push_back({static_cast<int>(i), false});
    }
    for (size_t i = 0; i < code_.size(); ++i) {
      if (alive_[i] && is_alias(static_cast<int>(i))) costs_[i].slots = 0;
    }
  }

  const std::vector<Use>& uses_of(int i) const {
    static const std::vector<Use> none;
    return code_[i].destinations.empty() || code_[i].destinations[0].reg < 0
               ? none
               : uses_[origin(code_[i].destinations[0].reg)];
  }

  bool has_one_result(int i) const {
    return code_[i].destinations.size() == 1 && code_[i].destinations[0].reg >= 0 &&
           is_single(code_[i].destinations[0].reg) && code_[i].guard < 0;
  }

  /// The result goes to one place in the same block and nowhere else.
  bool feeds_only(int producer, int consumer) const {
    return has_one_result(producer) && uses_of(producer).size() == 1 && code_[producer].block == code_[consumer].block;
  }

  /// A variable of a loop or of an if takes its first value by a real move; two zeros are set by one instruction.
  void charge_moves() {
    bool half_pair = false;
    for (size_t i = 0; i < code_.size(); ++i) {
      const Instruction& move = code_[i];
      if (!alive_[i] || move.opcode != Opcode::mov || move.destinations.size() != 1 || move.sources.size() != 1)
        continue;
      if (is_single(move.destinations[0].reg)) continue;
      const int source = source_of(move.sources[0]);
      const bool is_parameter =
          source >= 0 && code_[source].opcode == Opcode::ld && code_[source].space == ptx::Space::param;
      if (is_constant(move.sources[0])) {
        half_pair = !half_pair;
        costs_[i] = {Pipe::integer, static_cast<uint8_t>(half_pair ? 1 : 0)};
      } else if (is_parameter) {
        costs_[i] = {Pipe::integer, 1};
      }
    }
  }

  /// Sign extension to 64 bits is part of the addition that follows.
  void fold_extensions() {
    for (size_t i = 0; i < code_.size(); ++i) {
      const Instruction& extension = code_[i];
      if (!alive_[i] || extension.opcode != Opcode::cvt || !is_64(extension.type) || is_float(extension.source_type) ||
          ptx::size_bytes(extension.source_type) != 4 || !has_one_result(static_cast<int>(i))) {
        continue;
      }
      const auto& uses = uses_of(static_cast<int>(i));
      if (std::ranges::all_of(uses, [&](const Use& use) { return is_sum(code_[use.instruction]); }))
        costs_[i].slots = 0;
    }
  }

  /// Constants added to what is only ever an address move into the offsets of the accesses.
  void fold_offsets() {
    std::vector<bool> folded(code_.size(), false);
    for (int i = static_cast<int>(code_.size()) - 1; i >= 0; --i) {
      const Instruction& sum = code_[i];
      if (!alive_[i] || !is_sum(sum) || is_float(sum.type) || !has_one_result(i)) continue;
      const bool constant = is_constant(sum.sources[1]) || (sum.opcode == Opcode::add && is_constant(sum.sources[0]));
      if (!constant || !fits_offset(sum)) continue;
      const auto& uses = uses_of(i);
      const bool only_addresses = !uses.empty() && std::ranges::all_of(uses, [&](const Use& use) {
        return use.as_address || folded[use.instruction];
      });
      if (!only_addresses) continue;
      folded[i] = true;
      fused_[i] = true;
      costs_[i].slots = 0;
      hand_over_uses(i);
    }
  }

  static bool fits_offset(const Instruction& sum) {
    return std::ranges::all_of(sum.sources, [](const Operand& source) {
      return source.kind != Operand::Kind::immediate || (source.value < kOffsetLimit && source.value >= -kOffsetLimit);
    });
  }

  /// What used the folded sum now uses its register operand.
  void hand_over_uses(int i) {
    for (const Operand& source : code_[i].sources) {
      if (source.reg < 0 || is_constant(source)) continue;
      auto& uses = uses_[origin(source.reg)];
      std::erase_if(uses, [&](const Use& use) { return use.instruction == i; });
      for (const Use& use : uses_of(i)) uses.push_back(use);
    }
  }

  /// mul + add → mad, shl + add → lea, add + add → three-input add, mul.wide + add.s64 → one wide mad.
  void fold_into_sum(int i) {
    const Instruction& sum = code_[i];
    if (fused_[i] || is_float(sum.type)) return;
    for (const Operand& operand : sum.sources) {
      const int source = source_of(operand);
      if (source < 0 || !alive_[source]) continue;
      if (is_64(sum.type) ? fold_wide(i, source) : fold_word(i, source)) return;
    }
  }

  bool fold_wide(int i, int source) {
    const Instruction& from = code_[source];
    const auto goes_to_sums = [&] {
      return has_one_result(source) && std::ranges::all_of(uses_of(source), [&](const Use& use) {
               return is_sum(code_[use.instruction]) && is_64(code_[use.instruction].type);
             });
    };
    const bool is_product = from.opcode == Opcode::mul && from.mul_mode == ptx::MulMode::wide;
    const bool is_shift = from.opcode == Opcode::shl && is_64(from.type) && is_constant(from.sources[1]);
    if ((!is_product && !is_shift) || !goes_to_sums()) return false;
    costs_[source].slots = 0;
    if (is_product) costs_[i] = {Pipe::multiply, 1};
    return fused_[i] = true;
  }

  bool fold_word(int i, int source) {
    const Instruction& from = code_[source];
    if (!is_word(from.type) || !feeds_only(source, i) || fused_[source]) return false;
    if (from.opcode == Opcode::mul && from.mul_mode == ptx::MulMode::lo) {
      costs_[i] = {Pipe::multiply, 1};
    } else if (!(from.opcode == Opcode::shl && is_constant(from.sources[1])) && !is_sum(from) &&
               from.opcode != Opcode::neg) {
      return false;
    }
    costs_[source].slots = 0;
    return fused_[i] = true;
  }

  /// A tree of logic with up to three leaves is one lop3; predicates join the comparison before them.
  void fold_into_logic(int i) {
    const Instruction& logic = code_[i];
    if (logic.opcode == Opcode::not_) leaves_[i] = 1;
    if (logic.type == Type::pred) {
      const bool joins =
          logic.opcode == Opcode::not_ || std::ranges::any_of(logic.sources, [&](const Operand& operand) {
            const int source = source_of(operand);
            return source >= 0 && code_[source].opcode == Opcode::setp && feeds_only(source, i);
          });
      if (joins) costs_[i].slots = 0;
      return;
    }
    for (const Operand& operand : logic.sources) {
      const int source = source_of(operand);
      if (source < 0 || !is_logic(code_[source]) || code_[source].type == Type::pred || !feeds_only(source, i))
        continue;
      if (leaves_[source] + leaves_[i] - 1 > 3) continue;
      leaves_[i] += leaves_[source] - 1;
      costs_[source].slots = 0;
    }
  }

  /// lop3 sets a predicate by itself when its result is compared with zero.
  void fold_into_comparison(int i) {
    const Instruction& test = code_[i];
    if (test.compare != ptx::Compare::eq && test.compare != ptx::Compare::ne) return;
    if (is_float(test.type) || test.sources[1].kind != Operand::Kind::immediate || test.sources[1].value != 0) return;
    const int source = source_of(test.sources[0]);
    if (source >= 0 && is_logic(code_[source]) && code_[source].type != Type::pred &&
        code_[source].block == test.block) {
      costs_[i].slots = 0;
    }
  }

  /// Signs of floats are modifiers of the operand.
  void fold_modifier(int i) {
    if (is_float(code_[i].type) && (code_[i].opcode == Opcode::neg || code_[i].opcode == Opcode::abs)) {
      costs_[i].slots = 0;
    }
  }

  void fold_branches() {
    for (size_t b = 0; b < kernel_.blocks.size(); ++b) {
      const ptx::Block& block = kernel_.blocks[b];
      const int last = block.last - 1;
      if (last < block.first || code_[last].opcode != Opcode::bra) continue;
      if (code_[last].target == block.last) {
        costs_[last].slots = 0;
      } else if (code_[last].guard >= 0 && is_short_if(static_cast<int>(b))) {
        costs_[last].slots = 0;
      } else if (code_[last].guard < 0 && last == block.first && is_else_of_short_if(static_cast<int>(b))) {
        costs_[last].slots = 0;
      }
    }
  }

  int live_slots(const ptx::Block& block) const {
    int slots = 0;
    for (int i = block.first; i < block.last; ++i) {
      if (code_[i].opcode == Opcode::bar || code_[i].opcode == Opcode::ret) return kPredicatedLimit;
      slots += code_[i].opcode == Opcode::bra ? 0 : costs_[i].slots;
    }
    return slots;
  }

  /// Block b branches forward over, or to, one short block that then goes where b would go.
  bool is_short_if(int b) const {
    const ptx::Block& block = kernel_.blocks[b];
    for (const int side : block.successors) {
      if (side <= b) return false;
      const ptx::Block& body = kernel_.blocks[side];
      if (body.successors.size() == 1 && body.successors[0] == block.post_dominator &&
          live_slots(body) < kPredicatedLimit && side != block.post_dominator && body.first != body.last - 1) {
        return true;
      }
    }
    return false;
  }

  /// A block of one jump: `@%p bra BODY; bra AFTER; BODY:`.
  bool is_else_of_short_if(int b) const { return b > 0 && is_short_if(b - 1); }

  const ptx::Kernel& kernel_;
  const std::vector<Instruction>& code_;
  std::vector<IssueCost> costs_;
  std::vector<std::vector<int>> definitions_;  // by register
  std::vector<std::vector<Use>> uses_;         // by register, behind copies
  std::vector<bool> alive_;
  std::vector<bool> fused_;  // has taken in another instruction, or was taken in
  std::vector<int> leaves_;  // of a tree of logic
};

}  // namespace

std::vector<IssueCost> fold(const ptx::Kernel& kernel) { return Folder(kernel).run(); }

uint64_t total_slots(const std::vector<IssueCost>& costs) {
  uint64_t total = 0;
  for (const IssueCost& cost : costs) total += cost.slots + cost.special_slots;
  return total;
}

}  // namespace warpwright
