// Checks of accesses to shared and local memory, of copies, and what calls the checks.
#include "src/device/virtual/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/device/virtual/async_copy.h"
#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::Opcode;
using ptx::Space;

bool is_atomic(const Op& op) { return op.instruction->opcode == Opcode::atom || op.instruction->opcode == Opcode::red; }
bool is_store(const Op& op) { return op.instruction->opcode == Opcode::st; }

size_t thread_of(const Warp& warp, int lane) {
  return static_cast<size_t>(warp.index) * kLanes + static_cast<size_t>(lane);
}

}  // namespace

bool store_changes(Warp& warp, const Op& op, int lane, std::byte* at, uint32_t bytes) {
  const uint32_t each = bytes / op.instruction->vector;
  bool changes = false;
  for (size_t v = 0; v < op.instruction->vector; ++v, at += each) {
    const void* value = op.wide_values ? static_cast<const void*>(lanes<uint64_t>(warp, op.s[v]) + lane)
                                       : static_cast<const void*>(lanes<uint32_t>(warp, op.s[v]) + lane);
    changes = changes || std::memcmp(value, at, each) != 0;
    std::memcpy(at, value, each);
  }
  return changes;
}

Checks::Checks(const Grid& grid, uint64_t launch, std::mutex& marks_mutex, GridOrder* order)
    : grid_(grid), memory_(*grid.memory), launch_(launch), marks_mutex_(marks_mutex), order_(order), buckets_(1024) {}

void Checks::start(Cta& cta) {
  shared_.start(grid_.shared_bytes);
  copies_.start(cta.warps.size() * kLanes);
  if (order_ != nullptr) place_ = {};
  place_.number = cta.number;
  local_valid_.assign(cta.warps.size() * kLanes * grid_.code->kernel.local_bytes, 0);
  lines_.clear();
  std::fill(buckets_.begin(), buckets_.end(), 0);
  last_line_ = 0;
}

void Checks::barrier(Cta& cta, uint32_t id, bool whole) {
  if (whole) {
    shared_.whole_barrier();
    place_.clock.whole_barrier();
    return;
  }
  uint32_t warps = 0;
  for (const Warp& warp : cta.warps) {
    if (warp.waiting && warp.barrier_id == id) warps |= 1u << warp.index;
  }
  shared_.partial_barrier(warps);
  place_.clock.partial_barrier(warps);
}

// A bar.warp.sync of some of the live lanes orders nothing here, which is strict.
void Checks::warp_barrier(Warp& warp, const Op&, uint32_t mask) {
  if (mask != warp.live) return;
  shared_.warp_barrier(warp.index);
  place_.clock.warp_barrier(static_cast<size_t>(warp.index));
}

void Checks::fence(Warp& warp, const Op& op, uint32_t mask) {
  if (order_ != nullptr && op.instruction->gpu_scope) order_->fence(place_, static_cast<size_t>(warp.index), mask);
}

void Checks::access(Warp& warp, const Op& op, uint32_t mask) {
  const ptx::Instruction& in = *op.instruction;
  const auto bytes = static_cast<uint32_t>(ptx::access_bytes(in));
  uint64_t at[kLanes];
  addresses(warp, op, at);
  if (in.opcode == Opcode::ldmatrix) {
    if (mask != kAllLanes) return;  // a fault anyway
    mask = in.vector == 4 ? kAllLanes : (1u << 8 * in.vector) - 1;
  }
  if (in.opcode == Opcode::cp_async) return copy(warp, op, mask, at);
  if (in.space == Space::shared && (in.opcode == Opcode::ld || in.opcode == Opcode::ldmatrix) &&
      load_shared(warp, op, mask, at, bytes))
    return;
  for_each_lane(mask, [&](int l) {
    uint64_t address = at[l];
    const std::byte* host = resolve(warp, op, address, l, bytes);
    switch (space_of(in.space, address)) {
      case Space::global:
        access_global(warp, op, l, address, bytes);
        break;
      case Space::shared:
        access_shared(warp, op, l, address, bytes);
        break;
      case Space::local:
        access_local(warp, op, l, static_cast<uint64_t>(host - warp.local), bytes);
        break;
      default:
        break;
    }
  });
}

void Checks::copy(Warp& warp, const Op& op, uint32_t mask, const uint64_t* to) {
  const auto size = static_cast<uint32_t>(ptx::access_bytes(*op.instruction));
  uint64_t from[kLanes];
  uint32_t read[kLanes];
  addresses(warp, op, from, 1);
  bytes_to_read(warp, op, mask, read);
  for_each_lane(mask, [&](int l) {
    if (read[l] != 0) {
      resolve({Space::global, false, read[l], size}, warp, op, from[l], l);
      access_global(warp, op, l, from[l], read[l]);
    }
    resolve(warp, op, to[l], l, size);
    Tag other = 0;
    const auto offset = static_cast<uint32_t>(to[l]);
    const SharedTrouble found = shared_.start_copy(offset, size, warp.index, l, other);
    if (found != SharedTrouble::none) report_shared(warp, op, l, offset, size, found, other);
    copies_.add(thread_of(warp, l), offset, size);
  });
}

void Checks::copy_groups(Warp& warp, const Op& op, uint32_t mask) {
  const ptx::Instruction& in = *op.instruction;
  for_each_lane(mask, [&](int l) {
    const auto thread = thread_of(warp, l);
    if (in.opcode != Opcode::cp_async_wait_group) copies_.commit(thread);
    if (in.opcode == Opcode::cp_async_commit) return;
    const auto pending = in.opcode == Opcode::cp_async_wait_all ? 0 : static_cast<uint64_t>(in.sources[0].value);
    copies_.wait(thread, pending,
                 [&](uint32_t offset, uint32_t bytes) { shared_.finish_copy(offset, bytes, warp.index, l); });
  });
}

