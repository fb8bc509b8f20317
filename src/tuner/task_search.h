// TaskSearch: all that is known of one task while it is tuned.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/core/outcome.h"
#include "src/tasks/tasks.h"
#include "src/tuner/candidate_space.h"

namespace warpwright {

/// A Config that was measured, in this run or an earlier one.
struct Measured {
  Config config;
  double us = 0;  // 0: failed for good
};

class TaskSearch {
 public:
  TaskSearch(const Task& task, CandidateSpace space, uint64_t seed);

  const Task& task() const { return *task_; }
  CandidateSpace& space() { return space_; }
  const CandidateSpace& space() const { return space_; }
  const Config& default_config() const { return default_config_; }

  /// True once for each Config, and once for Configs that come to the same kernel: it may be measured now.
  bool claim(const Config& config);
  /// By the key of a Config.
  bool is_claimed(const std::string& config_key) const { return claimed_.contains(config_key); }

  /// A trial of this run. A transient outcome teaches nothing.
  void note_trial(const Config& config, const Outcome& outcome);
  /// A result from elsewhere, which is no trial of this run. `us` 0: failed for good.
  void note_known(const Config& config, double us);

  const std::vector<Measured>& measured() const { return measured_; }
  /// Indices into measured() of what ran, fastest first, at most `count`.
  std::vector<size_t> best(size_t count) const;
  double best_us() const { return best_us_; }  // 0 when nothing ran
  double default_us() const { return default_us_; }
  /// 1 for the default; 0 for what failed. Without a time of the default the best takes its place.
  double relative_speed(const Measured& measured) const;

  int64_t trials() const { return trials_; }
  int64_t trials_since_gain() const { return trials_since_gain_; }
  /// Best time after each trial of this run; 0 while nothing ran.
  const std::vector<double>& best_after_trial() const { return best_after_trial_; }

  /// A generator of its own for each call, the same whatever other tasks did in between.
  std::mt19937_64 next_random();
  /// next_random has not been called yet.
  bool is_fresh() const { return draws_ == 0; }
  /// Candidates that a strategy keeps from batch to batch.
  std::vector<Config>& pool() { return pool_; }

 private:
  void note(const Config& config, double us);

  const Task* task_;
  CandidateSpace space_;
  uint64_t seed_;
  uint64_t draws_ = 0;
  Config default_config_;
  std::unordered_set<std::string> claimed_, fingerprints_;
  std::vector<Measured> measured_;
  std::vector<double> best_after_trial_;
  std::vector<Config> pool_;
  double best_us_ = 0, default_us_ = 0;
  int64_t trials_ = 0, trials_since_gain_ = 0;
};

}  // namespace warpwright
