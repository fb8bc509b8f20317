// Bytes that a launch moves, from the sectors of a few sampled CTAs.
#pragma once

#include <map>
#include <utility>

#include "src/device/virtual/profile.h"

namespace warpwright {

/// Which sectors the sampled CTAs have in common, and how many sectors the whole grid touches therefore.
class SectorSharing {
 public:
  /// `sectors`: CtaProfile::read_sectors or written_sectors.
  SectorSharing(const LaunchProfile& profile, std::vector<uint64_t> CtaProfile::*sectors);

  /// Distinct sectors that `ctas` CTAs like the sampled ones touch. A sector that a share q of the other samples
  /// touches too counts for one of 1 + (ctas - 1) q CTAs. Exact when every CTA of the grid was sampled.
  double distinct(double ctas) const;

 private:
  double weight_ = 0;  // of all samples
  // Weight of a sample, and of all samples that touch a sector → how often there is such a pair.
  std::map<std::pair<double, double>, uint64_t> touches_;
};

struct LaunchSharing {
  explicit LaunchSharing(const LaunchProfile& profile)
      : reads(profile, &CtaProfile::read_sectors), writes(profile, &CtaProfile::written_sectors) {}

  SectorSharing reads, writes;
};

struct Traffic {
  double dram_bytes = 0;    // of the launch, both directions
  double dram_written = 0;  // the part of them that is written
  double dram_share = 0;    // of the reads that L1 misses: those that wait for DRAM
};

/// Distinct reads of `ctas` neighbouring CTAs, as a part of the sum of what each reads.
double fresh_part(const std::vector<double>& fresh_reads, double ctas);

/// `wave_ctas`: CTAs resident on the card at once.
Traffic estimate_traffic(const LaunchProfile& profile, const LaunchSharing& sharing, double wave_ctas, double l2_bytes,
                         bool cold_l2);

}  // namespace warpwright
