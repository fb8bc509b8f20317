// How often a warp stands and waits for its loads, and how many instructions it issued meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/device/virtual/folding.h"

namespace warpwright {

/// What the kernel's text says about waiting; shared by all warps.
class WaitTable {
 public:
  struct Entry {
    std::vector<int> reads, writes;                                                       // registers
    int batch = -1;                                                                       // of a load: see load_batches
    bool shared = false;                                                                  // of a load
    bool folded = false;                                                                  // issues nothing itself
    uint16_t slots = 0;                                                                   // all that is issued
    enum class Copy : uint8_t { none, start, commit, wait, wait_all } copy = Copy::none;  // cp.async
    uint32_t pending = 0;  // of a wait: groups that need not have arrived
  };

  WaitTable(const ptx::Kernel& kernel, const std::vector<IssueCost>& costs);

  const Entry& entry(int instruction) const { return entries_[instruction]; }
  size_t registers() const { return registers_; }
  size_t batches() const { return batches_; }

 private:
  std::vector<Entry> entries_;
  size_t registers_ = 0, batches_ = 0;
};

/// Counts of one warp, fed with its instructions in the order they run. The table must outlive it.
class WarpWaits {
 public:
  explicit WarpWaits(const WaitTable& table);

  /// `runs`: by at least one lane.
  void before(int instruction, bool runs = true);

  uint64_t issued() const { return issued_; }
  uint64_t load_waits() const { return global_.waits; }
  uint64_t load_wait_distance() const { return global_.distance; }
  uint64_t shared_waits() const { return shared_.waits; }
  uint64_t shared_wait_distance() const { return shared_.distance; }
  /// One for each wait for a group of copies, in the order of the waits.
  const std::vector<uint64_t>& copy_wait_distances() const { return copy_distances_; }

 private:
  struct Counts {
    uint64_t waits = 0, distance = 0;
  };
  struct Batch {
    bool waited = true, shared = false;
    int last = -1;             // load that ran last
    uint64_t last_issued = 0;  // issued_ behind it
  };

  void wait_for(int batch);
  void count_copy(const WaitTable::Entry& entry);
  void commit();
  void wait_for_groups(size_t pending);
  void start(const WaitTable::Entry& entry, int instruction);

  const WaitTable& table_;
  std::vector<int> pending_;  // by register: the batch that fills it, or -1
  std::vector<Batch> batches_;
  uint64_t issued_ = 0;
  Counts global_, shared_;
  std::vector<std::optional<uint64_t>> groups_;  // issued_ at the commit of each; nullopt: it has no copies
  size_t groups_arrived_ = 0;                    // the first so many
  bool has_copies_ = false;                      // of the group that is open
  std::vector<uint64_t> copy_distances_;
};

}  // namespace warpwright
