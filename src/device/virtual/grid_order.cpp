// Happens-before between CTAs: what fences cover, what atomics hand on, and what touched each byte.
#include "src/device/virtual/grid_order.h"

#include <algorithm>

namespace warpwright::virtual_gpu {
namespace {

constexpr size_t kMostReaders = 32;  // CTAs of a line: beyond, its readers are no longer told apart
constexpr uint64_t kWordBytes = 4;   // an atomic's address: words

bool writes(uint8_t kind) { return (kind & (kWrites | kIsAtomic)) != 0; }
bool is_sync(uint8_t kind) { return (kind & (kIsAtomic | kIsSync)) != 0; }
bool is_strong(uint8_t kind) { return (kind & (kIsAtomic | kIsSync | kIsStrong)) != 0; }

// Two accesses that may meet in any order: of atomics, and of what waits for them.
bool may_meet(uint8_t a, uint8_t b) { return (is_sync(a) && is_strong(b)) || (is_sync(b) && is_strong(a)); }

bool by_cta(const GridOrder::Fence* a, const GridOrder::Fence* b) {
  return a->cta != b->cta ? a->cta < b->cta : a->id < b->id;
}

GridOrder::SharedClock joined(const GridOrder::SharedClock& a, const GridOrder::SharedClock& b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr || std::includes(a->begin(), a->end(), b->begin(), b->end(), by_cta)) return a;
  auto out = std::make_shared<GridOrder::Clock>();
  std::set_union(a->begin(), a->end(), b->begin(), b->end(), std::back_inserter(*out), by_cta);
  return out;
}

}  // namespace

const GridOrder::Fence* GridOrder::add_fence(const Fence& fence) {
  fences_.push_back(fence);
  fences_.back().id = fences_.size();
  return &fences_.back();
}

const GridOrder::Fence* GridOrder::for_lane(Cta& cta, const Fence& fence, int lane) {
  const Fence*& found = cta.own[fence.id * kLanes + static_cast<uint64_t>(lane)];
  if (found == nullptr) {
    Fence alone = fence;
    alone.lanes = 1u << lane;
    found = add_fence(alone);
  }
  return found;
}

bool GridOrder::sees(const Cta& cta, const Known& known, size_t warp, uint32_t lanes) {
  return known.time < cta.clock.reach(warp, known.warp) || (known.warp == warp && (lanes & ~known.lanes) == 0);
}

// What these lanes, or others behind a barrier, have read by atomics counts from now on.
void GridOrder::learn(Cta& cta, size_t warp, uint32_t lanes) {
  for (const Known& read : cta.read) {
    const bool all = read.time < cta.clock.reach(warp, read.warp);
    const uint32_t by = all ? lanes : read.warp == warp ? read.lanes & lanes : 0;
    if (by == 0) continue;
    const auto old = std::find_if(cta.known.begin(), cta.known.end(), [&](const Known& known) {
      return known.clock == read.clock && known.word == read.word && sees(cta, known, warp, by);
    });
    if (old != cta.known.end()) {
      old->count = std::max(old->count, read.count);
    } else {
      cta.known.push_back({read.clock, warp, by, cta.clock.time(), read.word, read.count});
    }
  }
}

// What these lanes have done, and others before a barrier, is covered from now on.
void GridOrder::cover(Cta& cta, size_t warp, uint32_t lanes) {
  Fence met{0, cta.number, cta.clock.time(), warp, lanes, {}, nullptr};
  for (size_t of = 0; of < CtaClock::kWarps; ++of) met.reach[of] = cta.clock.reach(warp, of);
  for (const Known& known : cta.known) {
    if (sees(cta, known, warp, lanes)) met.known = joined(met.known, known.clock);
  }
  std::erase_if(cta.fences, [&](const Fence* old) { return old->warp == warp && (old->lanes & ~lanes) == 0; });
  cta.fences.push_back(add_fence(met));
}

void GridOrder::fence(Cta& cta, size_t warp, uint32_t lanes) {
  learn(cta, warp, lanes);
  cover(cta, warp, lanes);
  cta.clock.tick();
}

