// Coverage: how much of a plan's expected time stands on which rung.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/compile/plan.h"

namespace warpwright {

struct RungCount {
  int64_t kernels = 0;
  double time_share = 0;  // of the expected time of all kernels
};

struct Coverage {
  /// Of each kernel, all of its steps together: as measured on this card; elsewhere the analytic prior, in the scale
  /// that prior and measurements of this plan have to each other.
  std::vector<double> expected_us;
  std::map<Rung, RungCount> rungs;  // those that occur
};

Coverage coverage_of(const Plan& plan);

}  // namespace warpwright
