// Claims, results and best of one task.
#include "src/tuner/task_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/core/hash.h"

namespace warpwright {
namespace {

constexpr double kLeastGain = 1.001;  // less is noise

}  // namespace

TaskSearch::TaskSearch(const Task& task, CandidateSpace space, uint64_t seed)
    : task_(&task), space_(std::move(space)), seed_(seed), default_config_(space_.defaults().front()) {}

bool TaskSearch::claim(const Config& config) {
  if (!claimed_.insert(key(config)).second) return false;
  return fingerprints_.insert(space_.fingerprint(config)).second;
}

void TaskSearch::note_trial(const Config& config, const Outcome& outcome) {
  const double before = best_us_;
  ++trials_;
  if (!is_transient(outcome.kind)) {
    ++trials_since_gain_;
    note(config, outcome.ok() ? outcome.median_us() : 0);
  }
  if (best_us_ > 0 && (before == 0 || before > best_us_ * kLeastGain)) trials_since_gain_ = 0;
  best_after_trial_.push_back(best_us_);
}

void TaskSearch::note_known(const Config& config, double us) {
  claim(config);
  note(config, us);
}

void TaskSearch::note(const Config& config, double us) {
  measured_.push_back({config, us});
  if (us <= 0) return;
  if (best_us_ == 0 || us < best_us_) best_us_ = us;
  if (config == default_config_) default_us_ = us;
}

std::vector<size_t> TaskSearch::best(size_t count) const {
  std::vector<size_t> order(measured_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return measured_[i].us <= 0; });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return measured_[a].us < measured_[b].us; });
  order.resize(std::min(order.size(), count));
  return order;
}

double TaskSearch::relative_speed(const Measured& measured) const {
  if (measured.us <= 0) return 0;
  return (default_us_ > 0 ? default_us_ : best_us_) / measured.us;
}

std::mt19937_64 TaskSearch::next_random() {
  const std::string digest = key_hex(std::to_string(seed_) + "/" + task_->key + "/" + std::to_string(draws_++));
  return std::mt19937_64(std::stoull(digest.substr(0, 16), nullptr, 16));
}

}  // namespace warpwright
