// Folding: data flow over the decoded kernel, then one rule after the other. Each rule is a habit of ptxas.
#include "src/device/virtual/folding.h"

#include <algorithm>

#include "src/device/virtual/folding_cost.h"
#include "src/device/virtual/folding_flow.h"
#include "src/device/virtual/folding_loops.h"

namespace warpwright {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

constexpr int64_t kOffsetLimit = 1 << 23;      // the offset of an address has 24 bits with its sign
constexpr int64_t kCopyOffsetLimit = 1 << 11;  // what cp.async reads: 12 bits
constexpr int kPredicatedLimit = 7;            // a branch over fewer instructions becomes predicates

bool is_word(Type type) { return !is_float(type) && ptx::size_bytes(type) == 4; }
bool is_sum(const Instruction& i) { return (i.opcode == Opcode::add || i.opcode == Opcode::sub) && !i.carry_out; }
bool is_word_shift(const Instruction& i) {
  return (i.opcode == Opcode::shl || i.opcode == Opcode::shr) && is_word(i.type);
}
bool is_logic(const Instruction& i) {
  return i.opcode == Opcode::and_ || i.opcode == Opcode::or_ || i.opcode == Opcode::xor_ || i.opcode == Opcode::not_;
}
class Folder {
 public:
  explicit Folder(const ptx::Kernel& kernel)
      : kernel_(kernel), code_(kernel.instructions), flow_(kernel), fused_(code_.size()), leaves_(code_.size(), 2) {}

  std::vector<IssueCost> run() {
    for (int i = 0; i < size(); ++i) {
      costs_.push_back(cost_alone(code_[i]));
      if (!flow_.is_alive(i) || flow_.is_alias(i) || flow_.extends_load(code_[i])) {
        costs_[i].slots = costs_[i].special_slots = 0;
      }
    }
    charge_moves();
    fold_extensions();
    fold_source_sizes();
    fold_offsets();
    for (int i = 0; i < size(); ++i) {
      if (!flow_.is_alive(i)) continue;
      if (is_sum(code_[i])) fold_into_sum(i);
      if (is_logic(code_[i])) fold_into_logic(i);
      if (code_[i].opcode == Opcode::setp) fold_into_comparison(i);
      fold_modifier(i);
    }
    fold_branches();
    move_out_of_loops();
    return std::move(costs_);
  }

 private:
  using Use = DataFlow::Use;

  int size() const { return static_cast<int>(code_.size()); }

  /// A variable of a loop or of an if takes its first value by a real move; two zeros are set by one instruction.
  void charge_moves() {
    bool half_pair = false;
    std::vector<int> constant_in(kernel_.registers.size(), -1);  // the block in which it was last set, to a constant
    for (int i = 0; i < size(); ++i) {
      const Instruction& move = code_[i];
      const bool copies_constant = is_plain_move(move) && is_constant_here(move, constant_in);
      for (const int reg : registers_written(move)) constant_in[reg] = copies_constant ? move.block : -1;
      if (!flow_.is_alive(i) || !is_plain_move(move) || flow_.is_single(move.destinations[0].reg)) continue;
      const int source = flow_.source_of(move.sources[0]);
      const bool is_parameter =
          source >= 0 && code_[source].opcode == Opcode::ld && code_[source].space == ptx::Space::param;
      if (copies_constant) {
        half_pair = !half_pair;
        costs_[i] = {Pipe::integer, static_cast<uint8_t>(half_pair ? 1 : 0)};
      } else if (is_parameter) {
        costs_[i] = {Pipe::integer, 1};
      }
    }
  }

  static bool is_plain_move(const Instruction& move) {
    return move.opcode == Opcode::mov && move.destinations.size() == 1 && move.sources.size() == 1;
  }

  bool is_constant_here(const Instruction& move, const std::vector<int>& constant_in) const {
    const Operand& source = move.sources[0];
    if (flow_.is_constant(source)) return true;
    return source.kind == Operand::Kind::reg && constant_in[source.reg] == move.block;
  }

