// Handlers of everything but lane arithmetic, by group. Null handlers: the instruction is not of the group.
#pragma once

#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

// Registers are 64 bits wide: of a load its destinations, of a store its values.
Handlers load_handlers(const ptx::Instruction& instruction, bool wide_registers);
Handlers store_handlers(const ptx::Instruction& instruction, bool wide_registers);
Handlers atomic_handlers(const ptx::Instruction& instruction);    // atom, red
Handlers exchange_handlers(const ptx::Instruction& instruction);  // shfl, vote, match, redux, activemask
Handlers control_handlers(const ptx::Instruction& instruction);   // bra, exit, bar, fence, trap, cvta, prefetch
Handlers matrix_handlers(const ptx::Instruction& instruction);    // mma, ldmatrix
Handlers copy_handlers(const ptx::Instruction& instruction);      // cp.async

/// Pseudo-operation at the start of a block where lanes reconverge.
void join_lanes(Warp& warp, const Op& op, uint32_t mask);

/// Wraps a memory access or a synchronisation with the checks of the CTA, if it has any.
Handlers checked_handlers(const ptx::Instruction& instruction);

/// Host memory of `bytes` at an address of the instruction's space; raises memory_fault when it is outside.
std::byte* resolve(Warp& warp, const Op& op, uint64_t address, int lane, uint32_t bytes);
struct Asked {
  ptx::Space space;
  bool writes;
  uint32_t bytes, alignment;
};
/// The same for any access, whatever the instruction says of itself.
std::byte* resolve(const Asked& asked, Warp& warp, const Op& op, uint64_t address, int lane);
/// The space that a generic address lies in; other spaces are given back. `address` becomes an offset in it.
ptx::Space space_of(ptx::Space space, uint64_t& address);

template <typename F>
inline void for_each_lane(uint32_t mask, F&& run) {
  for (; mask != 0; mask &= mask - 1) run(__builtin_ctz(mask));
}

}  // namespace warpwright::virtual_gpu
