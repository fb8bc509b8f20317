// How often a warp stands and waits for its loads.
#include "src/device/virtual/load_waits.h"

#include <algorithm>

namespace warpwright {
namespace {

using Copy = WaitTable::Entry::Copy;

Copy copy_of(const ptx::Instruction& instruction) {
  switch (instruction.opcode) {
    case ptx::Opcode::cp_async:
      return Copy::start;
    case ptx::Opcode::cp_async_commit:
      return Copy::commit;
    case ptx::Opcode::cp_async_wait_all:
      return Copy::wait_all;
    case ptx::Opcode::cp_async_wait_group:
      return Copy::wait;
    default:
      return Copy::none;
  }
}

}  // namespace

WaitTable::WaitTable(const ptx::Kernel& kernel, const std::vector<IssueCost>& costs)
    : registers_(kernel.registers.size()) {
  const std::vector<int> batches = load_batches(kernel);
  for (size_t i = 0; i < kernel.instructions.size(); ++i) {
    const ptx::Instruction& instruction = kernel.instructions[i];
    Entry entry;
    entry.reads = registers_read(instruction);
    entry.writes = registers_written(instruction);
    entry.batch = batches[i];
    entry.shared = instruction.space == ptx::Space::shared;
    entry.folded = costs[i].slots + costs[i].special_slots == 0;
    entry.slots = static_cast<uint16_t>(costs[i].all());
    entry.copy = copy_of(instruction);
    if (instruction.opcode == ptx::Opcode::cp_async_wait_group) {
      entry.pending = static_cast<uint32_t>(instruction.sources[0].value);
    }
    batches_ = std::max(batches_, static_cast<size_t>(batches[i] + 1));
    entries_.push_back(std::move(entry));
  }
}

WarpWaits::WarpWaits(const WaitTable& table)
    : table_(table), pending_(table.registers(), -1), batches_(table.batches()) {}

void WarpWaits::wait_for(int batch) {
  Batch& load = batches_[batch];
  if (load.waited) return;
  load.waited = true;
  Counts& counts = load.shared ? shared_ : global_;
  ++counts.waits;
  counts.distance += issued_ - load.last_issued;
}

/// A load further up than the last one of its batch means that the batch begins anew.
void WarpWaits::start(const WaitTable::Entry& entry, int instruction) {
  Batch& load = batches_[entry.batch];
  if (instruction <= load.last || load.last < 0) load.waited = false;
  load.last = instruction;
  load.last_issued = issued_;
  load.shared = entry.shared;
}

void WarpWaits::commit() {
  groups_.push_back(has_copies_ ? std::optional(issued_) : std::nullopt);
  has_copies_ = false;
}

/// The latest group that must have arrived is waited for; those before it came earlier.
void WarpWaits::wait_for_groups(size_t pending) {
  const size_t wanted = groups_.size() - std::min(groups_.size(), pending);
  size_t group = wanted;
  while (group > groups_arrived_ && !groups_[group - 1]) --group;
  if (group > groups_arrived_) copy_distances_.push_back(issued_ - *groups_[group - 1]);
  groups_arrived_ = std::max(groups_arrived_, wanted);
}

void WarpWaits::count_copy(const WaitTable::Entry& entry) {
  switch (entry.copy) {
    case Copy::none:
      return;
    case Copy::start:
      has_copies_ = true;
      return;
    case Copy::commit:
      return commit();
    case Copy::wait:
      return wait_for_groups(entry.pending);
    case Copy::wait_all:
      commit();
      return wait_for_groups(0);
  }
}

void WarpWaits::before(int instruction, bool runs) {
  const WaitTable::Entry& entry = table_.entry(instruction);
  if (runs) count_copy(entry);
  int inherited = -1;
  for (const int reg : entry.reads) {
    if (pending_[reg] < 0) continue;
    if (entry.folded) {
      inherited = pending_[reg];  // a folded copy hands the value on without needing it
    } else {
      wait_for(pending_[reg]);
      pending_[reg] = -1;
    }
  }
  issued_ += entry.slots;
  if (entry.batch >= 0) {
    start(entry, instruction);
    inherited = entry.batch;
  }
  for (const int reg : entry.writes) pending_[reg] = inherited;
}

}  // namespace warpwright