  /// Sign extension to 64 bits is part of the addition that follows.
  void fold_extensions() {
    for (int i = 0; i < size(); ++i) {
      const Instruction& extension = code_[i];
      if (!flow_.is_alive(i) || extension.opcode != Opcode::cvt || !is_64(extension.type) ||
          is_float(extension.source_type) || ptx::size_bytes(extension.source_type) != 4 || !flow_.has_one_result(i)) {
        continue;
      }
      const auto& uses = flow_.uses_of(i);
      if (std::ranges::all_of(uses, [&](const Use& use) { return is_sum(code_[use.instruction]); }))
        costs_[i].slots = 0;
    }
  }

  /// The choice between all and nothing that a cp.async reads is a predicate of it.
  void fold_source_sizes() {
    for (int i = 0; i < size(); ++i) {
      if (!flow_.is_alive(i) || code_[i].opcode != Opcode::selp || !flow_.has_one_result(i)) continue;
      const auto& uses = flow_.uses_of(i);
      const bool constants = flow_.is_constant(code_[i].sources[0]) && flow_.is_constant(code_[i].sources[1]);
      if (constants && std::ranges::all_of(uses, [&](const Use& use) {
            return code_[use.instruction].opcode == Opcode::cp_async && !use.as_address;
          })) {
        costs_[i].slots = 0;
      }
    }
  }

  /// Constants added to what is only ever an address move into the offsets of the accesses; so does, in shared memory,
  /// one uniform register: `LDS [R1+UR4+0x80]`.
  void fold_offsets() {
    std::vector<bool> has_uniform(code_.size(), false);  // of a memory access
    for (int i = size() - 1; i >= 0; --i) {
      const Instruction& sum = code_[i];
      if (!flow_.is_alive(i) || !is_sum(sum) || is_float(sum.type) || !flow_.has_one_result(i)) continue;
      const bool constant =
          flow_.is_constant(sum.sources[1]) || (sum.opcode == Opcode::add && flow_.is_constant(sum.sources[0]));
      const bool uniform = sum.opcode == Opcode::add && is_word(sum.type) &&
                           flow_.is_uniform(sum.sources[0]) != flow_.is_uniform(sum.sources[1]);
      if ((!constant && !uniform) || !fits_offset(sum, kOffsetLimit)) continue;
      const auto& uses = flow_.uses_of(i);
      const bool only_addresses = !uses.empty() && std::ranges::all_of(uses, [&](const Use& use) {
        const Instruction& user = code_[use.instruction];
        const bool is_copy = user.opcode == Opcode::cp_async;
        if (is_copy && is_64(sum.type) && !fits_offset(sum, kCopyOffsetLimit)) return false;
        const bool takes_uniform = user.space == ptx::Space::shared && !is_copy && !has_uniform[use.instruction];
        return use.as_address && (constant || takes_uniform);
      });
      if (!only_addresses) continue;
      for (const Use& use : uses) has_uniform[use.instruction] = has_uniform[use.instruction] || !constant;
      fused_[i] = true;
      costs_[i].slots = 0;
      flow_.hand_over_uses(i);
    }
  }

  static bool fits_offset(const Instruction& sum, int64_t limit) {
    return std::ranges::all_of(sum.sources, [limit](const Operand& source) {
      return source.kind != Operand::Kind::immediate || (source.value < limit && source.value >= -limit);
    });
  }

  /// mul + add → mad, shift + add → lea, add + add → three-input add, mul.wide + add.s64 → one wide mad.
  void fold_into_sum(int i) {
    const Instruction& sum = code_[i];
    if (fused_[i] || is_float(sum.type)) return;
    for (const Operand& operand : sum.sources) {
      const int source = flow_.source_of(operand);
      if (source < 0 || !flow_.is_alive(source)) continue;
      if (is_64(sum.type) ? fold_wide(i, source) : fold_word(i, source)) return;
    }
  }

