// The clock of the virtual GPU: counts of a launch → an estimate of its time. Formulas: docs/virtual_clock.md.
#pragma once

#include <string>
#include <vector>

#include "src/core/json.h"
#include "src/core/target.h"
#include "src/device/virtual/clock_traffic.h"
#include "src/device/virtual/profile.h"

namespace warpwright {

/// The time that one resource alone would take.
struct ClockBound {
  std::string name;  // `dram`, `l2`, `issue`, `integer`, `multiply`, `shared`, ...: docs/virtual_clock.md lists them
  double time_us = 0;
};

struct ClockResult {
  double time_us = 0;              // launch cost included; an estimate, never a measurement
  std::string limited_by;          // name of the largest bound
  std::vector<ClockBound> bounds;  // all, largest first; time_us is at least each of them and the launch cost
  double launch_us = 0;
  int resident_ctas = 0;        // per SM
  std::string occupancy_limit;  // `registers`, `shared memory`, `warps`, `ctas` or `grid`
  double waves = 0;             // ctas / (resident_ctas × SMs)
  double dram_bytes = 0, l2_bytes = 0;
};

/// Deterministic. `cold_l2`: no buffer is in L2 at the start. Throws UsageError when a CTA does not fit the SM or the
/// profile is empty, or when a constant of `target.timing` is missing.
ClockResult estimate(const LaunchProfile& profile, const Target& target, bool cold_l2 = true);
/// The same for many estimates of one profile: with what each of them would derive from its sectors.
ClockResult estimate(const LaunchProfile& profile, const LaunchSharing& sharing, const Target& target,
                     bool cold_l2 = true);

/// How many CTAs an SM holds, and what limits that; 0 when not one fits.
struct Occupancy {
  int ctas = 0;
  std::string limit;
};
Occupancy occupancy(uint32_t threads_per_cta, int registers_per_thread, int64_t smem_bytes_per_cta,
                    const Target& target);

Json to_json(const ClockResult& result);

}  // namespace warpwright
