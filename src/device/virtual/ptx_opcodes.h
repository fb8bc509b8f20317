// What each opcode may carry: its modifiers, types and operands; the grammar of one instruction.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/device/virtual/ptx.h"

namespace warpwright::ptx {

// Groups of modifiers, as bits.
enum Modifiers : uint32_t {
  kRoundFloat = 1u << 0,  // .rn
  kRoundAny = 1u << 1,    // .rn .rz .rm .rp .rni .rzi .rmi .rpi
  kSaturate = 1u << 2,
  kMulMode = 1u << 3,  // .lo .hi .wide
  kCompare = 1u << 4,
  kBoolOp = 1u << 5,  // after a comparison
  kAtomic = 1u << 6,
  kSpace = 1u << 7,
  kCarry = 1u << 8,      // .cc
  kCacheHint = 1u << 9,  // .ca .cg .cs .lu .cv .wb .wt .L1… .L2…
  kOrder = 1u << 10,     // .volatile .weak .relaxed .acquire .release .acq_rel .sc and scopes
  kVector = 1u << 11,
  kNonCoherent = 1u << 12,
  kSync = 1u << 13,  // .sync, .aligned
  kUniform = 1u << 14,
  kTo = 1u << 15,
  kShift = 1u << 16,  // .l .r .wrap .clamp
  kPrmt = 1u << 17,
  kShuffle = 1u << 18,
  kVote = 1u << 19,
  kMatch = 1u << 20,
  kHalf = 1u << 21,    // .lo .hi of dp2a
  kMatrix = 1u << 22,  // shapes, .row .col .satfinite .x1 .x2 .x4 .m8n8 .trans
  kCopy = 1u << 23,    // .global behind .shared
  kPack = 1u << 24,    // .b32 behind the types
};

// Sets of types, as bits of 1 << Type.
using TypeSet = uint32_t;

struct OpcodeRule {
  std::string_view name;
  Opcode opcode;
  uint32_t modifiers;
  TypeSet types;         // of `type`
  TypeSet source_types;  // 0: the instruction has one type
  uint8_t type_count;    // types written
  int8_t destinations;   // operands before the sources; for ld one vector
  int8_t least_sources, most_sources;
};

/// Null when the opcode is not supported.
const OpcodeRule* find_opcode(std::string_view name);

/// Sets what the modifier says; false when `rule` does not allow it.
bool apply_modifier(const OpcodeRule& rule, std::string_view modifier, Instruction& instruction, int& types_seen);

}  // namespace warpwright::ptx
