// Parameters, attributes, declarations and scopes of an entry function.
#include "src/device/virtual/ptx_kernel_parser.h"

#include <fmt/format.h>

#include "src/device/virtual/ptx_declaration.h"

namespace warpwright::ptx {
namespace {

constexpr uint32_t kMostParameterBytes = 32764;
constexpr uint32_t kMostSharedBytes = 1u << 20;
constexpr uint32_t kMostLocalBytes = 512u << 10;
constexpr size_t kMostRegisters = 1u << 16;
constexpr size_t kMostInstructions = 1u << 20;
constexpr size_t kDeepestScope = 64;

}  // namespace

Kernel KernelParser::run() {
  kernel_.name = in_.word("the name of the kernel");
  parse_parameters();
  parse_attributes();
  parse_body();
  finish();
  return std::move(kernel_);
}

void KernelParser::parse_parameters() {
  if (!in_.accept("(")) return;
  if (in_.accept(")")) return;
  do {
    in_.expect(".param");
    const int line = in_.line();
    const Declaration read = read_declaration(in_, kMostParameterBytes);
    Parameter parameter{read.name, read.is_array ? Type::none : read.type,
                        align_up(kernel_.parameter_bytes, read.alignment), read.bytes};
    kernel_.parameter_bytes = parameter.offset + parameter.bytes;
    if (kernel_.parameter_bytes > kMostParameterBytes) fail_at(line, "too many bytes of parameters");
    variables_[read.name] = {Space::param, parameter.offset, parameter.bytes, read.alignment};
    kernel_.parameters.push_back(std::move(parameter));
  } while (in_.accept(","));
  in_.expect(")");
}

void KernelParser::parse_attributes() {
  while (!in_.peek().is("{")) {
    const int line = in_.line();
    const std::string_view word = in_.word("an attribute of the kernel or '{'");
    if (word == ".maxntid" || word == ".reqntid") {
      auto& to = word == ".maxntid" ? kernel_.max_block : kernel_.exact_block;
      to = {1, 1, 1};
      for (size_t i = 0; i < 3; ++i) {
        to[i] = static_cast<uint32_t>(in_.integer("a block extent", 1, 1024));
        if (!in_.accept(",")) break;
      }
    } else if (word == ".minnctapersm" || word == ".maxnreg") {
      in_.integer("a limit", 1, 1 << 20);
    } else {
      fail_at(line, fmt::format("the attribute '{}' is not supported yet", word));
    }
  }
}

void KernelParser::parse_body() {
  in_.expect("{");
  while (true) {
    const Token& token = in_.peek();
    if (token.kind == Token::Kind::end) fail_at(token.line, fmt::format("kernel '{}' has no end", kernel_.name));
    if (in_.accept("}")) {
      if (!scopes_.close()) return;
    } else if (in_.accept("{")) {
      scopes_.open();
      if (scopes_.chain().size() > kDeepestScope) fail_at(token.line, "scopes nested too deep");
    } else if (token.kind == Token::Kind::word && token.text[0] == '.') {
      parse_directive();
    } else if (token.kind == Token::Kind::word && in_.peek(1).is(":")) {
      if (!scopes_.add_label(token.text, static_cast<int>(kernel_.instructions.size()))) {
        fail_at(token.line, fmt::format("the label '{}' stands twice", token.text));
      }
      in_.next();
      in_.next();
    } else if (!in_.accept(";")) {
      parse_instruction();
      if (kernel_.instructions.size() > kMostInstructions) fail_at(token.line, "too many instructions");
    }
  }
}

void KernelParser::parse_directive() {
  const int line = in_.line();
  const std::string_view word = in_.word("a directive");
  if (word == ".reg") {
    parse_registers();
  } else if (word == ".shared") {
    parse_variable(Space::shared);
  } else if (word == ".local") {
    parse_variable(Space::local);
  } else if (word == ".pragma") {
    in_.next();
    in_.expect(";");
  } else if (word == ".loc") {
    // Source positions for debuggers: the rest of the line.
    while (in_.line() == line && in_.peek().kind != Token::Kind::end) in_.next();
  } else {
    fail_at(line, fmt::format("'{}' in a kernel is not supported yet", word));
  }
}

void KernelParser::parse_registers() {
  const Type type = read_type(in_);
  do {
    const int line = in_.line();
    const std::string name(in_.word("the name of a register"));
    int64_t count = -1;
    if (in_.accept("<")) {
      count = in_.integer("the number of registers", 0, static_cast<int64_t>(kMostRegisters));
      in_.expect(">");
    }
    if (kernel_.registers.size() + static_cast<size_t>(count < 0 ? 1 : count) > kMostRegisters) {
      fail_at(line, "too many registers");
    }
    for (int64_t i = 0; i < (count < 0 ? 1 : count); ++i) {
      std::string full = count < 0 ? name : name + std::to_string(i);
      if (!scopes_.add_register(full, static_cast<int>(kernel_.registers.size()))) {
        fail_at(line, fmt::format("the register '{}' is declared twice", full));
      }
      kernel_.registers.push_back({std::move(full), type});
    }
  } while (in_.accept(","));
  in_.expect(";");
}

void KernelParser::parse_variable(Space space) {
  const uint32_t most = space == Space::shared ? kMostSharedBytes : kMostLocalBytes;
  uint32_t& used = space == Space::shared ? kernel_.shared_bytes : kernel_.local_bytes;
  do {
    const int line = in_.line();
    const Declaration read = read_declaration(in_, most);
    if (read.is_unsized || !read.contents.empty()) fail_at(line, fmt::format("'{}' must have a size alone", read.name));
    const uint32_t offset = align_up(used, read.alignment);
    used = offset + read.bytes;
    if (used > most) fail_at(line, fmt::format("'{}' does not fit {} bytes", read.name, most));
    variables_[read.name] = {space, offset, read.bytes, read.alignment};
  } while (in_.accept(","));
  in_.expect(";");
}

Operand KernelParser::symbol_operand(const std::string& name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) fail_at(in_.line(), fmt::format("'{}' is not declared", name));
  Variable& variable = found->second;
  if (!variable.is_placed) {
    variable.offset = align_up(kernel_.shared_bytes, variable.alignment);
    kernel_.shared_bytes = variable.offset + variable.bytes;
    variable.is_placed = true;
    if (kernel_.shared_bytes > kMostSharedBytes) fail_at(in_.line(), "too much shared memory");
  }
  Operand out;
  out.kind = Operand::Kind::symbol;
  out.space = variable.space;
  out.value = variable.offset;
  out.symbol = variable.global;
  if (variable.is_dynamic) {
    dynamic_alignment_ = std::max(dynamic_alignment_, variable.alignment);
    out.symbol = -2;  // finish() adds the offset of dynamic memory
  }
  return out;
}

void KernelParser::finish() {
  auto& code = kernel_.instructions;
  if (code.empty() || code.back().guard >= 0 ||
      (code.back().opcode != Opcode::ret && code.back().opcode != Opcode::exit)) {
    Instruction end;
    end.opcode = Opcode::ret;
    end.text = "ret";
    end.line = in_.line();
    code.push_back(std::move(end));
  }
  for (const Jump& jump : jumps_) {
    const int target = scopes_.find_label(jump.label, jump.scopes);
    Instruction& from = code[static_cast<size_t>(jump.instruction)];
    if (target < 0) fail_at(from.line, fmt::format("the label '{}' is missing", jump.label));
    from.target = std::min(target, static_cast<int>(code.size()) - 1);
  }
  kernel_.dynamic_shared_offset = align_up(kernel_.shared_bytes, dynamic_alignment_);
  for (Instruction& instruction : code) {
    for (auto* list : {&instruction.destinations, &instruction.sources}) {
      for (Operand& operand : *list) {
        if (operand.symbol != -2) continue;
        operand.symbol = -1;
        operand.value += kernel_.dynamic_shared_offset;
      }
    }
    check_instruction(instruction, kernel_);
  }
  build_flow(kernel_);
}

}  // namespace warpwright::ptx
