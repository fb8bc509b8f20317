// A family, a runner and a model without GPU, compiler or trees, for the tests of the tuner.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "database/database.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/tuner/tuner.h"

namespace warpwright {

/// Knobs a, b, c with `values` values each, and d with two that come to the same source.
class FakeFamily : public KernelFamily {
 public:
  explicit FakeFamily(int64_t values = 12) : values_(values) {}

  std::string_view name() const override { return "fake"; }
  int space_version() const override { return 1; }
  std::optional<std::string> why_unsupported(const Workload&, const Target&) const override { return std::nullopt; }
  Space space(const Workload&, const Target&) const override {
    std::vector<int64_t> steps;
    for (int64_t i = 1; i <= values_; ++i) steps.push_back(i);
    return Space("fake", 1, {{"a", steps}, {"b", steps}, {"c", steps}, {"d", {0, 1}}},
                 [](const Config& config) -> std::optional<std::string> {
                   if ((config.at("a") + config.at("b")) % 5 == 4) return "a + b is one less than a multiple of 5";
                   return std::nullopt;
                 });
  }
  Config default_config(const Workload&, const Target&) const override {
    return {"fake", 1, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 0}}};
  }
  Resources resources(const Workload&, const Config&, const Target&) const override { return {}; }
  KernelSource emit(const Workload&, const Config& config, const Target&) const override {
    KernelSource kernel;
    kernel.source = fmt::format("a={} b={} c={}", config.at("a"), config.at("b"), config.at("c"));
    return kernel;
  }
  Tensor pack(const Workload&, const Config&, const std::string&, const Values&) const override { return {}; }

 private:
  int64_t values_;
};

/// Five Configs in all.
class TinyFamily : public FakeFamily {
 public:
  Space space(const Workload&, const Target&) const override {
    return Space("fake", 1, {{"a", {1, 2, 3, 4, 5}}, {"b", {1}}, {"c", {1}}, {"d", {0}}},
                 [](const Config&) { return std::nullopt; });
  }
};

/// Knows a few Configs by heart, one of them from another version of its space.
class SeededFamily : public FakeFamily {
 public:
  std::vector<Config> seeds(const Workload&, const Target&) const override {
    std::vector<Config> all;
    for (int64_t a : {3, 5, 6, 8, 9, 10}) all.push_back({"fake", 1, {{"a", a}, {"b", a}, {"c", a}, {"d", 0}}});
    all[1].space_version = 0;
    return all;
  }
};

/// A bowl whose bottom depends on the task.
inline double fake_time_us(const Workload& workload, const Config& config) {
  const double centre = static_cast<double>(workload.output.c / 16 % 7) + 3;
  double us = 10;
  for (const char* knob : {"a", "b", "c"}) us += std::pow(static_cast<double>(config.at(knob)) - centre, 2);
  return us;
}

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

class FakeRunner : public Runner {
 public:
  using Rule = std::function<Outcome(const Trial&)>;

  explicit FakeRunner(int jobs = 1) : jobs_(jobs) {}

  const Target& target() const override { return target_preset("rtx4090"); }
  std::string device_name() const override { return "virtual:rtx4090"; }
  Evidence evidence() const override { return evidence_; }

  std::string environment() const override { return "fake"; }
  void begin_nothing_after(std::optional<std::chrono::steady_clock::time_point> deadline) override {
    deadline_ = deadline;
  }

  void submit(uint64_t ticket, Trial trial) override { submitted_.emplace_back(ticket, std::move(trial)); }
  FinishedTrial next() override {
    // Trials end in another order for each number of jobs.
    const size_t at = std::min(submitted_.size() - 1, static_cast<size_t>(jobs_ - 1));
    const auto [ticket, trial] = submitted_.at(at);
    if (kill_after >= 0 && measured >= kill_after) throw Killed();
    FinishedTrial finished;
    finished.ticket = ticket;
    TrialResult& result = finished.result;
    if (late_after >= 0 && measured >= late_after && deadline_) {
      std::this_thread::sleep_until(*deadline_);
      result.outcome.kind = OutcomeKind::interrupted;
    } else if (stop_after >= 0 && measured >= stop_after) {
      stop->store(true);
      result.outcome.kind = OutcomeKind::interrupted;
    } else {
      ++measured;
      sequence.push_back(key(trial.workload) + key(trial.config));
      result.outcome = rule(trial);
    }
    submitted_.erase(submitted_.begin() + static_cast<ptrdiff_t>(at));
    result.source_hash = key_hex(key(trial.config));
    result.environment = "fake";
    result.evidence = evidence_;
    result.seconds = {0.2, 0.2, 0.2, 0.7};
    return finished;
  }
  void cancel() override { submitted_.clear(); }
  std::vector<TrialResult> interleave(const Workload& workload, const std::vector<Config>& configs,
                                      const IsDecided& is_decided) override {
    std::vector<TrialResult> results(configs.size());
    std::vector<std::vector<double>> rounds_us(configs.size());
    do {
      for (size_t i = 0; i < configs.size(); ++i) {
        results[i].outcome = rule({workload, configs[i]});
        if (results[i].outcome.ok()) rounds_us[i].push_back(results[i].outcome.median_us());
      }
      ++rounds;
    } while (!is_decided(rounds_us));
    for (size_t i = 0; i < configs.size(); ++i) {
      results[i].outcome.samples_us = rounds_us[i];
      results[i].evidence = evidence_;
      results[i].environment = "fake";
    }
    return results;
  }

  Rule rule = [](const Trial& trial) {
    Outcome outcome;
    outcome.kind = OutcomeKind::ok;
    outcome.samples_us = {fake_time_us(trial.workload, trial.config)};
    return outcome;
  };
  int kill_after = -1, stop_after = -1;
  int late_after = -1;  // so many trials begin before the deadline
  std::atomic<bool>* stop = nullptr;
  Evidence evidence_ = Evidence::virtual_device;
  int measured = 0, rounds = 0;
  std::vector<std::string> sequence;  // what was measured, in the order of ending

 private:
  int jobs_;
  std::deque<std::pair<uint64_t, Trial>> submitted_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
};

/// Scores by the nearest observation of any task: learns, and needs no family.
class NearestCostModel : public CostModel {
 public:
  void fit(std::span<const Observation> observations, const Target&) override {
    observations_.assign(observations.begin(), observations.end());
  }
  std::vector<double> score(const Workload& workload, std::span<const Config> configs, const Target&) const override {
    std::vector<double> scores;
    for (const Config& config : configs) {
      double sum = 0, weights = 1e-9;
      for (const Observation& observation : observations_) {
        if (!(*observation.workload == workload)) continue;
        double distance = 0.01;
        for (const auto& [knob, value] : config.knobs) {
          distance += std::pow(static_cast<double>(value - observation.config.at(knob)), 2);
        }
        sum += observation.relative_speed / (distance * distance);
        weights += 1 / (distance * distance);
      }
      scores.push_back(sum / weights);
    }
    return scores;
  }

 private:
  std::vector<Observation> observations_;
};

inline Task fake_task(int64_t channels, int weight = 1) {
  Task task;
  task.workload.kind = OpKind::dense;
  task.workload.inputs = {nhwc_form(DType::s8, 1, 1, 1, 64)};
  task.workload.output = nhwc_form(DType::s8, 1, 1, 1, channels);
  task.key = key(task.workload);
  task.weight = weight;
  return task;
}

}  // namespace warpwright
