// The handlers of one instruction set: set WARPWRIGHT_LANES to its name, then include this file alone.
#include <immintrin.h>

#include <type_traits>

#include "src/device/virtual/lanes/lanes.h"

#define WARPWRIGHT_JOIN2(a, b) a##b
#define WARPWRIGHT_JOIN(a, b) WARPWRIGHT_JOIN2(a, b)

namespace warpwright::virtual_gpu {
namespace WARPWRIGHT_JOIN(isa_, WARPWRIGHT_LANES) {
  namespace {

#include "src/device/virtual/lanes/loops.inl"

#include "src/device/virtual/lanes/integer.inl"

#include "src/device/virtual/lanes/float.inl"

#include "src/device/virtual/lanes/convert.inl"

#include "src/device/virtual/lanes/compare.inl"

#include "src/device/virtual/lanes/bits.inl"

  using ptx::Opcode;
  using ptx::Type;

  bool is_wide(Type type) { return ptx::size_bytes(type) == 8; }

  Handlers dot_handlers(const ptx::Instruction& in) {
    const auto pair = [&]<bool kSignedA, bool kSignedB>() -> Handlers {
      if (in.opcode == Opcode::dp4a) return {&dp4a<kSignedA, kSignedB, true>, &dp4a<kSignedA, kSignedB, false>};
      return in.high_half ? Handlers{&dp2a<kSignedA, kSignedB, true, true>, &dp2a<kSignedA, kSignedB, true, false>}
                          : Handlers{&dp2a<kSignedA, kSignedB, false, true>, &dp2a<kSignedA, kSignedB, false, false>};
    };
    const bool a = ptx::is_signed(in.type), b = ptx::is_signed(in.source_type);
    if (a) return b ? pair.template operator()<true, true>() : pair.template operator()<true, false>();
    return b ? pair.template operator()<false, true>() : pair.template operator()<false, false>();
  }

  template <template <typename> class F>
  Handlers wide_product(Type type, bool with_sum) {
    const auto pair = [&]<typename T>() {
      using D = Lane<Wider<T>>;
      return with_sum ? ternary_pair<MadWide<T>, D, uint32_t, uint32_t, D>() : binary_pair<F<T>, D, uint32_t>();
    };
    switch (type) {
      case Type::u16:
        return pair.template operator()<uint16_t>();
      case Type::s16:
        return pair.template operator()<int16_t>();
      case Type::u32:
        return pair.template operator()<uint32_t>();
      default:
        return pair.template operator()<int32_t>();
    }
  }

  Handlers carry_handlers(Type type) {
    const Handler run = is_wide(type) ? &carrying<uint64_t> : &carrying<uint32_t>;
    return {run, run};
  }

  Handlers product_handlers(const ptx::Instruction& in) {
    const bool with_sum = in.opcode == Opcode::mad;
    if (in.mul_mode == ptx::MulMode::wide) return wide_product<MulWide>(in.type, with_sum);
    if (in.mul_mode == ptx::MulMode::hi) {
      return with_sum ? integer_ternary<MadHigh>(in.type) : integer_binary<MulHigh>(in.type);
    }
    return with_sum ? integer_ternary<MadLow>(in.type) : integer_binary<MulLow>(in.type);
  }

  Handlers arithmetic_handlers(const ptx::Instruction& in) {
    if (in.carry_out || in.opcode == Opcode::addc || in.opcode == Opcode::subc || in.opcode == Opcode::madc) {
      return carry_handlers(in.type);
    }
    if (in.type == Type::f32) return float_handlers(in);
    switch (in.opcode) {
      case Opcode::add:
        return in.saturate ? binary_pair<AddSaturated, uint32_t>() : integer_binary<Add>(in.type);
      case Opcode::sub:
        return in.saturate ? binary_pair<SubSaturated, uint32_t>() : integer_binary<Sub>(in.type);
      case Opcode::mul:
      case Opcode::mad:
        return product_handlers(in);
      case Opcode::div:
        return integer_binary<Div>(in.type);
      case Opcode::rem:
        return integer_binary<Rem>(in.type);
      case Opcode::min:
        return integer_binary<Min>(in.type);
      case Opcode::max:
        return integer_binary<Max>(in.type);
      case Opcode::abs:
        return integer_unary<Abs>(in.type);
      case Opcode::neg:
        return integer_unary<Neg>(in.type);
      case Opcode::sad:
        return integer_ternary<Sad>(in.type);
      default:
        return {};
    }
  }

  Handlers logic_handlers(const ptx::Instruction& in) {
    if (in.type == Type::pred) return {&predicate_logic, &predicate_logic};
    switch (in.opcode) {
      case Opcode::and_:
        return integer_binary<And>(in.type);
      case Opcode::or_:
        return integer_binary<Or>(in.type);
      case Opcode::xor_:
        return integer_binary<Xor>(in.type);
      case Opcode::not_:
        return integer_unary<Not>(in.type);
      case Opcode::cnot:
        return integer_unary<LogicalNot>(in.type);
      case Opcode::shl:
        return for_integer(in.type,
                           []<typename T>() { return binary_pair<ShiftLeft<T>, Lane<T>, Lane<T>, uint32_t>(); });
      case Opcode::shr:
        return for_integer(in.type,
                           []<typename T>() { return binary_pair<ShiftRight<T>, Lane<T>, Lane<T>, uint32_t>(); });
      default:
        return {};
    }
  }

