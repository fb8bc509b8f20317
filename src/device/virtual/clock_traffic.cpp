// Bytes that a launch moves.
#include "src/device/virtual/clock_traffic.h"

#include <algorithm>
#include <utility>

namespace warpwright {
namespace {

constexpr double kSectorBytes = 32;

double total_weight(const LaunchProfile& profile) {
  double total = 0;
  for (const CtaProfile& cta : profile.sampled) total += cta.weight;
  return total;
}

}  // namespace

double distinct_sectors(const LaunchProfile& profile, std::vector<uint64_t> CtaProfile::*sectors, double ctas) {
  std::vector<std::pair<uint64_t, size_t>> touched;  // sector, sample
  for (size_t sample = 0; sample < profile.sampled.size(); ++sample) {
    for (const uint64_t sector : profile.sampled[sample].*sectors) touched.emplace_back(sector, sample);
  }
  std::sort(touched.begin(), touched.end());
  const double weight = total_weight(profile);
  double per_cta = 0;  // distinct sectors that one CTA answers for, on average
  for (size_t first = 0; first < touched.size();) {
    size_t last = first;
    double sharing = 0;
    for (; last < touched.size() && touched[last].first == touched[first].first; ++last) {
      sharing += profile.sampled[touched[last].second].weight;
    }
    for (size_t i = first; i < last; ++i) {
      const double own = profile.sampled[touched[i].second].weight;
      const double others = weight - own;
      const double share = others > 0 ? (sharing - own) / others : 0;
      per_cta += own / (1 + (ctas - 1) * share);
    }
    first = last;
  }
  return ctas * per_cta / weight;
}

Traffic estimate_traffic(const LaunchProfile& profile, double wave_ctas, double l2_bytes, bool cold_l2) {
  const double ctas = static_cast<double>(profile.ctas);
  const double footprint = static_cast<double>(profile.footprint_bytes);
  const auto bytes = [&](std::vector<uint64_t> CtaProfile::*sectors, double count) {
    const double touched = kSectorBytes * distinct_sectors(profile, sectors, count);
    return footprint > 0 ? std::min(touched, footprint) : touched;
  };
  const double waves = std::max(1.0, ctas / wave_ctas);
  const double read = bytes(&CtaProfile::read_sectors, ctas);
  const double read_in_waves = waves * bytes(&CtaProfile::read_sectors, std::min(ctas, wave_ctas));
  const double written = bytes(&CtaProfile::written_sectors, ctas);
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
