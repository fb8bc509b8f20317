// Loops of a kernel, for the folding.
#pragma once

#include <vector>

#include "src/device/virtual/ptx.h"

namespace warpwright {

struct Loop {
  int header = -1;             // block
  int before = -1;             // the one block from which it is entered, or -1
  std::vector<bool> contains;  // by block

  size_t size() const;  // blocks
};

/// Natural loops, smaller ones first: an inner loop stands before the ones around it.
std::vector<Loop> loops(const ptx::Kernel& kernel);

/// By instruction: computes the same each time round the loop, from registers alone.
std::vector<bool> invariants(const ptx::Kernel& kernel, const Loop& loop);

}  // namespace warpwright
