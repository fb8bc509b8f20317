// Places operands, picks handlers, resolves branches.
#include "src/device/virtual/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/device/virtual/handlers.h"
#include "src/device/virtual/lanes/lanes.h"
#include "src/device/virtual/ptx_lexer.h"
#include "src/device/virtual/register_file.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

bool is_global_atomic(const ptx::Instruction& in) {
  return (in.opcode == Opcode::atom || in.opcode == Opcode::red) && in.space != ptx::Space::shared;
}

class Decoder {
 public:
  Decoder(Code& code, const std::vector<uint64_t>& globals, bool is_checked)
      : code_(code), kernel_(code.kernel), globals_(globals), is_checked_(is_checked) {}

  void run() {
    file_ = place_registers(kernel_);
    scratch_ = add_lines(2);
    code_.predicates = file_.predicates + 2;  // one always false, one to throw results away
    std::vector<bool> joins(kernel_.blocks.size(), false);
    for (const ptx::Block& block : kernel_.blocks) {
      if (block.successors.size() > 1 && block.post_dominator >= 0)
        joins[static_cast<size_t>(block.post_dominator)] = true;
    }
    std::vector<int32_t> starts;
    for (size_t b = 0; b < kernel_.blocks.size(); ++b) {
      const ptx::Block& block = kernel_.blocks[b];
      starts.push_back(static_cast<int32_t>(code_.ops.size()));
      if (joins[b]) add_join(block);
      for (int i = block.first; i < block.last; ++i) add_instruction(i);
    }
    for (Op& op : code_.ops) resolve_branch(op, starts);
    code_.register_lines = file_.lines;
    code_.zeroed = file_.zeroed;
  }

 private:
  Place add_lines(size_t count) {
    const auto place = static_cast<Place>(file_.lines * sizeof(LaneLine));
    file_.lines += count;
    return place;
  }

  const ptx::Register& reg(int index) const { return kernel_.registers[static_cast<size_t>(index)]; }

  void add_join(const ptx::Block& block) {
    Op op;
    op.run = {&join_lanes, &join_lanes};
    op.instruction = &kernel_.instructions[static_cast<size_t>(block.first)];
    code_.ops.push_back(op);
  }

  void resolve_branch(Op& op, const std::vector<int32_t>& starts) {
    if (op.source < 0 || op.instruction->opcode != Opcode::bra) return;
    const ptx::Instruction& in = *op.instruction;
    const auto& target = kernel_.instructions[static_cast<size_t>(in.target)];
    op.target = starts[static_cast<size_t>(target.block)];
    const int meet = kernel_.blocks[static_cast<size_t>(in.block)].post_dominator;
    op.reconverge = meet < 0 ? -1 : starts[static_cast<size_t>(meet)];
  }

  // A constant of 32 lanes, one for each value and width.
  Place constant(uint64_t value, bool wide) {
    const auto [found, is_new] = constants_.try_emplace({value, wide}, 0);
    if (!is_new) return found->second;
    found->second = static_cast<Place>(code_.constants.size() * sizeof(LaneLine)) | 1;
    for (int line = 0; line < (wide ? 2 : 1); ++line) {
      LaneLine& to = code_.constants.emplace_back();
      for (size_t i = 0; i < sizeof to.bytes; ++i) {
        to.bytes[i] = static_cast<std::byte>(value >> (8 * (i % (wide ? 8 : 4))));
      }
    }
    return found->second;
  }

  Place special(ptx::Special which) {
    for (const SpecialUse& use : code_.specials) {
      if (use.special == which) return use.place;
    }
    code_.specials.push_back({which, add_lines(1)});
    return code_.specials.back().place;
  }

