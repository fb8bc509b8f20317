// Loads and stores. What lies outside its space is always a fault, so that no kernel can harm the host.
#include <fmt/format.h>

#include <cstring>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/global_memory.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::Space;
using ptx::Type;

// Bytes that all lanes see at `host`, from address `base` on; lane l sees them `stride` * l further.
struct Window {
  std::byte* host = nullptr;
  uint64_t base = 0, bytes = 0, stride = 0;
};

Window linear_window(Warp& warp, Space space) {
  const Grid& grid = *warp.cta->grid;
  switch (space) {
    case Space::shared:
      return {warp.cta->shared, 0, grid.shared_bytes, 0};
    case Space::local:
      return {warp.local, 0, grid.code->kernel.local_bytes, grid.code->kernel.local_bytes};
    case Space::param:
      return {const_cast<std::byte*>(grid.parameters.data()), 0, grid.parameters.size(), 0};
    default:
      return {const_cast<std::byte*>(grid.code->constant_bank.data()), 0, grid.code->constant_bank.size(), 0};
  }
}

const char* space_name(Space space) {
  switch (space) {
    case Space::shared:
      return "shared memory";
    case Space::local:
      return "local memory";
    case Space::param:
      return "the parameters";
    case Space::constant:
      return "constant memory";
    default:
      return "global memory";
  }
}

// Where the first active lane's allocation lies; no bytes when it is in none.
template <bool kStore>
Window global_window(Warp& warp, uint64_t address) {
  Allocation* found = warp.cta->grid->memory->allocation_at(address);
  if (found == nullptr || (kStore && found->is_constant)) return {};
  return {found->host, found->base, found->bytes, 0};
}

// Offsets of the active lanes in the window (0 for others); false when one is outside or not aligned.
template <uint32_t kBytes, bool kFull>
bool offsets_inside(const Window& window, uint32_t mask, uint64_t* offsets) {
  if (window.bytes < kBytes) return false;
  uint64_t largest = 0, bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t offset = kFull || (mask >> l & 1u) != 0 ? offsets[l] - window.base : 0;
    offsets[l] = offset;
    bits |= offset;
    largest = offset > largest ? offset : largest;
  }
  return largest <= window.bytes - kBytes && (bits & (kBytes - 1)) == 0;
}

template <Space kSpace, bool kStore>
Window window_of(Warp& warp, uint32_t mask, const uint64_t* addresses) {
  if constexpr (kSpace == Space::global) return global_window<kStore>(warp, addresses[__builtin_ctz(mask)]);
  if constexpr (kSpace == Space::generic) return {};
  return linear_window(warp, kSpace);
}

template <typename Element, typename Register>
Register extended(const std::byte* from) {
  Element value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<Register>(static_cast<int64_t>(value));
}

template <Space kSpace, typename Element, int kVector, typename Register, bool kFull>
void load(Warp& warp, const Op& op, uint32_t mask) {
  constexpr uint32_t kBytes = sizeof(Element) * kVector;
  alignas(64) uint64_t at[kLanes];
  addresses(warp, op, at);
  const Window window = window_of<kSpace, false>(warp, mask, at);
  Register* d[kVector];
  for (int v = 0; v < kVector; ++v) d[v] = lanes<Register>(warp, op.d[static_cast<size_t>(v)]);
  const auto take = [&](int l, const std::byte* from) {
    for (int v = 0; v < kVector; ++v)
      d[v][l] = extended<Element, Register>(from + static_cast<size_t>(v) * sizeof(Element));
  };
  if (offsets_inside<kBytes, kFull>(window, mask, at)) {
    if constexpr (kFull) {
      for (int l = 0; l < kLanes; ++l) take(l, window.host + at[l] + static_cast<uint64_t>(l) * window.stride);
    } else {
      for_each_lane(mask, [&](int l) { take(l, window.host + at[l] + static_cast<uint64_t>(l) * window.stride); });
    }
    return;
  }
  addresses(warp, op, at);
  for_each_lane(mask, [&](int l) { take(l, resolve(warp, op, at[l], l, kBytes)); });
}

template <Space kSpace, typename Element, int kVector, typename Register, bool kFull>
void store(Warp& warp, const Op& op, uint32_t mask) {
  constexpr uint32_t kBytes = sizeof(Element) * kVector;
  alignas(64) uint64_t at[kLanes];
  addresses(warp, op, at);
  const Window window = window_of<kSpace, true>(warp, mask, at);
  const Register* s[kVector];
  for (int v = 0; v < kVector; ++v) s[v] = lanes<Register>(warp, op.s[static_cast<size_t>(v)]);
  const auto give = [&](int l, std::byte* to) {
    for (int v = 0; v < kVector; ++v) {
      const auto value = static_cast<Element>(s[v][l]);
      std::memcpy(to + static_cast<size_t>(v) * sizeof(Element), &value, sizeof value);
    }
  };
  if (offsets_inside<kBytes, kFull>(window, mask, at)) {
    if constexpr (kFull) {
      for (int l = 0; l < kLanes; ++l) give(l, window.host + at[l] + static_cast<uint64_t>(l) * window.stride);
    } else {
      for_each_lane(mask, [&](int l) { give(l, window.host + at[l] + static_cast<uint64_t>(l) * window.stride); });
    }
    return;
  }
  addresses(warp, op, at);
  for_each_lane(mask, [&](int l) { give(l, resolve(warp, op, at[l], l, kBytes)); });
}

