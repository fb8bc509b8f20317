// Happens-before in shared memory.
#include "src/device/virtual/shared_shadow.h"

#include <algorithm>

namespace warpwright::virtual_gpu {
namespace {

constexpr uint32_t kMostTime = (1u << 22) - 2;

uint32_t time_of(Tag tag) { return tag >> 10; }
uint32_t warp_of(Tag tag) { return tag >> 5 & 31; }
bool same_thread(Tag a, Tag b) { return ((a ^ b) & 1023) == 0; }

}  // namespace

void SharedShadow::start(uint32_t bytes) {
  words_.assign((bytes + 3) / 4, {});
  split_.assign(words_.size(), 0);
  bytes_.clear();
  time_ = whole_time_ = 1;
  warp_time_.fill(0);
  for (auto& row : seen_) row.fill(0);
}

// At the end of the tags' range everything so far counts as ordered.
void SharedShadow::advance() {
  if (++time_ < kMostTime) return;
  for (SharedCell& cell : words_) cell.write_tag = cell.read_tag = 0;
  for (auto& cells : bytes_) {
    for (SharedCell& cell : cells) cell.write_tag = cell.read_tag = 0;
  }
  time_ = whole_time_ = 1;
  warp_time_.fill(0);
  for (auto& row : seen_) row.fill(0);
}

void SharedShadow::whole_barrier() {
  advance();
  whole_time_ = time_;
}

void SharedShadow::warp_barrier(int warp) {
  advance();
  warp_time_[static_cast<size_t>(warp)] = time_;
}

void SharedShadow::partial_barrier(uint32_t warps) {
  advance();
  std::array<uint32_t, 32> joint{};
  for (size_t v = 0; v < 32; ++v) {
    if ((warps >> v & 1) == 0) continue;
    for (size_t w = 0; w < 32; ++w) joint[w] = std::max({joint[w], seen_[v][w], (warps >> w & 1) != 0 ? time_ : 0});
  }
  for (size_t v = 0; v < 32; ++v) {
    if ((warps >> v & 1) == 0) continue;
    seen_[v] = joint;
    warp_time_[v] = time_;
  }
}

bool SharedShadow::ordered(Tag before, Tag me) const {
  const uint32_t time = time_of(before), warp = warp_of(before), mine = warp_of(me);
  if (time < whole_time_ || same_thread(before, me)) return true;
  return time < (warp == mine ? warp_time_[mine] : seen_[mine][warp]);
}

// All readers count with the time of the last of them, which is strict.
bool SharedShadow::reads_ordered(const SharedCell& cell, Tag me) const {
  const uint32_t time = time_of(cell.read_tag);
  if (time < whole_time_) return true;
  if (!cell.several) return ordered(cell.read_tag, me);
  const uint32_t mine = warp_of(me);
  for (uint32_t warps = cell.read_warps; warps != 0; warps &= warps - 1) {
    const auto warp = static_cast<uint32_t>(__builtin_ctz(warps));
    if (time >= (warp == mine ? warp_time_[mine] : seen_[mine][warp])) return false;
  }
  return true;
}

SharedTrouble SharedShadow::touch(SharedCell& cell, SharedAccess how, Tag me, bool same_value, Tag& other) const {
  if (cell.in_flight) {
    other = cell.write_tag;
    return SharedTrouble::in_flight;
  }
  if (how != SharedAccess::store && !cell.valid) return SharedTrouble::uninitialised;
  SharedTrouble found = SharedTrouble::none;
  if (!(how == SharedAccess::atomic && cell.atomic) && !ordered(cell.write_tag, me)) {
    other = cell.write_tag;
    if (how != SharedAccess::store || !same_value || cell.atomic) return SharedTrouble::race_with_write;
    found = SharedTrouble::same_value;
  }
  if (how == SharedAccess::load) {
    const uint32_t bit = 1u << warp_of(me);
    if (time_of(cell.read_tag) >= whole_time_) {
      cell.several = cell.several || !same_thread(cell.read_tag, me);
      cell.read_warps |= bit;
    } else {
      cell.several = false;
      cell.read_warps = bit;
    }
    cell.read_tag = me;
    return found;
  }
  if (!reads_ordered(cell, me)) {
    other = cell.read_tag;
    return SharedTrouble::race_with_read;
  }
  cell = {me, 0, 0, true, false, how == SharedAccess::atomic, false};
  return found;
}

SharedTrouble SharedShadow::access(SharedAccess how, uint32_t offset, uint32_t bytes, int warp, int lane,
                                   bool same_value, Tag& other) {
  const Tag me = time_ << 10 | static_cast<uint32_t>(warp) << 5 | static_cast<uint32_t>(lane);
  const size_t first = offset / 4;
  if (bytes < 4) return access_split(first, how, offset % 4, bytes, me, same_value, other);
  SharedTrouble worst = SharedTrouble::none;
  for (size_t word = first; word < first + bytes / 4; ++word) {
    const SharedTrouble found = split_[word] == 0 ? touch(words_[word], how, me, same_value, other)
                                                  : access_split(word, how, 0, 4, me, same_value, other);
    if (found == SharedTrouble::same_value) worst = found;
    if (found != SharedTrouble::none && found != SharedTrouble::same_value) return found;
  }
  return worst;
}

SharedTrouble SharedShadow::start_copy(uint32_t offset, uint32_t bytes, int warp, int lane, Tag& other) {
  const SharedTrouble found = access(SharedAccess::store, offset, bytes, warp, lane, false, other);
  for (size_t word = offset / 4; word < (offset + bytes) / 4; ++word) words_[word].in_flight = true;
  return found;
}

void SharedShadow::finish_copy(uint32_t offset, uint32_t bytes, int warp, int lane) {
  const Tag me = time_ << 10 | static_cast<uint32_t>(warp) << 5 | static_cast<uint32_t>(lane);
  for (size_t word = offset / 4; word < (offset + bytes) / 4; ++word) {
    words_[word].in_flight = false;
    words_[word].write_tag = me;
  }
}

// Lanes that read what another lane of the access reads only mark the words as read by several.
SharedTrouble SharedShadow::load(const uint64_t* offsets, uint32_t mask, uint32_t bytes, int warp, int& lane,
                                 Tag& other) {
  constexpr uint8_t kNobody = 255;
  std::array<uint8_t, 64> latest;  // lane, by where it reads
  latest.fill(kNobody);
  for (; mask != 0; mask &= mask - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(mask));
    const auto offset = static_cast<uint32_t>(offsets[l]);
    uint8_t& slot = latest[offset / bytes % latest.size()];
    const bool again = slot != kNobody && offsets[slot] == offset;
    slot = static_cast<uint8_t>(l);
    if (load_settled(offset, bytes, warp, l, again)) continue;
    const SharedTrouble found = access(SharedAccess::load, offset, bytes, warp, static_cast<int>(l), false, other);
    lane = static_cast<int>(l);
    if (found != SharedTrouble::none) return found;
  }
  return SharedTrouble::none;
}

