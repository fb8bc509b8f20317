// PTX as the virtual GPU sees it: kernels of decoded instructions with their control flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpwright::ptx {

// clang-format off
enum class Opcode : uint8_t {
  abs, activemask, add, addc, and_, atom, bar, bar_warp, bfe, bfi, bfind, bra, brev, clz, cnot, cp_async,
  cp_async_commit, cp_async_wait_all, cp_async_wait_group, cvt, cvt_pack, cvta, div, dp2a, dp4a, exit, fence, fma, ld,
  ldmatrix, lop3, mad, madc, match, max, membar, min, mma, mov, mul, nanosleep, neg, nop, not_, or_, popc, prefetch,
  prmt, rcp, red, redux, rem, ret, sad, selp, set, setp, shf, shfl, shl, shr, sqrt, st, sub, subc, trap, vote, xor_,
};
// clang-format on
std::string_view name(Opcode opcode);  // as in PTX: `and`, `bar.warp`

enum class Type : uint8_t { none, pred, b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f32 };
std::string_view name(Type type);  // `u32`
int size_bytes(Type type);         // of a memory access; pred and none: 0
bool is_signed(Type type);
bool is_float(Type type);

enum class Space : uint8_t { none, generic, param, global, shared, local, constant };
enum class Rounding : uint8_t { none, rn, rz, rm, rp, rni, rzi, rmi, rpi };
enum class MulMode : uint8_t { none, lo, hi, wide };
enum class Compare : uint8_t { none, eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class BoolOp : uint8_t { none, and_, or_, xor_ };
enum class AtomicOp : uint8_t { none, add, min, max, and_, or_, xor_, exch, cas, inc, dec };
enum class PrmtMode : uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };
enum class ShuffleMode : uint8_t { none, up, down, bfly, idx };
enum class VoteMode : uint8_t { none, all, any, uni, ballot };
enum class MmaShape : uint8_t { none, m8n8k16, m16n8k16, m16n8k32 };
enum class MemoryOrder : uint8_t { weak, strong_volatile, relaxed, acquire, release, acq_rel, sc };

// clang-format off
enum class Special : uint8_t {
  tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z,
  laneid, warpid, nwarpid, lanemask_eq, lanemask_lt, lanemask_le, lanemask_gt, lanemask_ge, dynamic_smem_size,
};
// clang-format on
inline constexpr int kSpecialCount = 21;

struct Operand {
  enum class Kind : uint8_t {
    none,
    reg,        // reg
    immediate,  // value: bits of the constant, integers sign-extended to 64 bits, f32 in the low 32
    special,    // special
    symbol,     // the address of a variable: value = offset in `space` (shared, local, constant) or, for global, an
                // index of Module::globals in `symbol`; with `value` added
    address,    // [base + value]: base is `reg` if >= 0, else the start of `space`, or a global variable `symbol` >= 0
    discard,    // `_`
  };
  Kind kind = Kind::none;
  bool negated = false;  // !%p
  Space space = Space::none;
  Special special = Special::tid_x;
  int reg = -1;     // index of Kernel::registers
  int symbol = -1;  // index of Module::globals
  int64_t value = 0;
};

struct Instruction {
  Opcode opcode = Opcode::nop;
  Type type = Type::none;         // of the operation or the result (cvt, set: of the destination)
  Type source_type = Type::none;  // cvt and set: of the source; dp4a, dp2a: `type` is of a, this of b; mma: of a
  Type second_type = Type::none;  // mma: of b
  Space space = Space::none;      // ld, st, atom, red, cvta; cp.async: shared
  Rounding rounding = Rounding::none;
  MulMode mul_mode = MulMode::none;
  Compare compare = Compare::none;
  BoolOp bool_op = BoolOp::none;        // setp.lt.and
  AtomicOp atomic_op = AtomicOp::none;  // atom, red, redux
  PrmtMode prmt_mode = PrmtMode::none;
  ShuffleMode shuffle_mode = ShuffleMode::none;
  VoteMode vote_mode = VoteMode::none;
  MmaShape mma_shape = MmaShape::none;
  MemoryOrder order = MemoryOrder::weak;
  uint8_t vector = 1;               // 1, 2, 4; ldmatrix: its matrices
  bool saturate = false;            // .sat, .satfinite
  bool carry_out = false;           // .cc
  bool non_coherent = false;        // ld.global.nc
  bool to_space = false;            // cvta.to
  bool wrap = false, left = false;  // shf, bfind.shiftamt: wrap
  bool uniform = false;             // bra.uni
  bool high_half = false;           // dp2a.hi
  bool match_all = false;           // match.all
  bool gpu_scope = false;           // .gpu, .sys, .cluster, .gl: wider than a CTA
  bool transposed = false;          // ldmatrix.trans

  int guard = -1;  // predicate register
  bool guard_negated = false;
  // Destinations first as written: a vector is `vector` operands in a row; `%p|%q`, `%r|%p` are two.
  std::vector<Operand> destinations;
  std::vector<Operand> sources;  // an ld has its address here, an st its address and then the values; cp.async: where
                                 // to, where from, the size, and perhaps the source size or the predicate to ignore it
  int target = -1;               // bra: index of the instruction
  int line = 0;                  // in the PTX text, from 1
  int block = -1;                // index of Kernel::blocks
  std::string text;              // opcode with modifiers as written, e.g. `ld.shared.v4.u32`
};

struct Block {
  int first = 0, last = 0;  // instructions [first, last)
  std::vector<int> successors;
  int post_dominator = -1;  // immediate; -1: the exit of the kernel
};

struct Register {
  std::string name;  // as written, e.g. `%r12`
  Type type = Type::b32;
};

struct Parameter {
  std::string name;
  Type type = Type::none;  // none: an array or struct of bytes
  uint32_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameter_bytes = 0;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;  // the last one is a ret or exit
  std::vector<Block> blocks;              // in order of the text; block 0 is the entry
  uint32_t shared_bytes = 0;              // static; dynamic memory starts here, see dynamic_shared_offset
  uint32_t dynamic_shared_offset = 0;     // shared_bytes rounded up to the alignment of the extern array
  uint32_t local_bytes = 0;               // a thread
  std::array<uint32_t, 3> max_block{};    // .maxntid; 0 where absent
  std::array<uint32_t, 3> exact_block{};  // .reqntid; 0 where absent
};

/// A module-scope .global variable with its first contents.
struct GlobalVariable {
  std::string name;
  uint32_t alignment = 1;
  std::vector<std::byte> bytes;
  bool initialised = false;
};

struct Module {
  int version = 0;     // of PTX, 10 * major + minor
  std::string target;  // `sm_89`
  std::vector<Kernel> kernels;
  std::vector<std::byte> constants;  // the .const bank
  std::vector<GlobalVariable> globals;
};

/// Throws UsageError `virtual device: PTX line N: ...` for malformed text and for what is not supported, by name.
Module parse(std::string_view text);

/// Bytes at each address of a memory access: of ldmatrix a row of 16, of cp.async what it writes. 0 for others.
int access_bytes(const Instruction& instruction);

/// Registers that the instruction reads (guard included) and writes, in order of appearance.
std::vector<int> registers_read(const Instruction& instruction);
std::vector<int> registers_written(const Instruction& instruction);

}  // namespace warpwright::ptx
