// Bytes that a launch moves, from the sectors of a few sampled CTAs.
#pragma once

#include "src/device/virtual/profile.h"

namespace warpwright {

/// Distinct sectors that `ctas` CTAs like the sampled ones touch. A sector that a share q of the other samples touches
/// too counts for one of 1 + (ctas - 1) q CTAs. Exact when every CTA of the grid was sampled.
double distinct_sectors(const LaunchProfile& profile, std::vector<uint64_t> CtaProfile::*sectors, double ctas);

struct Traffic {
  double dram_bytes = 0;  // of the launch, both directions
  double dram_share = 0;  // of the reads that L1 misses: those that wait for DRAM
};

/// `wave_ctas`: CTAs resident on the card at once.
Traffic estimate_traffic(const LaunchProfile& profile, double wave_ctas, double l2_bytes, bool cold_l2);

}  // namespace warpwright