  Handlers funnel_handlers(const ptx::Instruction& in) {
    if (in.left) {
      return in.wrap ? ternary_pair<FunnelLeft<true>, uint32_t>() : ternary_pair<FunnelLeft<false>, uint32_t>();
    }
    return in.wrap ? ternary_pair<FunnelRight<true>, uint32_t>() : ternary_pair<FunnelRight<false>, uint32_t>();
  }

  Handlers bit_handlers(const ptx::Instruction& in) {
    const bool wide = is_wide(in.type);
    switch (in.opcode) {
      case Opcode::popc:
        return wide ? unary_pair<PopCount<uint64_t>, uint32_t, uint64_t>()
                    : unary_pair<PopCount<uint32_t>, uint32_t, uint32_t>();
      case Opcode::clz:
        return wide ? unary_pair<LeadingZeros<uint64_t>, uint32_t, uint64_t>()
                    : unary_pair<LeadingZeros<uint32_t>, uint32_t, uint32_t>();
      case Opcode::bfind:
        return for_integer(in.type, []<typename T>() { return unary_pair<FindBit<T>, uint32_t, Lane<T>>(); });
      case Opcode::brev:
        return wide ? unary_pair<BitReverse<uint64_t>, uint64_t, uint64_t>()
                    : unary_pair<BitReverse<uint32_t>, uint32_t, uint32_t>();
      case Opcode::bfe:
        return for_integer(in.type, []<typename T>() {
          return ternary_pair<FieldExtract<T>, Lane<T>, Lane<T>, uint32_t, uint32_t>();
        });
      case Opcode::bfi:
        return wide ? Handlers{&quaternary<FieldInsert<uint64_t>, uint64_t, true>,
                               &quaternary<FieldInsert<uint64_t>, uint64_t, false>}
                    : Handlers{&quaternary<FieldInsert<uint32_t>, uint32_t, true>,
                               &quaternary<FieldInsert<uint32_t>, uint32_t, false>};
      case Opcode::shf:
        return funnel_handlers(in);
      case Opcode::lop3:
        return {&lop3<true>, &lop3<false>};
      case Opcode::prmt:
        return {&prmt<true>, &prmt<false>};
      default:
        return dot_handlers(in);
    }
  }

  Handlers move_handlers(const ptx::Instruction& in) {
    if (in.type == Type::pred) return {&predicate_logic, &predicate_logic};
    const bool wide = is_wide(in.type);
    if (in.sources.size() == 2)
      return wide ? Handlers{&pack<uint64_t>, &pack<uint64_t>} : Handlers{&pack<uint32_t>, &pack<uint32_t>};
    if (in.destinations.size() == 2) {
      return wide ? Handlers{&unpack<uint64_t>, &unpack<uint64_t>} : Handlers{&unpack<uint32_t>, &unpack<uint32_t>};
    }
    return wide ? unary_pair<Copy<uint64_t>, uint64_t, uint64_t>() : unary_pair<Copy<uint32_t>, uint32_t, uint32_t>();
  }

  }  // namespace
}  // namespace )

Handlers WARPWRIGHT_JOIN(lanes_, WARPWRIGHT_LANES)(const ptx::Instruction& in, bool wide_to, bool wide_from) {
  using namespace WARPWRIGHT_JOIN(isa_, WARPWRIGHT_LANES);
  switch (in.opcode) {
    case Opcode::add:
    case Opcode::addc:
    case Opcode::sub:
    case Opcode::subc:
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::madc:
    case Opcode::div:
    case Opcode::rem:
    case Opcode::min:
    case Opcode::max:
    case Opcode::abs:
    case Opcode::neg:
    case Opcode::sad:
      return arithmetic_handlers(in);
    case Opcode::fma:
    case Opcode::rcp:
    case Opcode::sqrt:
      return float_handlers(in);
    case Opcode::and_:
    case Opcode::or_:
    case Opcode::xor_:
    case Opcode::not_:
    case Opcode::cnot:
    case Opcode::shl:
    case Opcode::shr:
      return logic_handlers(in);
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::bfind:
    case Opcode::brev:
    case Opcode::bfe:
    case Opcode::bfi:
    case Opcode::shf:
    case Opcode::lop3:
    case Opcode::prmt:
    case Opcode::dp4a:
    case Opcode::dp2a:
      return bit_handlers(in);
    case Opcode::set:
    case Opcode::setp:
      return compare_handlers(in);
    case Opcode::selp:
      return is_wide(in.type) ? Handlers{&select<uint64_t>, &select<uint64_t>}
                              : Handlers{&select<uint32_t>, &select<uint32_t>};
    case Opcode::cvt:
      return convert_handlers(in, wide_to, wide_from);
    case Opcode::cvt_pack:
      return pack_handlers(in);
    case Opcode::mov:
      return move_handlers(in);
    default:
      return {};
  }
}

}  // namespace warpwright::virtual_gpu
