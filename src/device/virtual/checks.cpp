// Checks of accesses, and of CTAs against each other.
#include "src/device/virtual/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "src/device/virtual/async_copy.h"
#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::AtomicOp;
using ptx::Opcode;
using ptx::Space;

bool is_atomic(const Op& op) { return op.instruction->opcode == Opcode::atom || op.instruction->opcode == Opcode::red; }
bool is_store(const Op& op) { return op.instruction->opcode == Opcode::st; }

uint64_t bits_of(uint64_t address, uint32_t bytes) { return ((uint64_t{1} << bytes) - 1) << (address % 64); }

std::string position(const Grid& grid, uint64_t cta) {
  const auto& size = grid.shape.grid;
  return fmt::format("({},{},{})", cta % size[0], cta / size[0] % size[1], cta / size[0] / size[1]);
}

// Stores what the lane stores; false when the same was there before. The next lane then sees it.
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

}  // namespace

Checks::Checks(const Grid& grid, uint64_t launch, std::mutex& marks_mutex)
    : grid_(grid), memory_(*grid.memory), launch_(launch), marks_mutex_(marks_mutex), buckets_(1024) {}

void Checks::start(Cta& cta) {
  shared_.start(grid_.shared_bytes);
  local_valid_.assign(cta.warps.size() * kLanes * grid_.code->kernel.local_bytes, 0);
  lines_.clear();
  std::fill(buckets_.begin(), buckets_.end(), 0);
  last_line_ = 0;
}

void Checks::barrier(Cta& cta, uint32_t id, bool whole) {
  if (whole) {
    shared_.whole_barrier();
    return;
  }
  uint32_t warps = 0;
  for (const Warp& warp : cta.warps) {
    if (warp.waiting && warp.barrier_id == id) warps |= 1u << warp.index;
  }
  shared_.partial_barrier(warps);
}

