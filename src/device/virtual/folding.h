// Folding: what ptxas makes of each PTX instruction, as far as the clock needs to know. Static, once a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "src/device/virtual/profile.h"
#include "src/device/virtual/ptx.h"

namespace warpwright {

/// What a warp issues for one PTX instruction. Not 0 slots: the warp instructions of `pipe`; `special_slots` of
/// Pipe::special come on top (division, square root). 0 slots: ptxas folds it into another instruction, drops it, or
/// moves it out of a loop: `moved_slots` of Pipe::integer are what came to stand here from the loop behind.
struct IssueCost {
  Pipe pipe = Pipe::integer;
  uint8_t slots = 1;
  uint8_t special_slots = 0;
  uint16_t moved_slots = 0;

  int all() const { return slots + special_slots + moved_slots; }
  bool operator==(const IssueCost&) const = default;
};

/// One IssueCost for each instruction of the kernel, in its order.
std::vector<IssueCost> fold(const ptx::Kernel& kernel);

/// For each load from global, constant or shared memory the number of its batch, else -1. ptxas moves loads up between
/// two barriers of a block, so those of a batch are in flight together and a warp waits for them once: at the first use
/// of a result of the batch since its first load ran. Batches are of one space.
std::vector<int> load_batches(const ptx::Kernel& kernel);

/// Sum of all slots: the static count, LaunchProfile::static_issued.
uint64_t total_slots(const std::vector<IssueCost>& costs);

}  // namespace warpwright
