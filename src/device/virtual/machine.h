// The machine of the interpreter: decoded operations, warps, CTAs, and what a launch shares between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/core/kernel.h"
#include "src/device/virtual/ptx.h"

namespace warpwright::virtual_gpu {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffu;
// Generic addresses of shared and local memory start here; global addresses are far below.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 62;
inline constexpr uint64_t kLocalWindow = kSharedWindow | uint64_t{1} << 61;

struct Warp;
struct Op;
using Handler = void (*)(Warp& warp, const Op& op, uint32_t mask);

/// `full` runs when all 32 lanes take part, `masked` otherwise.
struct Handlers {
  Handler full = nullptr, masked = nullptr;
};

/// Where an operand lies: an offset in bytes, a multiple of 128, into the registers of the warp, or, with bit 0 set,
/// into the constants of the code. Predicates: index * 2, bit 0 set when negated.
using Place = int32_t;

enum class AddressForm : uint8_t { absolute, narrow, wide };  // no base, a 32-bit base, a 64-bit base

struct AddressPlace {
  AddressForm form = AddressForm::absolute;
  Place base = 0;
  int64_t offset = 0;
};

struct Op {
  Handlers run;
  Handlers inner;  // of a checked memory access: the access itself
  std::array<Place, 4> d{};
  std::array<Place, 10> s{};
  std::array<AddressPlace, 2> address{};  // the second: of cp.async, where it reads
  Place guard = -1;                       // predicate, or -1
  int32_t table = 0;                      // of lop3
  int32_t target = -1, reconverge = -1;   // of a bra, indices of ops
  bool wide_values = false;               // of an ld or st: its registers have 64 bits
  bool may_stop = false;  // exit, bar: the warp may have stopped; atomics, fences: other CTAs may have a turn
  int32_t source = -1;    // index of the instruction; -1: added by the decoder
  const ptx::Instruction* instruction = nullptr;
};

struct alignas(128) LaneLine {
  std::array<std::byte, 128> bytes;
};

/// A special register that must be filled: into `place` of each warp.
struct SpecialUse {
  ptx::Special special;
  Place place;
};

/// A kernel ready to run.
struct Code {
  ptx::Kernel kernel;
  std::vector<Op> ops;
  std::vector<LaneLine> constants;  // broadcast immediates
  size_t register_lines = 0;        // LaneLines of a warp
  size_t predicates = 0;
  std::vector<SpecialUse> specials;
  std::vector<Place> zeroed;             // registers that may be read before they are written, in lines of 128 bytes
  std::vector<std::byte> constant_bank;  // .const
};

/// A path of the warp that waits for its turn.
struct Suspended {
  uint32_t mask;
  int32_t pc, reconverge;
};

struct Cta;

struct Warp {
  std::array<std::byte*, 2> bases{};  // registers, constants
  uint32_t* predicates = nullptr;
  uint32_t active = 0;  // lanes that run now
  uint32_t live = 0;    // lanes that have not exited
  uint32_t carry = 0;   // condition code, a bit a lane
  int32_t pc = 0;
  int32_t reconverge = -1;
  bool stopped = false;  // finished, or waits at a barrier
  bool waiting = false;
  uint32_t barrier_id = 0, barrier_warps = 0;  // 0 warps: all of the CTA
  int index = 0;                               // in the CTA
  Cta* cta = nullptr;
  std::byte* local = nullptr;  // kLanes * local_bytes
  std::vector<Suspended> stack;
  const Op* waiting_op = nullptr;
};

class GlobalMemory;
class Checks;

/// What all CTAs of a launch share; not changed while it runs, but for the memory.
struct Grid {
  const Code* code = nullptr;
  GlobalMemory* memory = nullptr;
  LaunchShape shape;
  std::vector<std::byte> parameters;
  uint32_t shared_bytes = 0;  // static and dynamic
};

/// Whether the CTAs may tell each other something while they run: by atomics on global memory.
bool communicates(const ptx::Kernel& kernel);

struct Cta {
  const Grid* grid = nullptr;
  uint64_t number = 0;  // linear
  std::array<uint32_t, 3> position{};
  std::byte* shared = nullptr;
  Checks* checks = nullptr;  // null in fast mode
  std::vector<Warp> warps;
};

template <typename T>
inline T* lanes(Warp& warp, Place place) {
  return reinterpret_cast<T*>(warp.bases[static_cast<size_t>(place & 1)] + (place & ~1));
}

inline uint32_t predicate(const Warp& warp, Place place) {
  return warp.predicates[place >> 1] ^ (0u - static_cast<uint32_t>(place & 1));
}

inline void set_predicate(Warp& warp, Place place, uint32_t mask, uint32_t bits) {
  uint32_t& to = warp.predicates[place >> 1];
  to = (to & ~mask) | (bits & mask);
}

/// The address that each lane asks for; lanes outside the mask may hold anything. `which` 1: where cp.async reads.
inline void addresses(Warp& warp, const Op& op, uint64_t* out, size_t which = 0) {
  const AddressPlace& place = op.address[which];
  const auto offset = static_cast<uint64_t>(place.offset);
  if (place.form == AddressForm::wide) {
    const uint64_t* base = lanes<uint64_t>(warp, place.base);
    for (int l = 0; l < kLanes; ++l) out[l] = base[l] + offset;
  } else if (place.form == AddressForm::narrow) {
    const uint32_t* base = lanes<uint32_t>(warp, place.base);
    for (int l = 0; l < kLanes; ++l) out[l] = static_cast<uint32_t>(base[l] + static_cast<uint32_t>(offset));
  } else {
    for (int l = 0; l < kLanes; ++l) out[l] = offset;
  }
}

}  // namespace warpwright::virtual_gpu
