// Parses the parameters and the body of one entry function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/device/virtual/ptx.h"
#include "src/device/virtual/ptx_lexer.h"
#include "src/device/virtual/ptx_opcodes.h"
#include "src/device/virtual/ptx_scope.h"

namespace warpwright::ptx {

class KernelParser {
 public:
  /// `module_variables` holds what the module has declared so far.
  KernelParser(TokenStream& in, const Variables& module_variables) : in_(in), variables_(module_variables) {}

  /// From the name behind `.entry` to the closing brace.
  Kernel run();

 private:
  struct Jump {
    int instruction;
    std::string label;
    std::vector<int> scopes;
  };

  void parse_parameters();
  void parse_attributes();
  void parse_body();
  void parse_directive();
  void parse_registers();
  void parse_variable(Space space);
  void finish();

  void parse_instruction();
  void parse_guard(Instruction& out);
  const OpcodeRule& parse_opcode(std::string_view word, Instruction& out);
  void parse_operands(const OpcodeRule& rule, Instruction& out);
  void parse_branch();
  void parse_destination(Instruction& out);
  // One operand, or each of a vector in braces.
  void parse_source(std::vector<Operand>& out);
  Operand parse_simple();
  Operand parse_address();
  Operand parse_name(std::string_view word);
  int64_t parse_offset();
  // Places shared variables of the module when they are first used.
  Operand symbol_operand(const std::string& name);

  TokenStream& in_;
  Variables variables_;
  Scopes scopes_;
  Kernel kernel_;
  std::vector<Jump> jumps_;
  uint32_t dynamic_alignment_ = 16;
};

/// Throws UsageError when modifiers are missing or do not go together, or an operand does not fit the type.
void check_instruction(const Instruction& instruction, const Kernel& kernel);

/// The same for mma, ldmatrix, cp.async, cvt.pack and prefetch: gives why not, or null.
const char* why_tensor_instruction_wrong(const Instruction& instruction, const Kernel& kernel);

/// Throws UsageError when the module's version of PTX or its target is too old for the instruction.
void check_available(const Instruction& instruction, const Kernel& kernel, const Module& module);

/// Blocks, successors and immediate post-dominators.
void build_flow(Kernel& kernel);

}  // namespace warpwright::ptx
