// Runs a grid over the host's cores, or chosen CTAs of it.
#pragma once

#include <cstdint>

#include "src/core/outcome.h"
#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

struct LaunchOptions {
  bool checked = true;
  uint64_t instruction_limit = 0;  // of warp instructions, over all CTAs
  uint64_t seed = 1;               // order of CTAs
  int jobs = 0;                    // host threads; 0: all cores
  uint64_t number = 1;             // of the launch, never used before on this memory
};

/// ok, or the fault of the first CTA, in the order of the seed, that had one. Warnings are in Outcome::log.
Outcome run_grid(const Grid& grid, const LaunchOptions& options);

}  // namespace warpwright::virtual_gpu
