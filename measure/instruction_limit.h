// The run limit of a virtual device: a number of instructions, so that outcomes do not depend on the machine's load.
#pragma once

#include <cstdint>

#include "search_space/kernel_family.h"
#include "src/core/workload.h"

namespace warpwright {

/// Thread-level instructions after which a launch counts as run_timeout: kInstructionSlack times what the work that the
/// Config asks for should take.
///
///   inner products * 8 + bytes moved * 2 + threads of the grid * 500 + multiply-adds * 4 + elements * 64
///
/// Multiply-adds and elements are the Workload's, the rest is the Config's with its padding; never less than
/// kLeastInstructionLimit.
uint64_t instruction_limit(const Workload& workload, const Resources& resources);

inline constexpr uint64_t kInstructionSlack = 20;
inline constexpr uint64_t kLeastInstructionLimit = 50'000'000;

}  // namespace warpwright