  // `type`: what the instruction reads there; immediates are made to its width.
  Place source(const Operand& operand, Type type) {
    const bool wide = ptx::size_bytes(type) == 8;
    switch (operand.kind) {
      case Operand::Kind::reg:
        return reg(operand.reg).type == Type::pred
                   ? file_.places[static_cast<size_t>(operand.reg)] * 2 + (operand.negated ? 1 : 0)
                   : file_.places[static_cast<size_t>(operand.reg)];
      case Operand::Kind::special:
        return special(operand.special);
      case Operand::Kind::immediate:
        if (type == Type::pred) return false_predicate() + (operand.value != 0 ? 1 : 0);
        return constant(wide ? static_cast<uint64_t>(operand.value) : static_cast<uint32_t>(operand.value), wide);
      default:
        return constant(symbol_value(operand), wide);
    }
  }

  uint64_t symbol_value(const Operand& operand) const {
    const uint64_t base = operand.symbol >= 0 ? globals_.at(static_cast<size_t>(operand.symbol)) : 0;
    return base + static_cast<uint64_t>(operand.value);
  }

  Place false_predicate() const { return static_cast<Place>(2 * (code_.predicates - 2)); }
  Place scratch_predicate() const { return static_cast<Place>(2 * (code_.predicates - 1)); }

  // `is_pred`: what to throw away when the operand is `_`.
  Place destination(const Operand& operand, bool is_pred) const {
    if (operand.reg < 0) return is_pred ? scratch_predicate() : scratch_;
    const Place place = file_.places[static_cast<size_t>(operand.reg)];
    return reg(operand.reg).type == Type::pred ? place * 2 : place;
  }

  AddressPlace place_address(const Operand& operand) const {
    if (operand.reg < 0) return {AddressForm::absolute, 0, static_cast<int64_t>(symbol_value(operand))};
    const bool wide = ptx::size_bytes(reg(operand.reg).type) == 8;
    return {wide ? AddressForm::wide : AddressForm::narrow, file_.places[static_cast<size_t>(operand.reg)],
            operand.value};
  }

  static Type source_type(const ptx::Instruction& in, size_t index) {
    switch (in.opcode) {
      case Opcode::cvt:
        return in.source_type;
      case Opcode::set:
        return index == 2 ? Type::pred : in.source_type;
      case Opcode::setp:
      case Opcode::selp:
        return index == 2 ? Type::pred : in.type;
      case Opcode::shl:
      case Opcode::shr:
        return index == 1 ? Type::b32 : in.type;
      case Opcode::bfe:
        return index >= 1 ? Type::b32 : in.type;
      case Opcode::bfi:
        return index >= 2 ? Type::b32 : in.type;
      case Opcode::vote:
        return index == 0 ? Type::pred : Type::b32;
      case Opcode::match:
        return index == 1 ? Type::b32 : in.type;
      case Opcode::bar:
      case Opcode::bar_warp:
        return Type::b32;
      case Opcode::mad:
        if (in.mul_mode == ptx::MulMode::wide && index == 2)
          return ptx::size_bytes(in.type) == 4 ? Type::b64 : Type::b32;
        return in.type;
      case Opcode::mov:
        return in.sources.size() == 2 ? Type::b32 : in.type;
      default:
        return in.type;
    }
  }

  bool is_wide_register(const Operand& operand) const {
    return operand.kind == Operand::Kind::reg && ptx::size_bytes(reg(operand.reg).type) == 8;
  }

