// The checks of one CTA at a time: initialisation and races in shared, local and global memory.
//
// Global memory: each CTA collects what it touches by lines of 64 bytes and, at its end, compares that with what other
// CTAs of the launch did. Two CTAs that touch a byte, one of them writing, are a race unless both use atomics, whatever
// fences lie between: stricter than the hardware, which lets CTAs hand data on through a fence and an atomic.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "src/device/virtual/global_memory.h"
#include "src/device/virtual/machine.h"
#include "src/device/virtual/shared_shadow.h"

namespace warpwright::virtual_gpu {

class Checks {
 public:
  /// `launch`: a number of this launch alone. `marks_mutex` guards LineMarks and valid bits of the memory.
  Checks(const Grid& grid, uint64_t launch, std::mutex& marks_mutex);

  void start(Cta& cta);
  /// Raises a Fault for races with CTAs that ended before.
  void finish(Cta& cta);

  /// Before an ld, st, atom or red; raises a Fault.
  void access(Warp& warp, const Op& op, uint32_t mask);
  void barrier(Cta& cta, uint32_t id, bool whole);
  void warp_barrier(Warp& warp, const Op& op, uint32_t mask);

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
  void report_shared(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes, SharedTrouble found,
                     Tag other);
  // What a cp.async reads of global memory.
  void access_source(Warp& warp, const Op& op, uint32_t mask);
  void access_shared(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes);
  void access_local(Warp& warp, const Op& op, int lane, uint64_t offset, uint32_t bytes);
  void access_global(Warp& warp, const Op& op, int lane, uint64_t address, uint32_t bytes);
  void use_line(Line& line, Warp& warp, const Op& op, int lane, uint64_t address, uint64_t bits);
  Line& line_at(uint64_t key);
  void grow();
  void merge(Cta& cta, const Line& line);

  const Grid& grid_;
  GlobalMemory& memory_;
  uint64_t launch_;
  std::mutex& marks_mutex_;
  SharedShadow shared_;
  std::vector<uint8_t> local_valid_;  // a flag a byte, by thread
  std::vector<Line> lines_;
  std::vector<uint32_t> buckets_;  // index + 1 into lines_
  size_t last_line_ = 0;
  std::string warning_;
};

}  // namespace warpwright::virtual_gpu
