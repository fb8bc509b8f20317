// Bytes that a launch moves.
#include "src/device/virtual/clock_traffic.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace warpwright {
namespace {

constexpr double kSectorBytes = 32;

}  // namespace

SectorSharing::SectorSharing(const LaunchProfile& profile, std::vector<uint64_t> CtaProfile::*sectors) {
  const auto& sampled = profile.sampled;
  // A merge of the sorted lists: the least sector of each, with its sample.
  using Front = std::pair<uint64_t, size_t>;
  std::priority_queue<Front, std::vector<Front>, std::greater<>> fronts;
  std::vector<size_t> next(sampled.size(), 0);
  const auto advance = [&](size_t sample) {
    const auto& list = sampled[sample].*sectors;
    if (next[sample] < list.size()) fronts.emplace(list[next[sample]++], sample);
  };
  for (size_t sample = 0; sample < sampled.size(); ++sample) {
    weight_ += sampled[sample].weight;
    advance(sample);
  }
  std::vector<size_t> together;
  while (!fronts.empty()) {
    const uint64_t sector = fronts.top().first;
    double sharing = 0;
    together.clear();
    while (!fronts.empty() && fronts.top().first == sector) {
      const size_t sample = fronts.top().second;
      fronts.pop();
      together.push_back(sample);
      sharing += sampled[sample].weight;
      advance(sample);
    }
    for (const size_t sample : together) ++touches_[{sampled[sample].weight, sharing}];
  }
}

double SectorSharing::distinct(double ctas) const {
  double per_cta = 0;  // distinct sectors that one CTA answers for, on average
  for (const auto& [weights, count] : touches_) {
    const auto [own, sharing] = weights;
    const double share = weight_ > own ? (sharing - own) / (weight_ - own) : 0;
    per_cta += static_cast<double>(count) * own / (1 + (ctas - 1) * share);
  }
  return ctas * per_cta / weight_;
}

Traffic estimate_traffic(const LaunchProfile& profile, double wave_ctas, double l2_bytes, bool cold_l2) {
  const double ctas = static_cast<double>(profile.ctas);
  const double footprint = static_cast<double>(profile.footprint_bytes);
  const SectorSharing reads(profile, &CtaProfile::read_sectors), writes(profile, &CtaProfile::written_sectors);
  const auto bytes = [&](const SectorSharing& sectors, double count) {
    const double touched = kSectorBytes * sectors.distinct(count);
    return footprint > 0 ? std::min(touched, footprint) : touched;
  };
  const double waves = std::max(1.0, ctas / wave_ctas);
  const double read = bytes(reads, ctas);
  const double read_in_waves = waves * bytes(reads, std::min(ctas, wave_ctas));
  const double written = bytes(writes, ctas);
  // What L2 cannot keep goes out and, if needed in a later wave, comes back.
  const double lost = std::max(0.0, 1 - l2_bytes / std::max(1.0, read + written));
  const double again = std::max(0.0, read_in_waves - read) * lost;
  const double first = cold_l2 ? read : read * lost;
  Traffic traffic;
  traffic.dram_bytes = first + again + written * lost;
  traffic.dram_share = std::min(1.0, (first + again) / std::max(1.0, std::max(read, read_in_waves)));
  return traffic;
}

}  // namespace warpwright