  void add_instruction(int index) {
    const ptx::Instruction& in = kernel_.instructions[static_cast<size_t>(index)];
    Op op;
    op.instruction = &in;
    op.source = index;
    if (in.guard >= 0) op.guard = file_.places[static_cast<size_t>(in.guard)] * 2 + (in.guard_negated ? 1 : 0);
    op.may_stop = in.opcode == Opcode::bar || in.opcode == Opcode::ret || in.opcode == Opcode::exit ||
                  in.opcode == Opcode::fence || in.opcode == Opcode::membar || is_global_atomic(in) ||
                  (in.opcode == Opcode::ld && in.order != ptx::MemoryOrder::weak);
    const bool has_pred_result = in.opcode == Opcode::setp || in.opcode == Opcode::vote || in.type == Type::pred;
    for (size_t i = 0; i < in.destinations.size(); ++i) {
      const bool is_pred = has_pred_result || (i == 1 && (in.opcode == Opcode::shfl || in.opcode == Opcode::match));
      op.d[i] = destination(in.destinations[i], is_pred);
    }
    size_t next = 0;
    op.wide_values = uses_wide(in);
    for (size_t i = 0; i < in.sources.size(); ++i) {
      const Operand& operand = in.sources[i];
      if (operand.kind == Operand::Kind::address) {
        op.address[i] = place_address(operand);
        continue;
      }
      Type type = source_type(in, i);
      // Values of a store lie in lanes of one width: of its widest register.
      if (in.opcode == Opcode::st && op.wide_values) type = Type::b64;
      if (in.opcode == Opcode::lop3 && i == 3) {
        op.table = lop3_table(in);
        continue;
      }
      op.s[next++] = source(operand, type);
    }
    pick_handlers(in, op);
    code_.ops.push_back(op);
  }

  static int32_t lop3_table(const ptx::Instruction& in) {
    const Operand& table = in.sources[3];
    if (table.kind != Operand::Kind::immediate || table.value < 0 || table.value > 255) {
      ptx::fail_at(in.line, "'lop3.b32' needs a table from 0 to 255");
    }
    return static_cast<int32_t>(table.value);
  }

  // Whether the loaded or stored registers have 64 bits; all must, or none.
  bool uses_wide(const ptx::Instruction& in) const {
    if (in.opcode != Opcode::ld && in.opcode != Opcode::st) return false;
    bool any = ptx::size_bytes(in.type) == 8, narrow = false;
    const auto look = [&](const Operand& operand) {
      if (operand.kind != Operand::Kind::reg) return;
      (is_wide_register(operand) ? any : narrow) = true;
    };
    for (const Operand& operand : in.destinations) look(operand);
    for (size_t i = 1; i < in.sources.size(); ++i) look(in.sources[i]);
    if (any && narrow)
      ptx::fail_at(in.line, fmt::format("'{}' with registers of two widths is not supported yet", in.text));
    return any;
  }

  void pick_handlers(const ptx::Instruction& in, Op& op) const {
    const bool wide_to = !in.destinations.empty() && is_wide_register(in.destinations[0]);
    const bool wide_from =
        !in.sources.empty() && (is_wide_register(in.sources[0]) ||
                                (in.sources[0].kind != Operand::Kind::reg && ptx::size_bytes(in.source_type) == 8));
    op.run = lane_handlers(in, wide_to, wide_from);
    for (const auto pick :
         {&control_handlers, &exchange_handlers, &atomic_handlers, &matrix_handlers, &copy_handlers}) {
      if (op.run.full == nullptr) op.run = pick(in);
    }
    if (op.run.full == nullptr) op.run = load_handlers(in, op.wide_values);
    if (op.run.full == nullptr) op.run = store_handlers(in, op.wide_values);
    if (op.run.full == nullptr) ptx::fail_at(in.line, fmt::format("'{}' is not supported yet", in.text));
    if (!is_checked_) return;
    const Handlers checked = checked_handlers(in);
    if (checked.full == nullptr) return;
    op.inner = op.run;
    op.run = checked;
  }

  Code& code_;
  const ptx::Kernel& kernel_;
  const std::vector<uint64_t>& globals_;
  bool is_checked_;
  RegisterFile file_;
  Place scratch_ = 0;
  std::map<std::pair<uint64_t, bool>, Place> constants_;
};

}  // namespace

bool communicates(const ptx::Kernel& kernel) {
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(), is_global_atomic);
}

std::unique_ptr<Code> decode(ptx::Kernel kernel, std::vector<std::byte> constant_bank,
                             const std::vector<uint64_t>& globals, bool is_checked) {
  auto code = std::make_unique<Code>();
  code->kernel = std::move(kernel);
  code->constant_bank = std::move(constant_bank);
  Decoder(*code, globals, is_checked).run();
  return code;
}

}  // namespace warpwright::virtual_gpu