bool GridOrder::covers(const Fence& fence, const Mark& mark) {
  if (mark.several) return mark.time < *std::min_element(fence.reach.begin(), fence.reach.end());
  if (mark.time < fence.reach[mark.warp]) return true;
  return mark.warp == fence.warp && (fence.lanes >> mark.lane & 1) != 0 && mark.time <= fence.time;
}

bool GridOrder::is_ordered(const Cta& cta, const Mark& mark, const GlobalAccess& now) {
  if (mark.many) return false;
  const auto warp = static_cast<size_t>(now.warp);
  if (mark.cta == cta.number) {
    if (mark.several ? mark.time < cta.clock.least_reach(warp) : mark.time < cta.clock.reach(warp, mark.warp))
      return true;
    if (!mark.several && mark.warp == now.warp && mark.lane == now.lane) return true;
  }
  for (const Known& known : cta.known) {
    if (!sees(cta, known, warp, 1u << now.lane)) continue;
    // An atomic that was met by a later one on the same bytes, with a fence behind.
    if ((mark.kind & kIsAtomic) != 0 && known.word == now.address / kWordBytes && known.count > mark.count) return true;
    const Fence least{0, mark.cta, 0, 0, 0, {}, nullptr};
    for (auto at = std::lower_bound(known.clock->begin(), known.clock->end(), &least, by_cta);
         at != known.clock->end() && (*at)->cta == mark.cta; ++at) {
      if (covers(**at, mark)) return true;
    }
  }
  return false;
}

const GridOrder::Mark* GridOrder::race_with(const Cta& cta, const Line& line, const GlobalAccess& now, uint64_t bits) {
  if (!writes(now.kind) && (line.written & bits) == 0) return nullptr;
  for (const Mark& mark : line.marks) {
    if ((mark.bytes & bits) == 0 || (!writes(mark.kind) && !writes(now.kind))) continue;
    const bool non_coherent = ((mark.kind | now.kind) & kNonCoherent) != 0;
    if (non_coherent || (!may_meet(mark.kind, now.kind) && !is_ordered(cta, mark, now))) return &mark;
  }
  return nullptr;
}

// What was there before is ordered before it: a later access that is ordered behind this one is behind those too.
void GridOrder::note_write(Line& line, const Mark& mark) {
  for (Mark& old : line.marks) old.bytes &= ~mark.bytes;
  std::erase_if(line.marks, [](const Mark& old) { return old.bytes == 0; });
  line.marks.push_back(mark);
}

// Reads, or atomics: many may touch the same bytes. Bytes that several threads of the CTA touched stand in one mark.
void GridOrder::note_shared(Line& line, Mark mark) {
  Mark *own = nullptr, *joint = nullptr;
  uint64_t together = 0;
  size_t others = 0;
  uint64_t last = mark.cta;
  for (Mark& old : line.marks) {
    if (old.kind != mark.kind) continue;
    others += static_cast<size_t>(old.cta != last);
    last = old.cta;
    if (old.many) {
      mark.bytes &= ~old.bytes;
    } else if (old.cta != mark.cta) {
      continue;
    } else if (old.several) {
      joint = &old;
    } else if (old.warp == mark.warp && old.lane == mark.lane) {
      own = &old;
    } else {
      together |= old.bytes & mark.bytes;
      old.bytes &= ~mark.bytes;
    }
  }
  if (mark.bytes == 0) return;
  if (joint != nullptr) together |= joint->bytes & mark.bytes;
  Mark several = mark;
  several.bytes = together;
  several.several = true;
  mark.bytes &= ~together;
  const auto put = [](Mark* to, const Mark& from) {
    if (to == nullptr || from.bytes == 0) return from.bytes == 0;
    const uint64_t bytes = to->bytes | from.bytes;
    *to = from;
    to->bytes = bytes;
    return true;
  };
  const bool joint_is_done = put(joint, several), own_is_done = put(own, mark);
  if (!joint_is_done) line.marks.push_back(several);
  if (!own_is_done) line.marks.push_back(mark);
  std::erase_if(line.marks, [](const Mark& old) { return old.bytes == 0; });
  if (others < kMostReaders || writes(mark.kind)) return;
  mark.many = true;
  std::erase_if(line.marks, [&](const Mark& old) {
    if (old.kind == mark.kind) mark.bytes |= old.bytes;
    return old.kind == mark.kind;
  });
  line.marks.push_back(mark);
}

