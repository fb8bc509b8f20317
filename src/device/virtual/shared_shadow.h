// What the checks know of a CTA's shared memory: which bytes were written, and by whom each was read and written last.
//
// Time counts the synchronisations of the CTA. An access is ordered before another of another thread when a barrier of
// both their warps (or, in one warp, a bar.warp.sync of all its live lanes) lies between. One cell stands for a word of
// 4 bytes; a word that is accessed by bytes has a cell for each of them, until it is written as a whole again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpwright::virtual_gpu {

/// A thread at a time: time << 10 | warp << 5 | lane.
using Tag = uint32_t;

enum class SharedAccess : uint8_t { load, store, atomic };
enum class SharedTrouble : uint8_t { none, uninitialised, race_with_write, race_with_read, same_value, in_flight };

struct SharedCell {
  Tag write_tag = 0;        // 0: not written by this CTA; of a copy: when its thread waited for it
  Tag read_tag = 0;         // of the last reader
  uint32_t read_warps = 0;  // all warps that read since the last ordered access
  bool valid = false;
  bool several = false;    // more than one thread read
  bool atomic = false;     // the last write was an atomic
  bool in_flight = false;  // the last write is a copy that its thread has not waited for
};

class SharedShadow {
 public:
  void start(uint32_t bytes);

  /// An access of 1, 2, 4, 8 or 16 aligned bytes that are inside. `same_value`: a store that changes nothing.
  /// `other`: the thread that raced.
  SharedTrouble access(SharedAccess how, uint32_t offset, uint32_t bytes, int warp, int lane, bool same_value,
                       Tag& other);

  /// A cp.async begins to write whole words, as `access` would; until it has finished, nobody may touch them.
  SharedTrouble start_copy(uint32_t offset, uint32_t bytes, int warp, int lane, Tag& other);
  void finish_copy(uint32_t offset, uint32_t bytes, int warp, int lane);

  /// The same for a load of all lanes of `mask`, whose offsets are inside and aligned; `lane`: the one in trouble.
  SharedTrouble load(const uint64_t* offsets, uint32_t mask, uint32_t bytes, int warp, int& lane, Tag& other);

  void whole_barrier();
  void warp_barrier(int warp);
  void partial_barrier(uint32_t warps);  // bits

 private:
  SharedTrouble touch(SharedCell& cell, SharedAccess how, Tag me, bool same_value, Tag& other) const;
  bool ordered(Tag before, Tag me) const;
  bool reads_ordered(const SharedCell& cell, Tag me) const;
  SharedTrouble access_split(size_t word, SharedAccess how, uint32_t first, uint32_t bytes, Tag me, bool same_value,
                             Tag& other);
  bool load_settled(uint32_t offset, uint32_t bytes, int warp, uint32_t lane, bool again);
  void advance();

  std::vector<SharedCell> words_;
  std::vector<uint32_t> split_;  // by word: index + 1 into bytes_, 0: not split
  std::vector<std::array<SharedCell, 4>> bytes_;
  uint32_t time_ = 1, whole_time_ = 1;
  std::array<uint32_t, 32> warp_time_{};             // of the last bar.warp.sync
  std::array<std::array<uint32_t, 32>, 32> seen_{};  // [v][w]: what w did before is ordered before v
};

}  // namespace warpwright::virtual_gpu
