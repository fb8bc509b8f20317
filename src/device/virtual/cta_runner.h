// Runs the CTAs of one grid, one at a time, on one host thread.
#pragma once

#include <memory>
#include <vector>

#include "src/device/virtual/checks.h"
#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

/// Sees every operation before it runs. For profiles; null in ordinary runs.
class Observer {
 public:
  virtual ~Observer() = default;
  /// `mask` is never 0.
  virtual void before(Warp& warp, const Op& op, uint32_t mask) = 0;
};

class CtaRunner {
 public:
  /// `checks` null: fast mode. `observer` may be null. `takes_turns`: a turn ends where the CTA talks to others.
  CtaRunner(const Grid& grid, Checks* checks, Observer* observer, bool takes_turns = false);

  /// Runs CTA `number` to its end and gives the number of warp instructions. Throws Fault; also when `limit` is passed.
  uint64_t run(uint64_t number, uint64_t limit);

  // The same in steps: start, then turns until it is done. A turn is a warp's run to where it stops.
  void start(uint64_t number);
  uint64_t turn(uint64_t limit);
  bool is_done() const { return is_done_; }

 private:
  void start_warp(Warp& warp);
  void fill_special(Warp& warp, const SpecialUse& use);
  // Until the warp stops or `budget` is used up; gives the instructions run.
  uint64_t run_warp(Warp& warp, uint64_t budget);
  uint64_t observe_warp(Warp& warp, uint64_t budget);
  Warp* next_warp();
  bool release_barriers();
  [[noreturn]] void raise_deadlock();

  const Grid& grid_;
  Observer* observer_;
  bool takes_turns_;
  Cta cta_;
  size_t next_warp_ = 0;
  bool is_done_ = true;
  std::vector<LaneLine> registers_;
  std::vector<uint32_t> predicates_;
  std::vector<std::byte> local_;
  std::vector<LaneLine> shared_;
};

}  // namespace warpwright::virtual_gpu
