// The main loop of the interpreter, and the barriers of a CTA.
#include "src/device/virtual/cta_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

// Instructions a warp runs before the next has its turn, if it meets no barrier.
constexpr uint64_t kSlice = 1u << 16;

size_t lines_for(size_t bytes) { return (bytes + sizeof(LaneLine) - 1) / sizeof(LaneLine) + 1; }

uint32_t special_value(const Cta& cta, const Warp& warp, int lane, ptx::Special which) {
  const LaunchShape& shape = cta.grid->shape;
  const auto thread = static_cast<uint32_t>(warp.index * kLanes + lane);
  const auto axis = static_cast<size_t>(which) % 3;
  const uint32_t bit = 1u << lane;
  switch (which) {
    case ptx::Special::tid_x:
      return thread % shape.block[0];
    case ptx::Special::tid_y:
      return thread / shape.block[0] % shape.block[1];
    case ptx::Special::tid_z:
      return thread / shape.block[0] / shape.block[1];
    case ptx::Special::ntid_x:
    case ptx::Special::ntid_y:
    case ptx::Special::ntid_z:
      return shape.block[axis];
    case ptx::Special::ctaid_x:
    case ptx::Special::ctaid_y:
    case ptx::Special::ctaid_z:
      return cta.position[axis];
    case ptx::Special::nctaid_x:
    case ptx::Special::nctaid_y:
    case ptx::Special::nctaid_z:
      return shape.grid[axis];
    case ptx::Special::laneid:
      return static_cast<uint32_t>(lane);
    case ptx::Special::warpid:
      return static_cast<uint32_t>(warp.index);
    case ptx::Special::nwarpid:
      return static_cast<uint32_t>(cta.warps.size());
    case ptx::Special::lanemask_eq:
      return bit;
    case ptx::Special::lanemask_lt:
      return bit - 1;
    case ptx::Special::lanemask_le:
      return bit | (bit - 1);
    case ptx::Special::lanemask_gt:
      return ~(bit | (bit - 1));
    case ptx::Special::lanemask_ge:
      return ~(bit - 1);
    case ptx::Special::dynamic_smem_size:
      return shape.dynamic_smem_bytes;
  }
  return 0;
}

}  // namespace

CtaRunner::CtaRunner(const Grid& grid, Checks* checks, Observer* observer, bool takes_turns)
    : grid_(grid), observer_(observer), takes_turns_(takes_turns) {
  const auto& block = grid.shape.block;
  const size_t threads = size_t{block[0]} * block[1] * block[2], warps = (threads + kLanes - 1) / kLanes;
  const Code& code = *grid.code;
  registers_.resize(warps * code.register_lines);
  predicates_.resize(warps * code.predicates);
  const size_t local_bytes = size_t{code.kernel.local_bytes} * kLanes;
  local_.resize(warps * local_bytes + 16);
  shared_.resize(lines_for(grid.shared_bytes));
  cta_.grid = &grid;
  cta_.checks = checks;
  cta_.shared = shared_[0].bytes.data();
  cta_.warps.resize(warps);
  for (size_t w = 0; w < warps; ++w) {
    Warp& warp = cta_.warps[w];
    warp.index = static_cast<int>(w);
    warp.cta = &cta_;
    warp.bases[0] = reinterpret_cast<std::byte*>(registers_.data() + w * code.register_lines);
    warp.bases[1] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(code.constants.data()));
    warp.predicates = predicates_.data() + w * code.predicates;
    warp.local = local_.data() + w * local_bytes;
  }
}

void CtaRunner::fill_special(Warp& warp, const SpecialUse& use) {
  uint32_t* to = lanes<uint32_t>(warp, use.place);
  for (int l = 0; l < kLanes; ++l) to[l] = special_value(cta_, warp, l, use.special);
}

void CtaRunner::start_warp(Warp& warp) {
  const auto& block = grid_.shape.block;
  const uint32_t threads = block[0] * block[1] * block[2];
  const uint32_t here = std::min<uint32_t>(kLanes, threads - static_cast<uint32_t>(warp.index) * kLanes);
  warp.live = warp.active = here == kLanes ? kAllLanes : (1u << here) - 1;
  warp.pc = 0;
  warp.reconverge = -1;
  warp.carry = 0;
  warp.stopped = warp.waiting = false;
  warp.stack.clear();
  for (const SpecialUse& use : grid_.code->specials) fill_special(warp, use);
  for (const Place place : grid_.code->zeroed) std::memset(warp.bases[0] + place, 0, sizeof(LaneLine));
}

void CtaRunner::start(uint64_t number) {
  const auto& grid = grid_.shape.grid;
  cta_.number = number;
  cta_.position = {static_cast<uint32_t>(number % grid[0]), static_cast<uint32_t>(number / grid[0] % grid[1]),
                   static_cast<uint32_t>(number / grid[0] / grid[1])};
  std::fill(predicates_.begin(), predicates_.end(), 0);
  for (Warp& warp : cta_.warps) start_warp(warp);
  if (cta_.checks != nullptr) cta_.checks->start(cta_);
  next_warp_ = 0;
  is_done_ = false;
}