void GridOrder::acquire(Cta& cta, const GlobalAccess& access) {
  const auto found = clocks_.find(access.address / kWordBytes);
  if (found == clocks_.end()) return;
  const Known read{found->second,    static_cast<size_t>(access.warp), 1u << access.lane,
                   cta.clock.time(), access.address / kWordBytes,      accesses_};
  for (Known& old : cta.read) {
    if (old.word != read.word || old.warp != read.warp || old.lanes != read.lanes) continue;
    if (!std::includes(read.clock->begin(), read.clock->end(), old.clock->begin(), old.clock->end(), by_cta)) continue;
    old = read;
    return;
  }
  cta.read.push_back(read);
}

// A store ends what earlier atomics hand on; an atomic adds to it.
void GridOrder::release(Cta& cta, const GlobalAccess& access) {
  const uint64_t key = access.address / kWordBytes;
  const auto warp = static_cast<size_t>(access.warp);
  const uint32_t lane = 1u << access.lane;
  SharedClock clock;
  if (is_strong(access.kind)) {
    auto own = std::make_shared<Clock>();
    for (const Fence* fence : cta.fences) {
      const bool by_all = fence->time < cta.clock.reach(warp, fence->warp);
      if (!by_all && (fence->warp != warp || (fence->lanes & lane) == 0)) continue;
      own->push_back(by_all ? fence : for_lane(cta, *fence, access.lane));
      clock = joined(clock, fence->known);
    }
    std::sort(own->begin(), own->end(), by_cta);
    if (!own->empty()) clock = joined(clock, own);
  }
  if (clocks_.empty() && clock == nullptr) return;
  for (uint64_t word = key; word < (access.address + access.bytes + kWordBytes - 1) / kWordBytes; ++word) {
    if ((access.kind & kIsAtomic) == 0) clocks_.erase(word);
    if (clock != nullptr) clocks_[word] = joined(clocks_[word], clock);
  }
}

std::optional<GlobalRace> GridOrder::access(Cta& cta, const GlobalAccess& access) {
  const auto order = access.op->instruction->order;
  const auto warp = static_cast<size_t>(access.warp);
  const uint32_t lane = 1u << access.lane;
  using ptx::MemoryOrder;
  const bool both = order == MemoryOrder::acq_rel || order == MemoryOrder::sc;
  ++accesses_;
  if (writes(access.kind) && (both || order == MemoryOrder::release)) {
    cover(cta, warp, lane);
    cta.clock.tick();
  }
  const uint64_t bits = ((uint64_t{1} << access.bytes) - 1) << (access.address % 64);
  Line& line = lines_[access.address / 64];
  if (const Mark* mark = race_with(cta, line, access, bits)) {
    const auto first = static_cast<uint64_t>(__builtin_ctzll(mark->bytes & bits));
    return GlobalRace{
        mark->op, mark->cta, !mark->many, mark->warp, mark->lane, mark->kind, access.address / 64 * 64 + first};
  }
  const Mark mark{bits,
                  cta.number,
                  cta.clock.time(),
                  accesses_,
                  access.op,
                  static_cast<uint8_t>(access.warp),
                  static_cast<uint8_t>(access.lane),
                  access.kind,
                  false,
                  false};
  const bool plain_write = (access.kind & (kWrites | kIsAtomic)) == kWrites;
  plain_write ? note_write(line, mark) : note_shared(line, mark);
  if (writes(access.kind)) line.written |= bits;
  if ((access.kind & kReads) != 0 && is_strong(access.kind)) acquire(cta, access);
  if (writes(access.kind)) release(cta, access);
  if ((access.kind & kReads) != 0 && (both || order == MemoryOrder::acquire)) learn(cta, warp, lane);
  return std::nullopt;
}

}  // namespace warpwright::virtual_gpu