// A bar.warp.sync of some of the live lanes orders nothing here, which is strict.
void Checks::warp_barrier(Warp& warp, const Op&, uint32_t mask) {
  if (mask == warp.live) shared_.warp_barrier(warp.index);
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
  if (in.opcode == Opcode::cp_async) access_source(warp, op, mask);
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

void Checks::access_source(Warp& warp, const Op& op, uint32_t mask) {
  const auto size = static_cast<uint32_t>(ptx::access_bytes(*op.instruction));
  uint64_t from[kLanes];
  uint32_t read[kLanes];
  addresses(warp, op, from, 1);
  bytes_to_read(warp, op, mask, read);
  for_each_lane(mask, [&](int l) {
    if (read[l] == 0) return;
    resolve({Space::global, false, read[l], size}, warp, op, from[l], l);
    access_global(warp, op, l, from[l], read[l]);
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
  const SharedAccess how = is_atomic(op)                                                ? SharedAccess::atomic
                           : is_store(op) || op.instruction->opcode == Opcode::cp_async ? SharedAccess::store
                                                                                        : SharedAccess::load;
  Tag other = 0;
  const auto at = static_cast<uint32_t>(offset);
  const bool same = is_store(op) && !store_changes(warp, op, lane, warp.cta->shared + at, bytes);
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
  if (found != SharedTrouble::same_value) {
    raise(OutcomeKind::memory_fault,
          fmt::format("shared memory race: {}, {} by {} without a barrier between", where,
                      found == SharedTrouble::race_with_write ? "written" : "read", who),
          warp, op, lane);
  }
  if (!warning_.empty()) return;
  warning_ = fmt::format("warning: the same value written twice without a barrier between, also by {}: {}; {}", who,
                         where, describe_place(warp, op, lane));
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

Checks::Line& Checks::line_at(uint64_t key) {
  if (last_line_ < lines_.size() && lines_[last_line_].key == key) return lines_[last_line_];
  const size_t mask = buckets_.size() - 1;
  size_t bucket = (key * 0x9e3779b97f4a7c15u >> 32) & mask;
  while (buckets_[bucket] != 0 && lines_[buckets_[bucket] - 1].key != key) bucket = (bucket + 1) & mask;
  if (buckets_[bucket] == 0) {
    lines_.push_back({});
    lines_.back().key = key;
    buckets_[bucket] = static_cast<uint32_t>(lines_.size());
    last_line_ = lines_.size() - 1;
    if (lines_.size() * 2 > buckets_.size()) grow();
    return lines_.back();
  }
  last_line_ = buckets_[bucket] - 1;
  return lines_[last_line_];
}

void Checks::grow() {
  buckets_.assign(buckets_.size() * 4, 0);
  const size_t mask = buckets_.size() - 1;
  for (size_t i = 0; i < lines_.size(); ++i) {
    size_t bucket = (lines_[i].key * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (buckets_[bucket] != 0) bucket = (bucket + 1) & mask;
    buckets_[bucket] = static_cast<uint32_t>(i + 1);
  }
}

void Checks::access_global(Warp& warp, const Op& op, int lane, uint64_t address, uint32_t bytes) {
  Line& line = line_at(address / 64);
  const uint64_t bits = bits_of(address, bytes);
  const bool reads = !is_store(op) && op.instruction->atomic_op != AtomicOp::exch;
  if (reads && (line.valid & bits) != bits) {
    Allocation& allocation = *memory_.allocation_at(address);
    line.valid |= std::atomic_ref<uint64_t>(allocation.valid[(address - allocation.base) / 64]).load();
    if ((line.valid & bits) != bits) {
      raise(OutcomeKind::memory_fault,
            fmt::format("uninitialised read: {} bytes at {}", bytes, memory_.describe(address)), warp, op, lane);
    }
  }
  use_line(line, warp, op, lane, address, bits);
}

void Checks::use_line(Line& line, Warp& warp, const Op& op, int lane, uint64_t address, uint64_t bits) {
  const bool writes = is_store(op) || is_atomic(op);
  if ((op.instruction->non_coherent && ((line.written | line.atomic) & bits) != 0) ||
      (writes && (line.read_nc & bits) != 0)) {
    raise(OutcomeKind::memory_fault, "ld.global.nc of what is written in the same launch: " + memory_.describe(address),
          warp, op, lane);
  }
  (writes ? line.writer : line.reader) = {&op, warp.index, lane};
  if (is_atomic(op)) {
    line.atomic |= bits;
  } else if (writes) {
    line.written |= bits;
  } else {
    line.read |= bits;
    if (op.instruction->non_coherent) line.read_nc |= bits;
  }
  if (writes) line.valid |= bits;
}

void Checks::merge(Cta& cta, const Line& line) {
  const uint64_t address = line.key * 64;
  Allocation& allocation = *memory_.allocation_at(address);
  if (allocation.is_constant) return;
  const size_t index = (address - allocation.base) / 64;
  LineMarks& marks = allocation.marks[index];
  if (marks.launch != launch_) marks = LineMarks{launch_, 0, 0, 0, 0, 0};
  const uint64_t mine_written = line.written & (marks.read | marks.written | marks.atomic);
  const uint64_t mine_atomic = line.atomic & (marks.read | marks.written);
  const uint64_t mine_read = line.read & (marks.written | marks.atomic);
  if ((mine_written | mine_atomic | mine_read) != 0) {
    const uint64_t clash = mine_written | mine_atomic | mine_read;
    const bool with_write = (clash & (marks.written | marks.atomic)) != 0;
    const Use& use = (mine_written | mine_atomic) != 0 ? line.writer : line.reader;
    raise(OutcomeKind::memory_fault,
          fmt::format("race between CTAs: {}, also {} by CTA {} in this launch",
                      memory_.describe(address + static_cast<uint64_t>(__builtin_ctzll(clash))),
                      with_write ? "written" : "read", position(grid_, with_write ? marks.writer : marks.reader)),
          cta.warps[static_cast<size_t>(use.warp)], *use.op, use.lane);
  }
  if ((line.written | line.atomic) != 0 && (marks.written | marks.atomic) == 0) marks.writer = cta.number;
  if (line.read != 0 && marks.read == 0) marks.reader = cta.number;
  marks.read |= line.read;
  marks.written |= line.written;
  marks.atomic |= line.atomic;
  std::atomic_ref<uint64_t>(allocation.valid[index]).fetch_or(line.written | line.atomic);
}

void Checks::finish(Cta& cta) {
  const std::lock_guard lock(marks_mutex_);
  for (const Line& line : lines_) merge(cta, line);
}

namespace {

void checked_access(Warp& warp, const Op& op, uint32_t mask) {
  if (warp.cta->checks != nullptr) warp.cta->checks->access(warp, op, mask);
  (mask == kAllLanes ? op.inner.full : op.inner.masked)(warp, op, mask);
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
    case Opcode::bar_warp:
      return {&checked_warp_barrier, &checked_warp_barrier};
    default:
      return {};
  }
}

}  // namespace warpwright::virtual_gpu
