// atom and red on global and shared memory. CTAs run on several host threads, so the host's atomics do the work.
#include <atomic>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::AtomicOp;

template <typename T>
T combined(AtomicOp how, bool is_signed, T old, T value, T other) {
  using Signed = std::make_signed_t<T>;
  const bool less = is_signed ? static_cast<Signed>(old) < static_cast<Signed>(value) : old < value;
  switch (how) {
    case AtomicOp::add:
      return old + value;
    case AtomicOp::min:
      return less ? old : value;
    case AtomicOp::max:
      return less ? value : old;
    case AtomicOp::and_:
      return old & value;
    case AtomicOp::or_:
      return old | value;
    case AtomicOp::xor_:
      return old ^ value;
    case AtomicOp::cas:
      return old == value ? other : old;
    case AtomicOp::inc:
      return old >= value ? 0 : old + 1;
    case AtomicOp::dec:
      return old == 0 || old > value ? value : old - 1;
    default:  // exch
      return value;
  }
}

template <typename T>
void atomic(Warp& warp, const Op& op, uint32_t mask) {
  const ptx::Instruction& in = *op.instruction;
  const bool is_signed = ptx::is_signed(in.type);
  const bool keeps_old = in.opcode == ptx::Opcode::atom;
  uint64_t at[kLanes];
  addresses(warp, op, at);
  for_each_lane(mask, [&](int l) {
    T& cell = *reinterpret_cast<T*>(resolve(warp, op, at[l], l, sizeof(T)));
    const T value = lanes<T>(warp, op.s[0])[l];
    const T other = in.atomic_op == AtomicOp::cas ? lanes<T>(warp, op.s[1])[l] : T{0};
    std::atomic_ref<T> reference(cell);
    T old = reference.load();
    while (!reference.compare_exchange_weak(old, combined<T>(in.atomic_op, is_signed, old, value, other))) {
    }
    if (keeps_old) lanes<T>(warp, op.d[0])[l] = old;
  });
}

}  // namespace

Handlers atomic_handlers(const ptx::Instruction& in) {
  if (in.opcode != ptx::Opcode::atom && in.opcode != ptx::Opcode::red) return {};
  const Handler run = ptx::size_bytes(in.type) == 8 ? &atomic<uint64_t> : &atomic<uint32_t>;
  return {run, run};
}

}  // namespace warpwright::virtual_gpu