  bool fold_wide(int i, int source) {
    const Instruction& from = code_[source];
    const auto goes_to_sums = [&] {
      return flow_.has_one_result(source) && std::ranges::all_of(flow_.uses_of(source), [&](const Use& use) {
               return is_sum(code_[use.instruction]) && is_64(code_[use.instruction].type);
             });
    };
    const bool is_product = from.opcode == Opcode::mul && from.mul_mode == ptx::MulMode::wide;
    const bool is_shift = from.opcode == Opcode::shl && is_64(from.type) && flow_.is_constant(from.sources[1]);
    if (is_sum(from) && !fused_[source] && flow_.feeds_only(source, i)) {
      costs_[source].slots = 0;
      return fused_[i] = true;
    }
    if ((!is_product && !is_shift) || !goes_to_sums()) return false;
    costs_[source].slots = 0;
    if (is_product) costs_[i] = {Pipe::multiply, 1};
    return fused_[i] = true;
  }

  bool fold_word(int i, int source) {
    const Instruction& from = code_[source];
    if (!is_word(from.type) || !flow_.feeds_only(source, i) || fused_[source]) return false;
    if (from.opcode == Opcode::mul && from.mul_mode == ptx::MulMode::lo) {
      costs_[i] = {Pipe::multiply, 1};
    } else if (!(is_word_shift(from) && flow_.is_constant(from.sources[1])) && !is_sum(from) &&
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
            const int source = flow_.source_of(operand);
            return source >= 0 && code_[source].opcode == Opcode::setp && flow_.feeds_only(source, i);
          });
      if (joins) costs_[i].slots = 0;
      return;
    }
    for (const Operand& operand : logic.sources) {
      const int source = flow_.source_of(operand);
      if (source < 0 || !flow_.feeds_only(source, i)) continue;
      // A field that is put into place: lea, as the bits do not meet.
      if (logic.opcode == Opcode::or_ && is_word_shift(code_[source]) && flow_.is_constant(code_[source].sources[1]) &&
          !fused_[i]) {
        costs_[source].slots = 0;
        fused_[i] = true;
        leaves_[i] = 3;
      }
      if (!is_logic(code_[source]) || code_[source].type == Type::pred || fused_[source]) continue;
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
    const int source = flow_.source_of(test.sources[0]);
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
          live_slots(body) < kPredicatedLimit && side != block.post_dominator && !is_jump(body)) {
        return true;
      }
    }
    return false;
  }

  bool is_jump(const ptx::Block& block) const {
    return block.first == block.last - 1 && code_[block.first].opcode == Opcode::bra;
  }

  /// A block of one jump: `@%p bra BODY; bra AFTER; BODY:`.
  bool is_else_of_short_if(int b) const { return b > 0 && is_short_if(b - 1); }

  /// What is the same each time round a loop is computed before it.
  void move_out_of_loops() {
    std::vector<int> before(code_.size(), -1);  // the block that each instruction moves to
    std::vector<bool> stays(code_.size(), false);
    for (const Loop& loop : loops(kernel_)) {
      const std::vector<bool> moves = loop.before >= 0 ? invariants(kernel_, loop) : std::vector<bool>(code_.size());
      for (int i = 0; i < size(); ++i) {
        if (!loop.contains[code_[i].block]) continue;
        stays[i] = stays[i] || !moves[i];
        if (!stays[i]) before[i] = loop.before;
      }
    }
    for (int i = 0; i < size(); ++i) {
      if (before[i] < 0 || costs_[i].slots == 0) continue;
      costs_[kernel_.blocks[before[i]].last - 1].moved_slots += static_cast<uint16_t>(costs_[i].slots);
      costs_[i].slots = 0;
    }
  }

  const ptx::Kernel& kernel_;
  const std::vector<Instruction>& code_;
  DataFlow flow_;
  std::vector<IssueCost> costs_;
  std::vector<bool> fused_;  // has taken in another instruction, or was taken in
  std::vector<int> leaves_;  // of a tree of logic
};

}  // namespace

std::vector<IssueCost> fold(const ptx::Kernel& kernel) { return Folder(kernel).run(); }

uint64_t total_slots(const std::vector<IssueCost>& costs) {
  uint64_t total = 0;
  for (const IssueCost& cost : costs) total += cost.all();
  return total;
}

}  // namespace warpwright
