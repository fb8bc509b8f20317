// Several spaces as one.
#include "src/tuner/candidate_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cost_model/default_config.h"
#include "search_space/no_legal_config.h"
#include "src/core/error.h"
#include "src/core/hash.h"

namespace warpwright {
namespace {

constexpr int64_t kMostListedPoints = 8192;

}  // namespace

CandidateSpace::CandidateSpace(const Workload& workload, const Target& target,
                               std::vector<const KernelFamily*> families)
    : workload_(&workload), target_(&target), families_(std::move(families)) {
  if (families_.empty()) {
    throw UsageError(fmt::format("no kernel family takes {} on {}", workload.summary(), target.name));
  }
  defaults_ = default_configs(workload, target, families_);
  if (defaults_.empty()) throw UsageError(why_no_config(workload, target));
  std::erase_if(families_, [this](const KernelFamily* family) {
    return std::ranges::find(defaults_, family->name(), &Config::family) == defaults_.end();
  });
  for (const KernelFamily* family : families_) spaces_.push_back(family->space(workload, target));
}

const std::optional<std::vector<Config>>& CandidateSpace::listed() {
  if (was_listed_) return listed_;
  was_listed_ = true;
  int64_t points = 0;
  for (const Space& space : spaces_) points += std::min(space.point_count(), kMostListedPoints + 1);
  if (points > kMostListedPoints) return listed_;
  listed_.emplace();
  for (const Space& space : spaces_) {
    for (Config& config : space.enumerate(kMostListedPoints)) listed_->push_back(std::move(config));
  }
  return listed_;
}

std::vector<Config> CandidateSpace::seeds() const {
  std::vector<Config> all;
  for (const KernelFamily* family : families_) {
    for (Config& seed : family->seeds(*workload_, *target_)) {
      if (contains(seed)) all.push_back(std::move(seed));
    }
  }
  return all;
}

std::optional<Config> CandidateSpace::sample(std::mt19937_64& random, int tries) const {
  // By the logarithm of its size: a large family would leave nothing to a small one.
  double total = 0;
  for (const Space& space : spaces_) total += std::log2(2 + static_cast<double>(space.point_count()));
  double draw = static_cast<double>(random() >> 11) * 0x1p-53 * total;
  size_t chosen = 0;
  for (; chosen + 1 < spaces_.size(); ++chosen) {
    draw -= std::log2(2 + static_cast<double>(spaces_[chosen].point_count()));
    if (draw < 0) break;
  }
  return spaces_[chosen].sample(random, tries);
}

std::vector<Config> CandidateSpace::neighbours(const Config& config) const {
  const Space* space = space_of(config);
  return space ? space->neighbours(config) : std::vector<Config>{};
}

bool CandidateSpace::contains(const Config& config) const {
  const Space* space = space_of(config);
  return space != nullptr && !space->why_illegal(config);
}

std::string CandidateSpace::fingerprint(const Config& config) const {
  for (const KernelFamily* family : families_) {
    if (family->name() != config.family) continue;
    const KernelSource kernel = family->emit(*workload_, config, *target_);
    return key_hex(to_json(kernel.launch).dump() + to_json(kernel.arguments).dump() + kernel.source);
  }
  throw InternalError(fmt::format("a Config of {} is no candidate of {}", config.family, workload_->summary()));
}

const Space* CandidateSpace::space_of(const Config& config) const {
  for (const Space& space : spaces_) {
    if (space.family() == config.family) return &space;
  }
  return nullptr;
}

}  // namespace warpwright
