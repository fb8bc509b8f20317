// Counts what sampled CTAs of a launch do, for the clock.
#pragma once

#include <cstdint>
#include <vector>

#include "src/device/virtual/folding.h"
#include "src/device/virtual/machine.h"
#include "src/device/virtual/profile.h"

namespace warpwright::virtual_gpu {

/// A CTA that stands for `weight` of the grid. `hands_on`: the next sample sees what this one wrote.
struct Sample {
  uint64_t cta = 0;
  double weight = 1;
  bool hands_on = false;
};

/// At most 12 CTAs: each border of the grid in x, y and z, and some of the interior. The weights sum to the grid. Up to
/// 16 CTAs along z are the parts of a sum: then as many whole columns of z, in order, so that the last one of each
/// finds the others done.
std::vector<Sample> stratify(const LaunchShape& shape);

/// Runs the samples in fast mode, one after the other, and takes back what they wrote to global memory. Throws Fault.
std::vector<CtaProfile> profile_ctas(const Grid& grid, const std::vector<Sample>& samples,
                                     const std::vector<IssueCost>& costs, uint64_t instruction_limit);

/// LaunchProfile::fresh_reads, with what the samples read in all.
std::vector<double> fresh_reads(const Grid& grid, const std::vector<CtaProfile>& sampled);

}  // namespace warpwright::virtual_gpu
