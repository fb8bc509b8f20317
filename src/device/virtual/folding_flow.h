// Data flow of a kernel, for the folding: who writes a register, who reads it behind copies, what is alive.
#pragma once

#include <vector>

#include "src/device/virtual/ptx.h"

namespace warpwright {

bool is_64(ptx::Type type);

class DataFlow {
 public:
  struct Use {
    int instruction;
    bool as_address;
  };

  /// The kernel must outlive it.
  explicit DataFlow(const ptx::Kernel& kernel);

  bool is_alive(int i) const { return alive_[i]; }
  /// A copy whose two registers may be taken as one.
  bool is_alias(int i) const;
  /// An extension of what a narrow load has already extended.
  bool extends_load(const ptx::Instruction& instruction) const;
  /// Written by one instruction alone.
  bool is_single(int reg) const { return definitions_[reg].size() == 1; }
  /// The one instruction that gives the value of a register operand, behind copies; -1 when there are several.
  int source_of(const ptx::Operand& operand) const;
  /// An immediate, an address known at load, or a register that holds one.
  bool is_constant(const ptx::Operand& operand) const;
  /// The same in all threads of a CTA, as far as the data says: it may live in a uniform register.
  bool is_uniform(const ptx::Operand& operand) const;

  /// Live uses of the first destination, behind copies.
  const std::vector<Use>& uses_of(int i) const;
  /// One destination, written by this instruction alone and always.
  bool has_one_result(int i) const;
  /// The result goes to the consumer in the same block and nowhere else.
  bool feeds_only(int producer, int consumer) const;
  /// What used the result of `i` now uses its register operands that are no constants.
  void hand_over_uses(int i);

 private:
  void find_definitions();
  void find_alive();
  void find_uniform();
  void find_uses();
  int origin(int reg) const;  // the register that a chain of copies starts from

  const ptx::Kernel& kernel_;
  const std::vector<ptx::Instruction>& code_;
  std::vector<std::vector<int>> definitions_;  // by register
  std::vector<std::vector<Use>> uses_;         // by register, behind copies
  std::vector<bool> alive_;
  std::vector<bool> uniform_;  // by register
};

}  // namespace warpwright
