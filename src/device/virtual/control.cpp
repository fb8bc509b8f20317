// Branches and reconvergence, exits, barriers, traps, cvta, and what does nothing here: fences, prefetches.
#include <fmt/format.h>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::Opcode;

constexpr size_t kDeepestDivergence = 4096;

void resume(Warp& warp, uint32_t mask, int32_t pc, int32_t reconverge) {
  warp.active = mask;
  warp.pc = pc;
  warp.reconverge = reconverge;
}

// Goes on with the path that waits longest inside, without the lanes that have exited.
void resume_next(Warp& warp) {
  while (!warp.stack.empty()) {
    const Suspended next = warp.stack.back();
    warp.stack.pop_back();
    if ((next.mask & warp.live) != 0) {
      resume(warp, next.mask & warp.live, next.pc, next.reconverge);
      return;
    }
  }
  warp.active = 0;
  warp.stopped = true;
}

void branch(Warp& warp, const Op& op, uint32_t taken) {
  const uint32_t staying = warp.active & ~taken;
  if (staying == 0) {
    warp.pc = op.target;
    return;
  }
  if (warp.stack.size() > kDeepestDivergence) {
    raise(OutcomeKind::crashed, "paths of the warp diverge without end", warp, op, -1);
  }
  // One path at a time; the lanes that are at the point of reconvergence already wait in the entry below.
  if (op.reconverge >= 0 && warp.reconverge != op.reconverge) {
    warp.stack.push_back({warp.active, op.reconverge, warp.reconverge});
  }
  if (op.target == op.reconverge) {
    resume(warp, staying, warp.pc, op.reconverge);
  } else if (warp.pc == op.reconverge) {
    resume(warp, taken, op.target, op.reconverge);
  } else {
    warp.stack.push_back({taken, op.target, op.reconverge});
    resume(warp, staying, warp.pc, op.reconverge);
  }
}

void exit_lanes(Warp& warp, const Op&, uint32_t mask) {
  warp.live &= ~mask;
  warp.active &= ~mask;
  if (warp.active == 0) resume_next(warp);
}

void barrier(Warp& warp, const Op& op, uint32_t mask) {
  if (mask != warp.live) {
    raise(OutcomeKind::memory_fault,
          fmt::format("divergent barrier: {} of the {} live threads of the warp meet it", __builtin_popcount(mask),
                      __builtin_popcount(warp.live)),
          warp, op, __builtin_ctz(warp.live & ~mask));
  }
  const uint32_t id = lanes<uint32_t>(warp, op.s[0])[__builtin_ctz(mask)];
  const bool has_count = op.instruction->sources.size() > 1;
  const uint32_t count = has_count ? lanes<uint32_t>(warp, op.s[1])[__builtin_ctz(mask)] : 0;
  if (id > 15 || count % kLanes != 0 || (has_count && count == 0)) {
    raise(OutcomeKind::memory_fault, fmt::format("barrier {} with {} threads does not exist", id, count), warp, op, -1);
  }
  warp.barrier_id = id;
  warp.barrier_warps = count / kLanes;
  warp.waiting = true;
  warp.waiting_op = &op;
  warp.stopped = true;
}

void warp_barrier(Warp& warp, const Op& op, uint32_t mask) {
  for_each_lane(mask, [&](int l) {
    const uint32_t members = lanes<uint32_t>(warp, op.s[0])[l];
    if ((members >> l & 1u) == 0 || (members & warp.live & ~mask) != 0) {
      raise(OutcomeKind::memory_fault,
            fmt::format("divergent barrier: members {:#x}, of which {:#x} meet it", members, members & mask), warp, op,
            l);
    }
  });
}

void do_nothing(Warp&, const Op&, uint32_t) {}

void trap(Warp& warp, const Op& op, uint32_t mask) {
  raise(OutcomeKind::crashed, "trap", warp, op, __builtin_ctz(mask));
}

void convert_address(Warp& warp, const Op& op, uint32_t mask) {
  const ptx::Instruction& in = *op.instruction;
  uint64_t shift = in.space == ptx::Space::shared ? kSharedWindow : in.space == ptx::Space::local ? kLocalWindow : 0;
  if (in.to_space) shift = 0 - shift;
  uint64_t* d = lanes<uint64_t>(warp, op.d[0]);
  const uint64_t* a = lanes<uint64_t>(warp, op.s[0]);
  for (int l = 0; l < kLanes; ++l) d[l] = (mask >> l & 1u) != 0 ? a[l] + shift : d[l];
}

}  // namespace

void join_lanes(Warp& warp, const Op&, uint32_t) {
  // pc is behind this operation; its index is where paths of this level meet.
  if (warp.reconverge == warp.pc - 1) resume_next(warp);
}

Handlers control_handlers(const ptx::Instruction& in) {
  const auto same = [](Handler handler) { return Handlers{handler, handler}; };
  switch (in.opcode) {
    case Opcode::bra:
      return same(&branch);
    case Opcode::ret:
    case Opcode::exit:
      return same(&exit_lanes);
    case Opcode::bar:
      return same(&barrier);
    case Opcode::bar_warp:
      return same(&warp_barrier);
    case Opcode::fence:
    case Opcode::membar:
    case Opcode::prefetch:
    case Opcode::nanosleep:
      return same(&do_nothing);
    case Opcode::trap:
      return same(&trap);
    case Opcode::cvta: {
      const bool known =
          in.space == ptx::Space::global || in.space == ptx::Space::shared || in.space == ptx::Space::local;
      return known ? same(&convert_address) : Handlers{};
    }
    default:
      return {};
  }
}

}  // namespace warpwright::virtual_gpu
