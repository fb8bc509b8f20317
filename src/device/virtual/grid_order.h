// Happens-before in global memory between all threads of a launch whose CTAs talk to each other by atomics.
//
// Inside a CTA barriers order (CtaClock). Between CTAs, an access W is ordered before an access V when
//   W, a fence of .gpu scope, an atomic on X; an atomic on X that comes later, a fence of .gpu scope, V
// where each step is followed by the next in its thread or behind a barrier of its CTA. `red`, relaxed and volatile
// stores release as atomics do, relaxed and volatile loads acquire; .release, .acquire and .acq_rel bring their fence.
// Orders chain: what a CTA knows at its fence it hands on. Atomics on the same bytes do not race with each other.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/device/virtual/cta_clock.h"
#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

/// How an access of global memory takes part: bits.
enum AccessKind : uint8_t {
  kReads = 1,
  kWrites = 2,
  kIsAtomic = 4,      // reads and writes at once
  kIsStrong = 8,      // volatile, relaxed, acquire, release
  kIsSync = 16,       // acquire or release
  kNonCoherent = 32,  // ld.global.nc
};

struct GlobalAccess {
  const Op* op = nullptr;
  uint8_t kind = 0;
  int warp = 0, lane = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;  // within 64 aligned ones
};

/// An earlier access that nothing orders before a later one.
struct GlobalRace {
  const Op* op = nullptr;
  uint64_t cta = 0;
  bool is_known = true;  // false: it stands for many, of many CTAs
  int warp = 0, lane = 0;
  uint8_t kind = 0;
  uint64_t address = 0;  // of the first byte
};

class GridOrder {
 public:
  struct Fence;
  using Clock = std::vector<const Fence*>;  // by CTA
  using SharedClock = std::shared_ptr<const Clock>;

  /// A fence that some lanes of a warp met: accesses that it covers are ordered before an atomic behind it.
  struct Fence {
    uint64_t id = 0, cta = 0, time = 0;
    size_t warp = 0;
    uint32_t lanes = 0;
    std::array<uint64_t, CtaClock::kWarps> reach{};
    SharedClock known;  // of other CTAs, when the fence was met
  };
  /// Something that a thread read or knows since `time`, and other threads behind a barrier.
  struct Known {
    SharedClock clock;
    size_t warp = 0;
    uint32_t lanes = 0;
    uint64_t time = 0;
    uint64_t word = 0, count = 0;  // where it was read, and after how many accesses of the launch
  };
  /// What a running CTA has met; starts anew with each CTA.
  struct Cta {
    uint64_t number = 0;
    CtaClock clock;
    std::vector<const Fence*> fences;
    std::unordered_map<uint64_t, const Fence*> own;  // a fence for one lane alone, by id * 32 + lane
    std::vector<Known> read;                         // by atomics, with no fence behind yet
    std::vector<Known> known;                        // by a fence behind
  };

  /// Notes the access; gives the race if there is one.
  std::optional<GlobalRace> access(Cta& cta, const GlobalAccess& access);
  /// A fence wider than the CTA, of some lanes of a warp.
  void fence(Cta& cta, size_t warp, uint32_t lanes);

 private:
  struct Mark {
    uint64_t bytes = 0;  // of the line, a bit a byte
    uint64_t cta = 0, time = 0, count = 0;
    const Op* op = nullptr;
    uint8_t warp = 0, lane = 0, kind = 0;
    bool several = false;  // threads of the CTA did it, this one last
    bool many = false;     // CTAs did it
  };
  struct Line {
    std::vector<Mark> marks;
    uint64_t written = 0;  // ever, in this launch
  };

  const Fence* add_fence(const Fence& fence);
  const Fence* for_lane(Cta& cta, const Fence& fence, int lane);
  // The two halves of a fence.
  void learn(Cta& cta, size_t warp, uint32_t lanes);
  void cover(Cta& cta, size_t warp, uint32_t lanes);
  static bool covers(const Fence& fence, const Mark& mark);
  static bool sees(const Cta& cta, const Known& known, size_t warp, uint32_t lanes);
  static bool is_ordered(const Cta& cta, const Mark& mark, const GlobalAccess& now);
  static const Mark* race_with(const Cta& cta, const Line& line, const GlobalAccess& now, uint64_t bits);
  static void note_write(Line& line, const Mark& mark);
  static void note_shared(Line& line, Mark mark);
  void acquire(Cta& cta, const GlobalAccess& access);
  void release(Cta& cta, const GlobalAccess& access);

  uint64_t accesses_ = 0;
  std::deque<Fence> fences_;                          // all of the launch
  std::unordered_map<uint64_t, Line> lines_;          // by address / 64
  std::unordered_map<uint64_t, SharedClock> clocks_;  // what an atomic hands on, by address / 4
};

}  // namespace warpwright::virtual_gpu
