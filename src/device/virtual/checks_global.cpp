// Checks of global memory: initialisation, and CTAs against each other.
#include <fmt/format.h>

#include <atomic>

#include "src/device/virtual/checks.h"
#include "src/device/virtual/fault.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::AtomicOp;
using ptx::Opcode;

bool is_atomic(const Op& op) { return op.instruction->opcode == Opcode::atom || op.instruction->opcode == Opcode::red; }
bool is_store(const Op& op) { return op.instruction->opcode == Opcode::st; }

uint64_t bits_of(uint64_t address, uint32_t bytes) { return ((uint64_t{1} << bytes) - 1) << (address % 64); }

uint8_t kind_of(const ptx::Instruction& in) {
  using ptx::MemoryOrder;
  // An atomic of .cta scope is none for other CTAs.
  const bool narrow = in.text.find(".cta.") != std::string::npos;
  uint8_t kind = in.opcode == Opcode::st ? kWrites : kReads;
  if (in.opcode == Opcode::atom) kind = narrow ? kReads | kWrites : kReads | kIsAtomic;
  if (in.opcode == Opcode::red) kind = narrow ? kReads | kWrites : kIsAtomic;
  if (in.order != MemoryOrder::weak && !narrow) kind |= kIsStrong;
  if (in.order > MemoryOrder::relaxed && !narrow) kind |= kIsSync;
  if (in.non_coherent) kind |= kNonCoherent;
  return kind;
}

}  // namespace

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

void Checks::access_ordered(Warp& warp, const Op& op, int lane, uint64_t address, uint32_t bytes) {
  Allocation& allocation = *memory_.allocation_at(address);
  const uint64_t bits = bits_of(address, bytes);
  uint64_t& valid = allocation.valid[(address - allocation.base) / 64];
  const uint8_t kind = kind_of(*op.instruction);
  if ((kind & (kReads | kIsAtomic)) != 0 && op.instruction->atomic_op != AtomicOp::exch && (valid & bits) != bits) {
    raise(OutcomeKind::memory_fault,
          fmt::format("uninitialised read: {} bytes at {}", bytes, memory_.describe(address)), warp, op, lane);
  }
  if ((kind & (kWrites | kIsAtomic)) != 0) valid |= bits;
  if (allocation.is_constant) return;
  const bool same_value =
      is_store(op) && !store_changes(warp, op, lane, allocation.host + (address - allocation.base), bytes);
  const GlobalAccess access{&op, kind, warp.index, lane, address, bytes};
  if (const auto race = order_->access(place_, access)) report_global(warp, op, access, *race, same_value);
}

void Checks::report_global(Warp& warp, const Op& op, const GlobalAccess& access, const GlobalRace& race,
                           bool same_value) {
  const std::string where = memory_.describe(race.address);
  const bool wrote = (race.kind & (kWrites | kIsAtomic)) != 0;
  const std::string by = fmt::format("PTX line {} '{}'", race.op->instruction->line, race.op->instruction->text);
  if (((race.kind | access.kind) & kNonCoherent) != 0) {
    raise(OutcomeKind::memory_fault, "ld.global.nc of what is written in the same launch: " + where, warp, op,
          access.lane);
  }
  if (race.is_known && race.cta == warp.cta->number) {
    if (same_value && race.kind == kWrites) {
      return warn(fmt::format("warning: the same value written twice without a barrier between, also by {}: {}; {}",
                              describe_thread(*warp.cta, race.warp, race.lane), where,
                              describe_place(warp, op, access.lane)));
    }
    raise(OutcomeKind::memory_fault,
          fmt::format("race in global memory: {}, {} by {} ({}) without a barrier between", where,
                      wrote ? "written" : "read", describe_thread(*warp.cta, race.warp, race.lane), by),
          warp, op, access.lane);
  }
  raise(OutcomeKind::memory_fault,
        fmt::format("race between CTAs: {}, also {} by CTA {} in this launch ({}), and no fence and atomic order them",
                    where, wrote ? "written" : "read", describe_cta(grid_, race.cta), by),
        warp, op, access.lane);
}

void Checks::access_global(Warp& warp, const Op& op, int lane, uint64_t address, uint32_t bytes) {
  if (order_ != nullptr) return access_ordered(warp, op, lane, address, bytes);
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
                      with_write ? "written" : "read", describe_cta(grid_, with_write ? marks.writer : marks.reader)),
          cta.warps[static_cast<size_t>(use.warp)], *use.op, use.lane);
  }
  if ((line.written | line.atomic) != 0 && (marks.written | marks.atomic) == 0) marks.writer = cta.number;
  if (line.read != 0 && marks.read == 0) marks.reader = cta.number;
  marks.read |= line.read;
  marks.written |= line.written;
  marks.atomic |= line.atomic;
  std::atomic_ref<uint64_t>(allocation.valid[index]).fetch_or(line.written | line.atomic);
}
void Checks::finish_global(Cta& cta) {
  const std::lock_guard lock(marks_mutex_);
  for (const Line& line : lines_) merge(cta, line);
}

}  // namespace warpwright::virtual_gpu
