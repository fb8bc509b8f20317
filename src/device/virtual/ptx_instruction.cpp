// Parses one instruction: guard, opcode with modifiers, operands.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/device/virtual/ptx_kernel_parser.h"

namespace warpwright::ptx {
namespace {

constexpr std::pair<std::string_view, Special> kSpecials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
};

Operand immediate(int64_t value) {
  Operand out;
  out.kind = Operand::Kind::immediate;
  out.value = value;
  return out;
}

}  // namespace

void KernelParser::parse_instruction() {
  Instruction out;
  out.line = in_.line();
  if (in_.accept("@")) parse_guard(out);
  const std::string_view word = in_.word("an instruction");
  const OpcodeRule& rule = parse_opcode(word, out);
  if (out.opcode == Opcode::bra) {
    parse_branch();
  } else {
    parse_operands(rule, out);
  }
  in_.expect(";");
  kernel_.instructions.push_back(std::move(out));
}

void KernelParser::parse_guard(Instruction& out) {
  out.guard_negated = in_.accept("!");
  const std::string name(in_.word("a predicate"));
  out.guard = scopes_.find_register(name);
  if (out.guard < 0) fail_at(out.line, fmt::format("the register '{}' is not declared", name));
}

const OpcodeRule& KernelParser::parse_opcode(std::string_view word, Instruction& out) {
  out.text = word;
  std::array<size_t, 3> ends{};  // of one, two and three words: the longest that is an opcode counts
  for (size_t i = 0, from = 0; i < ends.size(); ++i) {
    ends[i] = word.find('.', from);
    from = std::min(ends[i], word.size() - 1) + 1;
  }
  const OpcodeRule* rule = nullptr;
  size_t end = 0;
  for (size_t i = ends.size(); i > 0 && rule == nullptr; --i) {
    end = ends[i - 1];
    rule = find_opcode(word.substr(0, end));
  }
  if (rule == nullptr) fail_at(out.line, fmt::format("'{}' is not supported yet", word));
  out.opcode = rule->opcode;
  int types_seen = 0;
  while (end != std::string_view::npos) {
    const size_t next = word.find('.', end + 1);
    const std::string_view modifier = word.substr(end + 1, next == std::string_view::npos ? next : next - end - 1);
    if (!apply_modifier(*rule, modifier, out, types_seen)) {
      fail_at(out.line, fmt::format("'{}' is not supported yet (.{})", word, modifier));
    }
    end = next;
  }
  if (types_seen != rule->type_count) fail_at(out.line, fmt::format("'{}' needs {} types", word, rule->type_count));
  return *rule;
}

void KernelParser::parse_branch() {
  jumps_.push_back({static_cast<int>(kernel_.instructions.size()), std::string(in_.word("a label")), scopes_.chain()});
}

void KernelParser::parse_operands(const OpcodeRule& rule, Instruction& out) {
  bool first = true;
  const auto comma = [&] {
    if (!first) in_.expect(",");
    first = false;
  };
  for (int i = 0; i < rule.destinations; ++i) {
    comma();
    parse_destination(out);
  }
  int sources = 0;
  while (!in_.peek().is(";") && sources < 8) {
    comma();
    parse_source(out.sources);
    ++sources;
  }
  if (sources < rule.least_sources || sources > rule.most_sources) {
    fail_at(out.line, fmt::format("'{}' takes {} to {} sources, not {}", out.text, rule.least_sources,
                                  rule.most_sources, sources));
  }
  const bool takes_vectors = (rule.modifiers & (kVector | kMatrix)) != 0 || rule.opcode == Opcode::mov;
  if (!takes_vectors && out.sources.size() != static_cast<size_t>(sources)) {
    fail_at(out.line, fmt::format("'{}' takes no operands in braces", out.text));
  }
}

void KernelParser::parse_destination(Instruction& out) {
  parse_source(out.destinations);
  if (in_.accept("|")) out.destinations.push_back(parse_simple());
  for (const Operand& operand : out.destinations) {
    if ((operand.kind != Operand::Kind::reg && operand.kind != Operand::Kind::discard) || operand.negated) {
      fail_at(out.line, fmt::format("'{}' needs a register to write", out.text));
    }
  }
}

void KernelParser::parse_source(std::vector<Operand>& out) {
  if (!in_.accept("{")) {
    out.push_back(in_.peek().is("[") ? parse_address() : parse_simple());
    return;
  }
  do {
    if (out.size() > 16) fail_at(in_.line(), "too many operands in braces");
    out.push_back(parse_simple());
  } while (in_.accept(","));
  in_.expect("}");
}

Operand KernelParser::parse_simple() {
  const Token& token = in_.peek();
  if (in_.accept("!")) {
    Operand out = parse_name(in_.word("a predicate"));
    out.negated = true;
    if (out.kind != Operand::Kind::reg || kernel_.registers[static_cast<size_t>(out.reg)].type != Type::pred) {
      fail_at(token.line, "'!' needs a predicate behind it");
    }
    return out;
  }
  if (in_.accept("-")) {
    const Token& number = in_.next();
    if (number.kind != Token::Kind::integer) fail_at(token.line, "'-' needs a number behind it");
    return immediate(static_cast<int64_t>(uint64_t{0} - number.value));
  }
  if (token.kind == Token::Kind::integer || token.kind == Token::Kind::float_bits) {
    return immediate(static_cast<int64_t>(in_.next().value));
  }
  Operand out = parse_name(in_.word("an operand"));
  if (out.kind == Operand::Kind::symbol) out.value += parse_offset();
  return out;
}

Operand KernelParser::parse_name(std::string_view word) {
  Operand out;
  if (word == "_") {
    out.kind = Operand::Kind::discard;
    return out;
  }
  const std::string name(word);
  out.reg = scopes_.find_register(name);
  if (out.reg >= 0) {
    out.kind = Operand::Kind::reg;
    return out;
  }
  for (const auto& [text, special] : kSpecials) {
    if (text == word) {
      out.kind = Operand::Kind::special;
      out.special = special;
      return out;
    }
  }
  if (word == "WARP_SZ") return immediate(32);
  if (word[0] == '%' && variables_.find(name) == variables_.end()) {
    fail_at(in_.line(), fmt::format("the register '{}' is not declared or not supported yet", word));
  }
  return symbol_operand(name);
}

int64_t KernelParser::parse_offset() {
  if (!in_.peek().is("+") && !in_.peek().is("-")) return 0;
  bool negative = in_.next().is("-");
  if (in_.accept("-")) negative = !negative;  // `[%rd1+-4]`
  const int64_t value = in_.integer("an offset", 0, int64_t{1} << 48);
  return negative ? -value : value;
}

Operand KernelParser::parse_address() {
  in_.expect("[");
  const Token& token = in_.peek();
  Operand out;
  if (token.kind == Token::Kind::integer) {
    out.value = in_.integer("an address", 0, INT64_MAX);
  } else {
    out = parse_name(in_.word("an address"));
    if (out.kind != Operand::Kind::reg && out.kind != Operand::Kind::symbol) {
      fail_at(token.line, fmt::format("'{}' is no address", token.text));
    }
    out.value += parse_offset();
  }
  out.kind = Operand::Kind::address;
  in_.expect("]");
  return out;
}

}  // namespace warpwright::ptx
