// The checks of one CTA at a time: initialisation and races in shared, local and global memory.
//
// Global memory: each CTA collects what it touches by lines of 64 bytes and, at its end, compares that with what other
// CTAs of the launch did: two CTAs that touch a byte, one of them writing, are a race. In a kernel with atomics on
// global memory, each access is looked at by itself, and fences, atomics and barriers order it: GridOrder.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "src/device/virtual/copy_groups.h"
#include "src/device/virtual/global_memory.h"
#include "src/device/virtual/grid_order.h"
#include "src/device/virtual/machine.h"
#include "src/device/virtual/shared_shadow.h"

namespace warpwright::virtual_gpu {

/// Stores at `at` what the lane of an st stores; false when the same was there before. The next lane then sees it.
bool store_changes(Warp& warp, const Op& op, int lane, std::byte* at, uint32_t bytes);

class Checks {
 public:
  /// `launch`: a number of this launch alone. `marks_mutex` guards LineMarks and valid bits of the memory. `order`: of
  /// a grid whose CTAs all run on this host thread; else null.
  Checks(const Grid& grid, uint64_t launch, std::mutex& marks_mutex, GridOrder* order);

  void start(Cta& cta);
  /// Raises a Fault for races with CTAs that ended before.
  void finish(Cta& cta);

  /// Before an ld, st, atom or red; raises a Fault.
  void access(Warp& warp, const Op& op, uint32_t mask);
  void barrier(Cta& cta, uint32_t id, bool whole);
  void warp_barrier(Warp& warp, const Op& op, uint32_t mask);
  void fence(Warp& warp, const Op& op, uint32_t mask);

  /// cp.async.commit_group and the waits.
  void copy_groups(Warp& warp, const Op& op, uint32_t mask);

  /// Empty, or the first harmless finding.
  const std::string& warning() const { return warning_; }

 private:
  struct Use {  // the last access of a kind to a line
    const Op* op = nullptr;
    int warp = 0, lane = 0;
  };
  struct Line {
    uint64_t key = 0;  // address / 64
    uint64_t valid = 0, read = 0, read_nc = 0, written = 0, atomic = 0;
    Use reader, writer;
  };

  // False: not all lanes are inside and aligned.
  bool load_shared(Warp& warp, const Op& op, uint32_t mask, const uint64_t* offsets, uint32_t bytes);
  void warn(std::string what);
  void report_shared(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes, SharedTrouble found,
                     Tag other);
  void copy(Warp& warp, const Op& op, uint32_t mask, const uint64_t* to);
  void access_shared(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes);
  void access_local(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes);
  void access_global(Warp& warp, const Op& op, int lane, uint64_t address, uint32_t bytes);
  // The same in a grid whose CTAs communicate.
  void access_ordered(Warp& warp, const Op& op, int lane, uint64_t address, uint32_t bytes);
  void report_global(Warp& warp, const Op& op, const GlobalAccess& access, const GlobalRace& race, bool same_value);
  void use_line(Line& line, Warp& warp, const Op& op, int lane, uint64_t address, uint64_t bits);
  Line& line_at(uint64_t key);
  void grow();
  void finish_global(Cta& cta);
  void merge(Cta& cta, const Line& line);

  const Grid& grid_;
  GlobalMemory& memory_;
  uint64_t launch_;
  std::mutex& marks_mutex_;
  GridOrder* order_;
  GridOrder::Cta place_;  // in order_
  SharedShadow shared_;
  CopyGroups copies_;
  std::vector<uint8_t> local_valid_;  // a flag a byte, by thread
  std::vector<Line> lines_;
  std::vector<uint32_t> buckets_;  // index + 1 into lines_
  size_t last_line_ = 0;
  std::string warning_;
};

}  // namespace warpwright::virtual_gpu
