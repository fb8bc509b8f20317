// How often a warp stands and waits for its loads, and how many instructions it issued meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "src/device/virtual/folding.h"

namespace warpwright {

/// What the kernel's text says about waiting; shared by all warps.
class WaitTable {
 public:
  struct Entry {
    std::vector<int> reads, writes;  // registers
    int batch = -1;                  // of a load: see load_batches
    bool shared = false;             // of a load
    uint16_t slots = 0;              // all that it issues
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

  void before(int instruction);

  uint64_t issued() const { return issued_; }
  uint64_t load_waits() const { return global_.waits; }
  uint64_t load_wait_distance() const { return global_.distance; }
  uint64_t shared_waits() const { return shared_.waits; }
  uint64_t shared_wait_distance() const { return shared_.distance; }

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
  void start(const WaitTable::Entry& entry, int instruction);

  const WaitTable& table_;
  std::vector<int> pending_;  // by register: the batch that fills it, or -1
  std::vector<Batch> batches_;
  uint64_t issued_ = 0;
  Counts global_, shared_;
};

}  // namespace warpwright
