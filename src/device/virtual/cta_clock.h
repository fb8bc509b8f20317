// The order that barriers give to what the threads of one CTA do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace warpwright::virtual_gpu {

/// Time counts barriers and fences. What a warp did at a time before `reach` is ordered before what another does now.
class CtaClock {
 public:
  static constexpr size_t kWarps = 32;

  uint64_t time() const { return time_; }
  /// What follows is later than what came before.
  void tick() { ++time_; }
  void whole_barrier() { whole_ = ++time_; }
  void warp_barrier(size_t warp) { warp_[warp] = ++time_; }
  void partial_barrier(uint32_t warps) {  // bits
    ++time_;
    std::array<uint64_t, kWarps> joint{};
    for (size_t v = 0; v < kWarps; ++v) {
      if ((warps >> v & 1) == 0) continue;
      for (size_t w = 0; w < kWarps; ++w) joint[w] = std::max({joint[w], seen_[v][w], (warps >> w & 1) * time_});
    }
    for (size_t v = 0; v < kWarps; ++v) {
      if ((warps >> v & 1) != 0) seen_[v] = joint, warp_[v] = time_;
    }
  }

  uint64_t reach(size_t warp, size_t of) const { return std::max(whole_, warp == of ? warp_[warp] : seen_[warp][of]); }
  /// Of all other warps.
  uint64_t least_reach(size_t warp) const {
    uint64_t least = UINT64_MAX;
    for (size_t of = 0; of < kWarps; ++of) least = std::min(least, reach(warp, of));
    return least;
  }

 private:
  uint64_t time_ = 1, whole_ = 1;
  std::array<uint64_t, kWarps> warp_{};                      // of the last bar.warp.sync
  std::array<std::array<uint64_t, kWarps>, kWarps> seen_{};  // [v][w]: what w did before is ordered before v
};

}  // namespace warpwright::virtual_gpu
