// Bytes that a launch moves.
#include "src/device/virtual/clock_traffic.h"

#include <algorithm>
#include <functional>
#include <numeric>
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

double fresh_part(const std::vector<double>& fresh_reads, double ctas) {
  if (fresh_reads.empty()) return 1;
  const auto known = static_cast<size_t>(std::min(static_cast<double>(fresh_reads.size()), ctas));
  double sum = std::accumulate(fresh_reads.begin(), fresh_reads.begin() + static_cast<std::ptrdiff_t>(known), 0.0);
  // Later ones are like the last quarter of those that were looked at.
  const size_t last = (fresh_reads.size() + 3) / 4;
  const double late = std::accumulate(fresh_reads.end() - static_cast<std::ptrdiff_t>(last), fresh_reads.end(), 0.0) /
                      static_cast<double>(last);
  sum += std::max(0.0, ctas - static_cast<double>(fresh_reads.size())) * late;
  return sum / std::max(1.0, ctas);
}

Traffic estimate_traffic(const LaunchProfile& profile, const LaunchSharing& sharing, double wave_ctas, double l2_bytes,
                         bool cold_l2) {
  const double ctas = static_cast<double>(profile.ctas);
  const auto bytes = [&](const SectorSharing& sectors, double count, uint64_t footprint) {
    const double touched = kSectorBytes * sectors.distinct(count);
    return footprint > 0 ? std::min(touched, static_cast<double>(footprint)) : touched;
  };
  const double in_wave = std::min(ctas, wave_ctas), waves = std::max(1.0, ctas / wave_ctas);
  // CTAs of a wave are neighbours; samples of the whole grid do not show what those share.
  const double alone = kSectorBytes * sharing.reads.distinct(1);
  const double of_wave = std::min(bytes(sharing.reads, in_wave, profile.read_footprint_bytes),
                                  in_wave * alone * fresh_part(profile.fresh_reads, in_wave));
  const double read_in_waves = waves * of_wave;
  const double read = std::min(read_in_waves, bytes(sharing.reads, ctas, profile.read_footprint_bytes));
  const double written = bytes(sharing.writes, ctas, profile.written_footprint_bytes);
  // What L2 cannot keep goes out and, if needed in a later wave, comes back.
  const double lost = std::max(0.0, 1 - l2_bytes / std::max(1.0, read + written));
  const double again = (read_in_waves - read) * lost;
  const double first = cold_l2 ? read : read * lost;
  Traffic traffic;
  traffic.dram_written = written * lost;
  traffic.dram_bytes = first + again + traffic.dram_written;
  traffic.dram_share = std::min(1.0, (first + again) / std::max(1.0, read_in_waves));
  return traffic;
}

}  // namespace warpwright
