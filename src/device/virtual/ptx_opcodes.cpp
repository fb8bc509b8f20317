// The table of opcodes and the meaning of modifiers.
#include "src/device/virtual/ptx_opcodes.h"

#include <array>
#include <utility>

namespace warpwright::ptx {
namespace {

constexpr TypeSet set_of(Type type) { return 1u << static_cast<int>(type); }
template <typename... Types>
constexpr TypeSet set_of(Type first, Types... rest) {
  return set_of(first) | set_of(rest...);
}

constexpr TypeSet kInt16 = set_of(Type::u16, Type::s16), kInt32 = set_of(Type::u32, Type::s32);
constexpr TypeSet kInt64 = set_of(Type::u64, Type::s64), kInts = kInt16 | kInt32 | kInt64;
constexpr TypeSet kFloat = set_of(Type::f32), kPred = set_of(Type::pred);
constexpr TypeSet kSigned = set_of(Type::s16, Type::s32, Type::s64);
constexpr TypeSet kBits32 = set_of(Type::b32), kBits = set_of(Type::b16, Type::b32, Type::b64);
constexpr TypeSet kBits32And64 = set_of(Type::b32, Type::b64), kBytes = set_of(Type::b8, Type::u8, Type::s8);
constexpr TypeSet kLoads = kBytes | kBits | kInts | kFloat, kValues = kBits | kInts | kFloat;
constexpr TypeSet kCvt = set_of(Type::u8, Type::s8) | kInts | kFloat;
constexpr TypeSet kQuarters = set_of(Type::s8, Type::u8), kPacked = kQuarters | kInt16;
constexpr TypeSet kAtomics = kBits32And64 | kInt32 | kInt64;
constexpr uint32_t kMemory = kSpace | kCacheHint | kOrder | kVector;

constexpr OpcodeRule kRules[] = {
    // name, opcode, modifiers, types, source types, types written, destinations, sources
    {"abs", Opcode::abs, 0, kSigned | kFloat, 0, 1, 1, 1, 1},
    {"activemask", Opcode::activemask, 0, kBits32, 0, 1, 1, 0, 0},
    {"add", Opcode::add, kRoundFloat | kSaturate | kCarry, kInts | kFloat, 0, 1, 1, 2, 2},
    {"addc", Opcode::addc, kCarry, kInt32 | kInt64, 0, 1, 1, 2, 2},
    {"and", Opcode::and_, 0, kPred | kBits, 0, 1, 1, 2, 2},
    {"atom", Opcode::atom, kSpace | kOrder | kAtomic, kAtomics, 0, 1, 1, 2, 3},
    {"bar", Opcode::bar, kSync, 0, 0, 0, 0, 1, 2},
    {"bar.warp", Opcode::bar_warp, kSync, 0, 0, 0, 0, 1, 1},
    {"barrier", Opcode::bar, kSync, 0, 0, 0, 0, 1, 2},
    {"bfe", Opcode::bfe, 0, kInt32 | kInt64, 0, 1, 1, 3, 3},
    {"bfi", Opcode::bfi, 0, kBits32And64, 0, 1, 1, 4, 4},
    {"bfind", Opcode::bfind, 0, kInt32 | kInt64, 0, 1, 1, 1, 1},
    {"bra", Opcode::bra, kUniform, 0, 0, 0, 0, 0, 0},
    {"brev", Opcode::brev, 0, kBits32And64, 0, 1, 1, 1, 1},
    {"clz", Opcode::clz, 0, kBits32And64, 0, 1, 1, 1, 1},
    {"cnot", Opcode::cnot, 0, kBits, 0, 1, 1, 1, 1},
    {"cp.async", Opcode::cp_async, kSpace | kCopy | kCacheHint, 0, 0, 0, 0, 3, 4},
    {"cp.async.commit_group", Opcode::cp_async_commit, 0, 0, 0, 0, 0, 0, 0},
    {"cp.async.wait_all", Opcode::cp_async_wait_all, 0, 0, 0, 0, 0, 0, 0},
    {"cp.async.wait_group", Opcode::cp_async_wait_group, 0, 0, 0, 0, 0, 1, 1},
    {"cvt", Opcode::cvt, kRoundAny | kSaturate, kCvt, kCvt, 2, 1, 1, 1},
    {"cvt.pack", Opcode::cvt_pack, kSaturate | kPack, kPacked, set_of(Type::s32), 2, 1, 2, 3},
    {"cvta", Opcode::cvta, kSpace | kTo, set_of(Type::u64), 0, 1, 1, 1, 1},
    {"div", Opcode::div, kRoundFloat, kInts | kFloat, 0, 1, 1, 2, 2},
    {"dp2a", Opcode::dp2a, kHalf, kInt32, kInt32, 2, 1, 3, 3},
    {"dp4a", Opcode::dp4a, 0, kInt32, kInt32, 2, 1, 3, 3},
    {"exit", Opcode::exit, 0, 0, 0, 0, 0, 0, 0},
    {"fence", Opcode::fence, kOrder, 0, 0, 0, 0, 0, 0},
    {"fma", Opcode::fma, kRoundFloat | kSaturate, kFloat, 0, 1, 1, 3, 3},
    {"ld", Opcode::ld, kMemory | kNonCoherent, kLoads, 0, 1, 1, 1, 1},
    {"ldmatrix", Opcode::ldmatrix, kSpace | kSync | kMatrix, set_of(Type::b16), 0, 1, 1, 1, 1},
    {"lop3", Opcode::lop3, 0, kBits32, 0, 1, 1, 4, 4},
    {"mad", Opcode::mad, kMulMode | kCarry | kSaturate, kInts, 0, 1, 1, 3, 3},
    {"madc", Opcode::madc, kMulMode | kCarry, kInt32 | kInt64, 0, 1, 1, 3, 3},
    {"match", Opcode::match, kSync | kMatch, kBits32And64, 0, 1, 1, 2, 2},
    {"max", Opcode::max, 0, kInts | kFloat, 0, 1, 1, 2, 2},
    {"membar", Opcode::membar, kOrder, 0, 0, 0, 0, 0, 0},
    {"min", Opcode::min, 0, kInts | kFloat, 0, 1, 1, 2, 2},
    {"mma", Opcode::mma, kSync | kMatrix, set_of(Type::s32), kQuarters, 4, 1, 3, 3},
    {"mov", Opcode::mov, 0, kPred | kValues, 0, 1, 1, 1, 1},
    {"mul", Opcode::mul, kMulMode | kRoundFloat | kSaturate, kInts | kFloat, 0, 1, 1, 2, 2},
    {"nanosleep", Opcode::nanosleep, 0, set_of(Type::u32), 0, 1, 0, 1, 1},
    {"neg", Opcode::neg, 0, kSigned | kFloat, 0, 1, 1, 1, 1},
    {"not", Opcode::not_, 0, kPred | kBits, 0, 1, 1, 1, 1},
    {"or", Opcode::or_, 0, kPred | kBits, 0, 1, 1, 2, 2},
    {"popc", Opcode::popc, 0, kBits32And64, 0, 1, 1, 1, 1},
    {"prefetch", Opcode::prefetch, kSpace | kCacheHint, 0, 0, 0, 0, 1, 1},
    {"prefetchu", Opcode::prefetch, kCacheHint, 0, 0, 0, 0, 1, 1},
    {"prmt", Opcode::prmt, kPrmt, kBits32, 0, 1, 1, 3, 3},
    {"rcp", Opcode::rcp, kRoundFloat, kFloat, 0, 1, 1, 1, 1},
    {"red", Opcode::red, kSpace | kOrder | kAtomic, kAtomics, 0, 1, 0, 2, 2},
    {"redux", Opcode::redux, kSync | kAtomic, kInt32 | kBits32, 0, 1, 1, 2, 2},
    {"rem", Opcode::rem, 0, kInts, 0, 1, 1, 2, 2},
    {"ret", Opcode::ret, kUniform, 0, 0, 0, 0, 0, 0},
    {"sad", Opcode::sad, 0, kInts, 0, 1, 1, 3, 3},
    {"selp", Opcode::selp, 0, kValues, 0, 1, 1, 3, 3},
    {"set", Opcode::set, kCompare | kBoolOp, kInt32 | kFloat, kValues, 2, 1, 2, 3},
    {"setp", Opcode::setp, kCompare | kBoolOp, kValues, 0, 1, 1, 2, 3},
    {"shf", Opcode::shf, kShift, kBits32, 0, 1, 1, 3, 3},
    {"shfl", Opcode::shfl, kSync | kShuffle, kBits32, 0, 1, 1, 4, 4},
    {"shl", Opcode::shl, 0, kBits, 0, 1, 1, 2, 2},
    {"shr", Opcode::shr, 0, kBits | kInts, 0, 1, 1, 2, 2},
    {"sqrt", Opcode::sqrt, kRoundFloat, kFloat, 0, 1, 1, 1, 1},
    {"st", Opcode::st, kMemory, kLoads, 0, 1, 0, 2, 2},
    {"sub", Opcode::sub, kRoundFloat | kSaturate | kCarry, kInts | kFloat, 0, 1, 1, 2, 2},
    {"subc", Opcode::subc, kCarry, kInt32 | kInt64, 0, 1, 1, 2, 2},
    {"trap", Opcode::trap, 0, 0, 0, 0, 0, 0, 0},
    {"vote", Opcode::vote, kSync | kVote, kPred | kBits32, 0, 1, 1, 2, 2},
    {"xor", Opcode::xor_, 0, kPred | kBits, 0, 1, 1, 2, 2},
};

template <typename T>
using Words = std::pair<std::string_view, T>;

constexpr Words<Type> kTypes[] = {
    {"pred", Type::pred}, {"b8", Type::b8},   {"b16", Type::b16}, {"b32", Type::b32}, {"b64", Type::b64},
    {"u8", Type::u8},     {"u16", Type::u16}, {"u32", Type::u32}, {"u64", Type::u64}, {"s8", Type::s8},
    {"s16", Type::s16},   {"s32", Type::s32}, {"s64", Type::s64}, {"f32", Type::f32},
};
constexpr Words<Rounding> kRoundings[] = {
    {"rn", Rounding::rn},   {"rz", Rounding::rz},   {"rm", Rounding::rm},   {"rp", Rounding::rp},
    {"rni", Rounding::rni}, {"rzi", Rounding::rzi}, {"rmi", Rounding::rmi}, {"rpi", Rounding::rpi},
};
constexpr Words<MulMode> kMulModes[] = {{"lo", MulMode::lo}, {"hi", MulMode::hi}, {"wide", MulMode::wide}};
constexpr Words<Compare> kCompares[] = {
    {"eq", Compare::eq},   {"ne", Compare::ne},   {"lt", Compare::lt},   {"le", Compare::le},   {"gt", Compare::gt},
    {"ge", Compare::ge},   {"lo", Compare::lo},   {"ls", Compare::ls},   {"hi", Compare::hi},   {"hs", Compare::hs},
    {"equ", Compare::equ}, {"neu", Compare::neu}, {"ltu", Compare::ltu}, {"leu", Compare::leu}, {"gtu", Compare::gtu},
    {"geu", Compare::geu}, {"num", Compare::num}, {"nan", Compare::nan},
};
constexpr Words<BoolOp> kBoolOps[] = {{"and", BoolOp::and_}, {"or", BoolOp::or_}, {"xor", BoolOp::xor_}};
constexpr Words<AtomicOp> kAtomicOps[] = {
    {"add", AtomicOp::add}, {"min", AtomicOp::min},  {"max", AtomicOp::max},   {"and", AtomicOp::and_},
    {"or", AtomicOp::or_},  {"xor", AtomicOp::xor_}, {"exch", AtomicOp::exch}, {"cas", AtomicOp::cas},
    {"inc", AtomicOp::inc}, {"dec", AtomicOp::dec},
};
constexpr Words<Space> kSpaces[] = {
    {"param", Space::param},        {"global", Space::global}, {"shared", Space::shared},
    {"shared::cta", Space::shared}, {"local", Space::local},   {"const", Space::constant},
};
constexpr Words<PrmtMode> kPrmtModes[] = {
    {"f4e", PrmtMode::f4e}, {"b4e", PrmtMode::b4e}, {"rc8", PrmtMode::rc8},
    {"ecl", PrmtMode::ecl}, {"ecr", PrmtMode::ecr}, {"rc16", PrmtMode::rc16},
};
constexpr Words<ShuffleMode> kShuffleModes[] = {
    {"up", ShuffleMode::up}, {"down", ShuffleMode::down}, {"bfly", ShuffleMode::bfly}, {"idx", ShuffleMode::idx}};
constexpr Words<VoteMode> kVoteModes[] = {
    {"all", VoteMode::all}, {"any", VoteMode::any}, {"uni", VoteMode::uni}, {"ballot", VoteMode::ballot}};
constexpr Words<MmaShape> kMmaShapes[] = {
    {"m8n8k16", MmaShape::m8n8k16}, {"m16n8k16", MmaShape::m16n8k16}, {"m16n8k32", MmaShape::m16n8k32}};
constexpr Words<MemoryOrder> kOrders[] = {
    {"weak", MemoryOrder::weak},       {"volatile", MemoryOrder::strong_volatile}, {"relaxed", MemoryOrder::relaxed},
    {"acquire", MemoryOrder::acquire}, {"release", MemoryOrder::release},          {"acq_rel", MemoryOrder::acq_rel},
    {"sc", MemoryOrder::sc},
};
constexpr std::string_view kCacheHints[] = {"L1",
                                            "L2",
                                            "L2::evict_normal",
                                            "L2::evict_last",
                                            "ca",
                                            "cg",
                                            "cs",
                                            "lu",
                                            "cv",
                                            "wb",
                                            "wt",
                                            "L1::evict_normal",
                                            "L1::evict_unchanged",
                                            "L1::evict_first",
                                            "L1::evict_last",
                                            "L1::no_allocate",
                                            "L2::64B",
                                            "L2::128B",
                                            "L2::256B"};
constexpr std::string_view kWideScopes[] = {"gpu", "sys", "gl", "cluster"};

template <typename T, size_t N>
bool take(const Words<T> (&words)[N], std::string_view word, T& field) {
  for (const auto& [text, value] : words) {
    if (text == word) {
      field = value;
      return true;
    }
  }
  return false;
}

template <size_t N>
bool any_of(const std::string_view (&words)[N], std::string_view word) {
  for (const std::string_view text : words) {
    if (text == word) return true;
  }
  return false;
}

bool apply_type(const OpcodeRule& rule, std::string_view word, Instruction& instruction, int& types_seen) {
  Type type = Type::none;
  if (!take(kTypes, word, type) || types_seen >= rule.type_count) return false;
  const TypeSet allowed = types_seen == 0 || types_seen == 3 ? rule.types : rule.source_types;
  if ((allowed & set_of(type)) == 0) return false;
  (types_seen % 3 == 0 ? instruction.type : types_seen == 1 ? instruction.source_type : instruction.second_type) = type;
  ++types_seen;
  return true;
}

bool apply_flag(uint32_t allowed, std::string_view word, Instruction& out) {
  const auto flag = [&](uint32_t group, std::string_view text, bool& field) {
    if ((allowed & group) == 0 || word != text) return false;
    field = true;
    return true;
  };
  bool ignored = false;
  if (flag(kSaturate, "sat", out.saturate) || flag(kCarry, "cc", out.carry_out) ||
      flag(kNonCoherent, "nc", out.non_coherent) || flag(kUniform, "uni", out.uniform) ||
      flag(kTo, "to", out.to_space) || flag(kShift, "wrap", out.wrap) || flag(kShift, "clamp", ignored) ||
      flag(kShift, "l", out.left) || flag(kShift, "r", ignored) || flag(kHalf, "hi", out.high_half) ||
      flag(kHalf, "lo", ignored) || flag(kMatch, "all", out.match_all) || flag(kMatch, "any", ignored) ||
      flag(kSync, "sync", ignored) || flag(kSync, "aligned", ignored)) {
    return true;
  }
  if ((allowed & kVector) != 0 && (word == "v2" || word == "v4")) {
    out.vector = word == "v2" ? 2 : 4;
    return true;
  }
  if ((allowed & kCacheHint) != 0 && any_of(kCacheHints, word)) return true;
  if ((allowed & kOrder) != 0 && any_of(kWideScopes, word)) {
    out.gpu_scope = true;
    return true;
  }
  return (allowed & kOrder) != 0 && (word == "cta" || take(kOrders, word, out.order));
}

bool apply_matrix(std::string_view word, Instruction& out) {
  if (word == "x1" || word == "x2" || word == "x4") {
    out.vector = static_cast<uint8_t>(word[1] - '0');
    return true;
  }
  if (word == "trans") return out.transposed = true;
  if (word == "satfinite") return out.saturate = true;
  return word == "row" || word == "col" || word == "m8n8" || take(kMmaShapes, word, out.mma_shape);
}

}  // namespace

const OpcodeRule* find_opcode(std::string_view name) {
  for (const OpcodeRule& rule : kRules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

bool apply_modifier(const OpcodeRule& rule, std::string_view word, Instruction& out, int& types_seen) {
  const uint32_t allowed = rule.modifiers;
  if (((allowed & kCopy) != 0 && word == "global") || ((allowed & kPack) != 0 && types_seen == 2 && word == "b32")) {
    return true;
  }
  if ((allowed & kMatrix) != 0 && apply_matrix(word, out)) return true;
  if (apply_type(rule, word, out, types_seen) || apply_flag(allowed, word, out)) return true;
  if ((allowed & kRoundFloat) != 0 && word == "rn") {
    out.rounding = Rounding::rn;
    return true;
  }
  // `lo` and `hi` compare only in setp and set, where no mode of multiplication is allowed.
  return ((allowed & kRoundAny) != 0 && take(kRoundings, word, out.rounding)) ||
         ((allowed & kMulMode) != 0 && take(kMulModes, word, out.mul_mode)) ||
         ((allowed & kCompare) != 0 && out.compare == Compare::none && take(kCompares, word, out.compare)) ||
         ((allowed & kBoolOp) != 0 && take(kBoolOps, word, out.bool_op)) ||
         ((allowed & kAtomic) != 0 && take(kAtomicOps, word, out.atomic_op)) ||
         ((allowed & kSpace) != 0 && take(kSpaces, word, out.space)) ||
         ((allowed & kPrmt) != 0 && take(kPrmtModes, word, out.prmt_mode)) ||
         ((allowed & kShuffle) != 0 && take(kShuffleModes, word, out.shuffle_mode)) ||
         ((allowed & kVote) != 0 && take(kVoteModes, word, out.vote_mode));
}

std::string_view name(Opcode opcode) {
  for (const OpcodeRule& rule : kRules) {
    if (rule.opcode == opcode) return rule.name;
  }
  return "nop";
}

std::string_view name(Type type) {
  for (const auto& [text, value] : kTypes) {
    if (value == type) return text;
  }
  return "none";
}

int size_bytes(Type type) {
  switch (type) {
    case Type::none:
    case Type::pred:
      return 0;
    case Type::b8:
    case Type::u8:
    case Type::s8:
      return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
      return 2;
    case Type::b64:
    case Type::u64:
    case Type::s64:
      return 8;
    default:
      return 4;
  }
}

bool is_signed(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64; }
bool is_float(Type type) { return type == Type::f32; }

}  // namespace warpwright::ptx