template <Space kSpace, typename Element, int kVector, typename Register, bool kStore>
Handlers access_pair() {
  if constexpr (sizeof(Element) * kVector > 16) {
    return {};
  } else if constexpr (kStore) {
    return {&store<kSpace, Element, kVector, Register, true>, &store<kSpace, Element, kVector, Register, false>};
  } else {
    return {&load<kSpace, Element, kVector, Register, true>, &load<kSpace, Element, kVector, Register, false>};
  }
}

template <Space kSpace, typename Element, typename Register, bool kStore>
Handlers by_vector(int vector) {
  if (vector == 1) return access_pair<kSpace, Element, 1, Register, kStore>();
  if (vector == 2) return access_pair<kSpace, Element, 2, Register, kStore>();
  return access_pair<kSpace, Element, 4, Register, kStore>();
}

// Sign extension matters to loads into wider registers alone.
template <Space kSpace, typename Register, bool kStore>
Handlers by_element(const ptx::Instruction& in) {
  const int vector = in.vector;
  const bool is_signed = !kStore && ptx::is_signed(in.type);
  switch (ptx::size_bytes(in.type)) {
    case 1:
      return is_signed ? by_vector<kSpace, int8_t, Register, kStore>(vector)
                       : by_vector<kSpace, uint8_t, Register, kStore>(vector);
    case 2:
      return is_signed ? by_vector<kSpace, int16_t, Register, kStore>(vector)
                       : by_vector<kSpace, uint16_t, Register, kStore>(vector);
    case 4:
      return is_signed ? by_vector<kSpace, int32_t, Register, kStore>(vector)
                       : by_vector<kSpace, uint32_t, Register, kStore>(vector);
    default:
      if constexpr (sizeof(Register) == 8) return by_vector<kSpace, uint64_t, Register, kStore>(vector);
      return {};
  }
}

template <bool kStore>
Handlers by_space(const ptx::Instruction& in, bool wide) {
  switch (in.space) {
    case Space::global:
      return wide ? by_element<Space::global, uint64_t, kStore>(in) : by_element<Space::global, uint32_t, kStore>(in);
    case Space::shared:
      return wide ? by_element<Space::shared, uint64_t, kStore>(in) : by_element<Space::shared, uint32_t, kStore>(in);
    case Space::local:
      return wide ? by_element<Space::local, uint64_t, kStore>(in) : by_element<Space::local, uint32_t, kStore>(in);
    case Space::param:
    case Space::constant:
      if constexpr (kStore) return {};
      if (in.space == Space::param) {
        return wide ? by_element<Space::param, uint64_t, kStore>(in) : by_element<Space::param, uint32_t, kStore>(in);
      }
      return wide ? by_element<Space::constant, uint64_t, kStore>(in)
                  : by_element<Space::constant, uint32_t, kStore>(in);
    default:
      return wide ? by_element<Space::generic, uint64_t, kStore>(in) : by_element<Space::generic, uint32_t, kStore>(in);
  }
}

bool writes(const Op& op) {
  const ptx::Opcode opcode = op.instruction->opcode;
  return opcode == ptx::Opcode::st || opcode == ptx::Opcode::atom || opcode == ptx::Opcode::red;
}

}  // namespace

Space space_of(Space space, uint64_t& address) {
  if (space != Space::generic && space != Space::none) return space;
  if (address >= kLocalWindow) {
    address -= kLocalWindow;
    return Space::local;
  }
  if (address >= kSharedWindow) {
    address -= kSharedWindow;
    return Space::shared;
  }
  return Space::global;
}

std::byte* resolve(Warp& warp, const Op& op, uint64_t address, int lane, uint32_t bytes) {
  return resolve({op.instruction->space, writes(op), bytes, bytes}, warp, op, address, lane);
}

std::byte* resolve(const Asked& asked, Warp& warp, const Op& op, uint64_t address, int lane) {
  const uint32_t bytes = asked.bytes;
  const Space space = space_of(asked.space, address);
  if (space == Space::global) {
    GlobalMemory& memory = *warp.cta->grid->memory;
    std::byte* found = memory.at(address, bytes);
    if (found == nullptr) {
      raise(OutcomeKind::memory_fault, fmt::format("out of bounds: {} bytes at {}", bytes, memory.describe(address)),
            warp, op, lane);
    }
    if (asked.writes && memory.allocation_at(address)->is_constant) {
      raise(OutcomeKind::memory_fault, "write to a constant input: " + memory.describe(address), warp, op, lane);
    }
    if (address % asked.alignment != 0) {
      raise(OutcomeKind::memory_fault, fmt::format("misaligned: {} bytes at {}", bytes, memory.describe(address)), warp,
            op, lane);
    }
    return found;
  }
  const Window window = linear_window(warp, space);
  if (address > window.bytes || window.bytes - address < bytes) {
    raise(OutcomeKind::memory_fault,
          fmt::format("out of bounds: {} bytes at offset {} of {}, which has {}", bytes, static_cast<int64_t>(address),
                      space_name(space), window.bytes),
          warp, op, lane);
  }
  if (address % asked.alignment != 0) {
    raise(OutcomeKind::memory_fault,
          fmt::format("misaligned: {} bytes at offset {} of {}", bytes, address, space_name(space)), warp, op, lane);
  }
  return window.host + address + static_cast<uint64_t>(lane) * window.stride;
}

Handlers load_handlers(const ptx::Instruction& in, bool wide) {
  return in.opcode == ptx::Opcode::ld ? by_space<false>(in, wide) : Handlers{};
}

Handlers store_handlers(const ptx::Instruction& in, bool wide) {
  return in.opcode == ptx::Opcode::st ? by_space<true>(in, wide) : Handlers{};
}

}  // namespace warpwright::virtual_gpu
