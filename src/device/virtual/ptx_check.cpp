// Whether the parts of an instruction go together: modifiers, and the widths of operands.
#include <fmt/format.h>

#include "src/device/virtual/ptx_kernel_parser.h"

namespace warpwright::ptx {
namespace {

// How an operand is held: predicates apart, the rest by size.
int width(Type type) { return type == Type::pred ? 1 : 8 * size_bytes(type); }

bool is_half(Type type) { return size_bytes(type) == 2; }

class Checker {
 public:
  Checker(const Instruction& instruction, const Kernel& kernel) : in_(instruction), kernel_(kernel) {}

  void run() {
    check_guard();
    check_modifiers();
    check_counts();
    check_operands();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { fail_at(in_.line, fmt::format("'{}' {}", in_.text, why)); }
  void require(bool condition, const char* why) const {
    if (!condition) fail(why);
  }

  void check_guard() const {
    if (in_.guard >= 0 && kernel_.registers[static_cast<size_t>(in_.guard)].type != Type::pred) {
      fail("is guarded by a register that is no predicate");
    }
  }

  void check_modifiers() const {
    const bool f32 = in_.type == Type::f32;
    switch (in_.opcode) {
      case Opcode::add:
      case Opcode::sub:
        require(f32 || in_.rounding == Rounding::none, "rounds an integer");
        require(!in_.saturate || f32 || in_.type == Type::s32, "saturates another type than s32 and f32");
        require(!in_.carry_out || (!f32 && !is_half(in_.type) && !in_.saturate), "has no carry for this type");
        break;
      case Opcode::mul:
        require(f32 == (in_.mul_mode == MulMode::none), "needs .lo, .hi or .wide");
        require(f32 == (in_.rounding == Rounding::rn), "needs .rn: without it ptxas may fuse it with an addition");
        require(!in_.saturate || f32, "saturates an integer");
        break;
      case Opcode::mad:
      case Opcode::madc:
        require(in_.mul_mode != MulMode::none, "needs .lo, .hi or .wide");
        require(!in_.saturate, "with .sat is not supported yet");
        require((!in_.carry_out && in_.opcode == Opcode::mad) || (in_.mul_mode != MulMode::wide && !is_half(in_.type)),
                "has no carry for this form");
        break;
      case Opcode::div:
      case Opcode::rcp:
      case Opcode::sqrt:
      case Opcode::fma:
        require(f32 == (in_.rounding == Rounding::rn), "is supported as .rn alone for f32");
        break;
      case Opcode::cvt:
        check_cvt();
        break;
      case Opcode::set:
      case Opcode::setp:
        check_compare();
        break;
      case Opcode::ld:
      case Opcode::st:
      case Opcode::atom:
      case Opcode::red:
        check_memory();
        break;
      case Opcode::cvta:
        require(in_.space != Space::none && in_.space != Space::generic, "needs a state space");
        break;
      case Opcode::shfl:
        require(in_.shuffle_mode != ShuffleMode::none, "needs .up, .down, .bfly or .idx");
        break;
      case Opcode::vote:
        require(in_.vote_mode != VoteMode::none && (in_.vote_mode == VoteMode::ballot) == (in_.type == Type::b32),
                "needs .ballot.b32, or .all, .any, .uni and .pred");
        break;
      case Opcode::redux:
        check_redux();
        break;
      default:
        if (const char* why = why_tensor_instruction_wrong(in_, kernel_)) fail(why);
        break;
    }
    if (in_.mul_mode == MulMode::wide) require(size_bytes(in_.type) < 8, "has no .wide of 64 bits");
    check_sync();
  }

  void check_sync() const {
    const bool needs = in_.opcode == Opcode::bar || in_.opcode == Opcode::bar_warp || in_.opcode == Opcode::shfl ||
                       in_.opcode == Opcode::vote || in_.opcode == Opcode::match || in_.opcode == Opcode::redux ||
                       in_.opcode == Opcode::mma || in_.opcode == Opcode::ldmatrix;
    require(!needs || in_.text.find(".sync") != std::string::npos, "is supported with .sync alone");
  }

  void check_cvt() const {
    const bool to_float = is_float(in_.type), from_float = is_float(in_.source_type);
    const bool integral = in_.rounding >= Rounding::rni;
    const bool plain = in_.rounding != Rounding::none && !integral;
    if (to_float && !from_float) require(plain, "needs .rn, .rz, .rm or .rp");
    if (!to_float && from_float) require(integral, "needs .rni, .rzi, .rmi or .rpi");
    if (to_float && from_float) require(!plain, "rounds where there is nothing to round");
    if (!to_float && !from_float) require(in_.rounding == Rounding::none, "rounds an integer");
  }

  void check_compare() const {
    const Type type = in_.opcode == Opcode::setp ? in_.type : in_.source_type;
    const Compare compare = in_.compare;
    require(compare != Compare::none, "needs a comparison");
    if (is_float(type)) {
      require(compare < Compare::lo || compare > Compare::hs, "compares f32 as unsigned");
    } else {
      require(compare < Compare::equ, "compares integers as f32");
      const bool bits = type == Type::b16 || type == Type::b32 || type == Type::b64;
      require(!bits || compare == Compare::eq || compare == Compare::ne, "compares bits by order");
    }
  }

  void check_memory() const {
    const bool store = in_.opcode == Opcode::st, load = in_.opcode == Opcode::ld;
    const bool atomic = !store && !load;
    require(load || (in_.space != Space::param && in_.space != Space::constant), "writes to a space to read from");
    require(!in_.non_coherent || in_.space == Space::global, "has .nc outside .global");
    require(in_.vector * size_bytes(in_.type) <= 16, "is wider than 16 bytes");
    if (!atomic) return;
    require(in_.atomic_op != AtomicOp::none, "needs an operation");
    require(in_.space != Space::local && in_.space != Space::param, "is not supported in this space");
    const bool bits = in_.type == Type::b32 || in_.type == Type::b64;
    const AtomicOp op = in_.atomic_op;
    const bool on_bits = op == AtomicOp::and_ || op == AtomicOp::or_ || op == AtomicOp::xor_ || op == AtomicOp::exch ||
                         op == AtomicOp::cas;
    require(bits == on_bits, "does not go with this type");
    require((op != AtomicOp::inc && op != AtomicOp::dec) || in_.type == Type::u32, "needs u32");
    require(op != AtomicOp::cas || in_.opcode == Opcode::atom, "is no reduction");
  }

  void check_redux() const {
    const AtomicOp op = in_.atomic_op;
    const bool on_bits = op == AtomicOp::and_ || op == AtomicOp::or_ || op == AtomicOp::xor_;
    const bool on_numbers = op == AtomicOp::add || op == AtomicOp::min || op == AtomicOp::max;
    require(on_bits || on_numbers, "is no reduction");
    require(on_bits == (in_.type == Type::b32), "does not go with this type");
  }

  void check_counts() const {
    const size_t sources = in_.sources.size(), destinations = in_.destinations.size();
    size_t expected_sources = sources, expected_destinations = destinations;
    switch (in_.opcode) {
      case Opcode::ld:
        expected_destinations = in_.vector;
        expected_sources = 1;
        break;
      case Opcode::st:
        expected_sources = 1u + in_.vector;
        break;
      case Opcode::mma:
      case Opcode::ldmatrix:
      case Opcode::cp_async:
        return;
      case Opcode::mov:  // also packs and unpacks two halves
        require(sources + destinations <= 3, "moves more than two halves");
        require(sources + destinations == 2 || in_.type == Type::b32 || in_.type == Type::b64, "needs b32 or b64");
        return;
      case Opcode::atom:
        expected_sources = in_.atomic_op == AtomicOp::cas ? 3 : 2;
        break;
      case Opcode::setp:
      case Opcode::set:
        expected_sources = in_.bool_op == BoolOp::none ? 2 : 3;
        break;
      default:
        break;
    }
    require(sources == expected_sources && destinations == expected_destinations, "has a wrong number of operands");
    const bool pair = in_.opcode == Opcode::setp || in_.opcode == Opcode::shfl ||
                      (in_.opcode == Opcode::match && in_.match_all) || in_.opcode == Opcode::ld;
    require(destinations < 2 || pair, "writes more than one register");
  }

  void check_operands() const {
    for (size_t i = 0; i < in_.destinations.size(); ++i) check_operand(in_.destinations[i], destination_type(i), false);
    for (size_t i = 0; i < in_.sources.size(); ++i) {
      const bool is_address = in_.sources[i].kind == Operand::Kind::address;
      const bool wants_address = i < addresses_wanted();
      require(is_address == wants_address, "has an address in the wrong place");
      if (is_address) {
        check_address(in_.sources[i], i == 0 ? in_.space : Space::global);
      } else {
        check_operand(in_.sources[i], source_type(i), true);
      }
    }
  }

  size_t addresses_wanted() const {
    switch (in_.opcode) {
      case Opcode::ld:
      case Opcode::st:
      case Opcode::atom:
      case Opcode::red:
      case Opcode::ldmatrix:
      case Opcode::prefetch:
        return 1;
      case Opcode::cp_async:
        return 2;
      default:
        return 0;
    }
  }

  void check_address(const Operand& operand, Space space) const {
    if (operand.reg >= 0) {
      const int held = width(kernel_.registers[static_cast<size_t>(operand.reg)].type);
      const bool narrow_space =
          space == Space::shared || space == Space::local || space == Space::constant || space == Space::param;
      require(held == 64 || (held == 32 && narrow_space), "has an address of the wrong width");
    } else if (operand.space != Space::none) {
      const bool generic = space == Space::none || space == Space::generic;
      require(operand.space == space || (generic && operand.space == Space::global),
              "names a variable of another space");
    }
  }

  void check_operand(const Operand& operand, Type type, bool is_source) const {
    switch (operand.kind) {
      case Operand::Kind::discard:
        require(!is_source, "reads '_'");
        return;
      case Operand::Kind::special:
        require(width(type) == 32, "reads a special register of another width");
        return;
      case Operand::Kind::symbol:
        require(in_.opcode == Opcode::mov || in_.opcode == Opcode::cvta || in_.opcode == Opcode::add,
                "names a variable");
        require(width(type) == 64 || (width(type) == 32 && operand.space != Space::global),
                "needs 64 bits for an address");
        return;
      case Operand::Kind::reg:
        break;
      default:
        return;
    }
    const int held = width(kernel_.registers[static_cast<size_t>(operand.reg)].type), wanted = width(type);
    const bool may_be_wider =
        type != Type::f32 && (in_.opcode == Opcode::ld || in_.opcode == Opcode::st || in_.opcode == Opcode::cvt);
    const bool same = held == wanted || (held == 8 && wanted == 16) || (held == 16 && wanted == 8);
    if (same || (may_be_wider && held > wanted && held != 1 && wanted != 1)) return;
    fail(fmt::format("has the register '{}' where {} bits are needed",
                     kernel_.registers[static_cast<size_t>(operand.reg)].name, wanted));
  }

  bool is_predicate(const Operand& operand) const {
    return operand.reg >= 0 && kernel_.registers[static_cast<size_t>(operand.reg)].type == Type::pred;
  }

  Type widened(Type type) const { return size_bytes(type) == 2 ? Type::b32 : Type::b64; }

  // Of the halves that a mov packs or unpacks.
  Type halved(bool halves) const {
    if (!halves) return in_.type;
    return in_.type == Type::b64 ? Type::b32 : Type::b16;
  }

  Type destination_type(size_t index) const {
    switch (in_.opcode) {
      case Opcode::setp:
      case Opcode::vote:
        return in_.vote_mode == VoteMode::ballot ? Type::b32 : Type::pred;
      case Opcode::popc:
      case Opcode::clz:
      case Opcode::bfind:
      case Opcode::dp4a:
      case Opcode::dp2a:
      case Opcode::cvt_pack:
      case Opcode::ldmatrix:
        return Type::b32;
      case Opcode::shfl:
        return index == 1 ? Type::pred : Type::b32;
      case Opcode::match:
        return index == 1 ? Type::pred : Type::b32;
      case Opcode::mov:
        return halved(in_.destinations.size() == 2);
      default:
        return in_.mul_mode == MulMode::wide ? widened(in_.type) : in_.type;
    }
  }

  Type source_type(size_t index) const {
    switch (in_.opcode) {
      case Opcode::shl:
      case Opcode::shr:
        return index == 1 ? Type::b32 : in_.type;
      case Opcode::bfe:
        return index >= 1 ? Type::b32 : in_.type;
      case Opcode::bfi:
        return index >= 2 ? Type::b32 : in_.type;
      case Opcode::mad:
        return index == 2 && in_.mul_mode == MulMode::wide ? widened(in_.type) : in_.type;
      case Opcode::selp:
      case Opcode::setp:
        return index == 2 ? Type::pred : in_.type;
      case Opcode::set:
        return index == 2 ? Type::pred : in_.source_type;
      case Opcode::cvt:
        return in_.source_type;
      case Opcode::vote:
        return index == 0 ? Type::pred : Type::b32;
      case Opcode::match:
        return index == 1 ? Type::b32 : in_.type;
      case Opcode::dp4a:
      case Opcode::dp2a:
      case Opcode::bar:
      case Opcode::bar_warp:
      case Opcode::cvt_pack:
        return Type::b32;
      case Opcode::cp_async:
        return is_predicate(in_.sources[index]) ? Type::pred : Type::b32;
      case Opcode::mov:
        return halved(in_.sources.size() == 2);
      default:
        return in_.type;
    }
  }

  const Instruction& in_;
  const Kernel& kernel_;
};

}  // namespace

void check_instruction(const Instruction& instruction, const Kernel& kernel) { Checker(instruction, kernel).run(); }

}  // namespace warpwright::ptx