uint64_t CtaRunner::run(uint64_t number, uint64_t limit) {
  start(number);
  uint64_t spent = 0;
  while (!is_done_) spent += turn(limit - spent);
  return spent;
}

// The warps by turns; null when none can run.
Warp* CtaRunner::next_warp() {
  const size_t count = cta_.warps.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t w = (next_warp_ + i) % count;
    if (cta_.warps[w].stopped) continue;
    next_warp_ = w + 1;
    return &cta_.warps[w];
  }
  next_warp_ = 0;
  return nullptr;
}

uint64_t CtaRunner::turn(uint64_t limit) {
  if (Warp* warp = next_warp()) {
    const uint64_t budget = std::min(kSlice, limit);
    const uint64_t spent = observer_ == nullptr ? run_warp(*warp, budget) : observe_warp(*warp, budget);
    if (spent < limit) return spent;
    const auto last = static_cast<int32_t>(grid_.code->ops.size()) - 1;
    const Op& op = grid_.code->ops[static_cast<size_t>(std::min(warp->pc, last))];
    raise(OutcomeKind::run_timeout, "the limit of instructions is used up", *warp, op, -1);
  }
  is_done_ = std::none_of(cta_.warps.begin(), cta_.warps.end(), [](const Warp& warp) { return warp.waiting; });
  if (is_done_) {
    if (cta_.checks != nullptr) cta_.checks->finish(cta_);
  } else if (!release_barriers()) {
    raise_deadlock();
  }
  return 0;
}

uint64_t CtaRunner::run_warp(Warp& warp, uint64_t budget) {
  const Op* ops = grid_.code->ops.data();
  uint64_t left = budget;
  while (left != 0) {
    --left;
    const Op& op = ops[warp.pc++];
    uint32_t mask = warp.active;
    if (op.guard >= 0) {
      mask &= predicate(warp, op.guard);
      if (mask == 0) continue;
    }
    (mask == kAllLanes ? op.run.full : op.run.masked)(warp, op, mask);
    if (op.may_stop && (warp.stopped || takes_turns_)) break;
  }
  return budget - left;
}

uint64_t CtaRunner::observe_warp(Warp& warp, uint64_t budget) {
  const Op* ops = grid_.code->ops.data();
  uint64_t left = budget;
  while (left != 0) {
    --left;
    const Op& op = ops[warp.pc++];
    const uint32_t mask = op.guard >= 0 ? warp.active & predicate(warp, op.guard) : warp.active;
    if (op.source >= 0) observer_->before(warp, op, mask);
    if (mask == 0) continue;
    (mask == kAllLanes ? op.run.full : op.run.masked)(warp, op, mask);
    if (op.may_stop && warp.stopped) break;
  }
  return budget - left;
}

// Warps that have exited count as arrived at a barrier without a number of threads.
bool CtaRunner::release_barriers() {
  std::array<uint32_t, 16> arrived{}, expected{};
  std::array<bool, 16> counts_exited{};
  uint32_t done = 0;
  for (const Warp& warp : cta_.warps) {
    if (!warp.waiting) {
      ++done;
      continue;
    }
    const auto all = static_cast<uint32_t>(cta_.warps.size());
    const uint32_t wanted = warp.barrier_warps == 0 ? all : warp.barrier_warps;
    if (expected[warp.barrier_id] != 0 && expected[warp.barrier_id] != wanted) {
      raise(OutcomeKind::memory_fault, "divergent barrier: warps give it different numbers of threads", warp,
            *warp.waiting_op, -1);
    }
    expected[warp.barrier_id] = wanted;
    counts_exited[warp.barrier_id] = warp.barrier_warps == 0;
    ++arrived[warp.barrier_id];
  }
  bool released = false;
  for (uint32_t id = 0; id < 16; ++id) {
    const bool whole = expected[id] == cta_.warps.size();
    if (expected[id] == 0 || arrived[id] + (counts_exited[id] ? done : 0) < expected[id]) continue;
    if (cta_.checks != nullptr) cta_.checks->barrier(cta_, id, whole);
    for (Warp& warp : cta_.warps) {
      if (warp.waiting && warp.barrier_id == id) warp.waiting = warp.stopped = false;
    }
    released = true;
  }
  return released;
}

void CtaRunner::raise_deadlock() {
  const auto stuck = std::find_if(cta_.warps.begin(), cta_.warps.end(), [](const Warp& warp) { return warp.waiting; });
  raise(OutcomeKind::memory_fault,
        fmt::format("divergent barrier: the warps of the CTA wait for each other, this one at barrier {}",
                    stuck->barrier_id),
        *stuck, *stuck->waiting_op, -1);
}

}  // namespace warpwright::virtual_gpu