bool Checks::load_shared(Warp& warp, const Op& op, uint32_t mask, const uint64_t* offsets, uint32_t bytes) {
  uint64_t largest = 0, bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t offset = (mask >> l & 1u) != 0 ? offsets[l] : 0;
    largest = std::max(largest, offset);
    bits |= offset;
  }
  if (largest + bytes > grid_.shared_bytes || bits % bytes != 0) return false;
  int lane = 0;
  Tag other = 0;
  const SharedTrouble found = shared_.load(offsets, mask, bytes, warp.index, lane, other);
  if (found != SharedTrouble::none) report_shared(warp, op, lane, offsets[lane], bytes, found, other);
  return true;
}

void Checks::access_shared(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes) {
  const SharedAccess how = is_atomic(op)  ? SharedAccess::atomic
                           : is_store(op) ? SharedAccess::store
                                          : SharedAccess::load;
  Tag other = 0;
  const auto at = static_cast<uint32_t>(offset);
  const bool same = how == SharedAccess::store && !store_changes(warp, op, lane, warp.cta->shared + at, bytes);
  const SharedTrouble found = shared_.access(how, at, bytes, warp.index, lane, same, other);
  if (found != SharedTrouble::none) report_shared(warp, op, lane, offset, bytes, found, other);
}

void Checks::report_shared(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes, SharedTrouble found,
                           Tag other) {
  const std::string where = fmt::format("{} bytes at offset {} of shared memory", bytes, offset);
  const std::string who = describe_thread(*warp.cta, static_cast<int>(other >> 5 & 31), static_cast<int>(other & 31));
  if (found == SharedTrouble::uninitialised) {
    raise(OutcomeKind::memory_fault, "uninitialised read: " + where, warp, op, lane);
  }
  if (found == SharedTrouble::in_flight) {
    raise(OutcomeKind::memory_fault,
          fmt::format("copy in flight: {}, where {} copies with cp.async and has not waited for it", where, who), warp,
          op, lane);
  }
  if (found != SharedTrouble::same_value) {
    raise(OutcomeKind::memory_fault,
          fmt::format("shared memory race: {}, {} by {} without a barrier between", where,
                      found == SharedTrouble::race_with_write ? "written" : "read", who),
          warp, op, lane);
  }
  warn(fmt::format("warning: the same value written twice without a barrier between, also by {}: {}; {}", who, where,
                   describe_place(warp, op, lane)));
}

void Checks::warn(std::string what) {
  if (warning_.empty()) warning_ = std::move(what);
}

void Checks::access_local(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes) {
  const auto per_warp = static_cast<size_t>(grid_.code->kernel.local_bytes) * kLanes;
  const auto first = local_valid_.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(warp.index) * per_warp + offset);
  if (is_store(op)) {
    std::fill_n(first, bytes, uint8_t{1});
  } else if (std::find(first, first + bytes, uint8_t{0}) != first + bytes) {
    raise(OutcomeKind::memory_fault,
          fmt::format("uninitialised read: {} bytes at offset {} of local memory", bytes,
                      offset % grid_.code->kernel.local_bytes),
          warp, op, lane);
  }
}

void Checks::finish(Cta& cta) {
  if (const int thread = copies_.first_with_copies(); thread >= 0) {
    warn(fmt::format("warning: CTA {} ends with copies in flight, of {}", describe_cta(grid_, cta.number),
                     describe_thread(cta, thread / kLanes, thread % kLanes)));
  }
  if (order_ == nullptr) finish_global(cta);
}

namespace {

void checked_access(Warp& warp, const Op& op, uint32_t mask) {
  if (warp.cta->checks != nullptr) warp.cta->checks->access(warp, op, mask);
  (mask == kAllLanes ? op.inner.full : op.inner.masked)(warp, op, mask);
}

void checked_fence(Warp& warp, const Op& op, uint32_t mask) {
  if (warp.cta->checks != nullptr) warp.cta->checks->fence(warp, op, mask);
}

void checked_copy_groups(Warp& warp, const Op& op, uint32_t mask) {
  if (warp.cta->checks != nullptr) warp.cta->checks->copy_groups(warp, op, mask);
}

void checked_warp_barrier(Warp& warp, const Op& op, uint32_t mask) {
  op.inner.masked(warp, op, mask);
  if (warp.cta->checks != nullptr) warp.cta->checks->warp_barrier(warp, op, mask);
}

}  // namespace

Handlers checked_handlers(const ptx::Instruction& in) {
  switch (in.opcode) {
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
    case Opcode::ldmatrix:
    case Opcode::cp_async:
      if (in.space == Space::param || in.space == Space::constant) return {};
      return {&checked_access, &checked_access};
    case Opcode::fence:
    case Opcode::membar:
      return {&checked_fence, &checked_fence};
    case Opcode::cp_async_commit:
    case Opcode::cp_async_wait_all:
    case Opcode::cp_async_wait_group:
      return {&checked_copy_groups, &checked_copy_groups};
    case Opcode::bar_warp:
      return {&checked_warp_barrier, &checked_warp_barrier};
    default:
      return {};
  }
}

}  // namespace warpwright::virtual_gpu
