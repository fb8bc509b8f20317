// How often a warp stands and waits for its loads.
#include "src/device/virtual/load_waits.h"

#include <algorithm>

namespace warpwright {

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
    entry.slots = static_cast<uint16_t>(costs[i].slots + costs[i].special_slots);
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

void WarpWaits::before(int instruction) {
  const WaitTable::Entry& entry = table_.entry(instruction);
  int inherited = -1;
  for (const int reg : entry.reads) {
    if (pending_[reg] < 0) continue;
    if (entry.slots == 0) {
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