// Notes the reader of whole words that were all written before the last barrier; false when some were not.
bool SharedShadow::load_settled(uint32_t offset, uint32_t bytes, int warp, uint32_t lane, bool again) {
  if (bytes < 4) return false;
  const size_t first = offset / 4, end = first + bytes / 4;
  for (size_t word = first; word < end; ++word) {
    const SharedCell& cell = words_[word];
    if (split_[word] != 0 || !cell.valid || cell.in_flight || time_of(cell.write_tag) >= whole_time_) return false;
  }
  const Tag me = time_ << 10 | static_cast<uint32_t>(warp) << 5 | lane;
  for (size_t word = first; word < end; ++word) {
    SharedCell& cell = words_[word];
    if (again) {  // another lane has just been noted
      cell.several = true;
      continue;
    }
    const bool is_first = time_of(cell.read_tag) < whole_time_;
    cell.several = !is_first && (cell.several || !same_thread(cell.read_tag, me));
    cell.read_warps = (is_first ? 0 : cell.read_warps) | 1u << warp;
    cell.read_tag = me;
  }
  return true;
}

SharedTrouble SharedShadow::access_split(size_t word, SharedAccess how, uint32_t first, uint32_t bytes, Tag me,
                                         bool same_value, Tag& other) {
  if (split_[word] == 0) {
    const SharedCell& whole = words_[word];
    bytes_.push_back({whole, whole, whole, whole});
    split_[word] = static_cast<uint32_t>(bytes_.size());
  }
  auto& cells = bytes_[split_[word] - 1];
  SharedTrouble worst = SharedTrouble::none;
  bool settled = true;
  for (uint32_t i = first; i < first + bytes; ++i) {
    settled = settled && time_of(cells[i].write_tag) < whole_time_ && time_of(cells[i].read_tag) < whole_time_;
    const SharedTrouble found = touch(cells[i], how, me, same_value, other);
    if (found == SharedTrouble::same_value) worst = found;
    if (found != SharedTrouble::none && found != SharedTrouble::same_value) return found;
  }
  // All four bytes are alike again.
  if (bytes == 4 && (settled || how == SharedAccess::store)) {
    words_[word] = cells[0];
    split_[word] = 0;
  }
  return worst;
}

}  // namespace warpwright::virtual_gpu
