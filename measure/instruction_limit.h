// The run limit of a virtual device: a number of instructions, so that outcomes do not depend on the machine's load.
#pragma once

#include <cstdint>

#include "search_space/kernel_family.h"
#include "src/core/workload.h"

namespace warpwright {

/// Warp instructions of a launch after which it counts as run_timeout: kInstructionSlack times what the work that the
/// Config asks for should take, a warp being 32 lanes:
///
///   (greater of 8 an inner product and 4 a multiply-add + 2 a byte moved + 64 an element) / 32 + 500 a warp of the
///   grid
///
/// Multiply-adds and elements are the Workload's, the rest is the Config's with its padding; never less than
/// kLeastInstructionLimit.
uint64_t instruction_limit(const Workload& workload, const Resources& resources);

inline constexpr uint64_t kInstructionSlack = 20;
inline constexpr uint64_t kLeastInstructionLimit = 2'000'000;

}  // namespace warpwright
