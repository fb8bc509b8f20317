// Tuner: proposes Configs, has them measured, records what came of it. Sees interfaces only.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"
#include "database/database.h"
#include "measure/runner.h"
#include "src/tasks/tasks.h"

namespace warpwright {

struct TuneLimits {
  std::optional<int64_t> trials;     // of the whole run, defaults included; nullopt: no limit
  std::optional<double> seconds;
  std::optional<int> patience = 64;  // trials of a task without gain before it is left; nullopt: never
};

struct TuneOptions {
  TuneLimits limits;
  uint64_t seed = 1;
  int batch_size = 8;
  double exploration = 0.2;  // share of a batch drawn at random
  std::atomic<bool>* stop = nullptr;  // set by a signal: end after what is under way
};

struct TaskProgress {
  std::string task_key;
  int weight = 1;
  int64_t trials = 0, ok = 0;
  std::map<std::string, int64_t> failures;  // by outcome
  double default_us = 0, best_us = 0;       // 0 when unknown
  Config best;
  std::string state;  // `searching`, `exhausted`, `patience`, `time`, `trials`
};

struct TuneSummary {
  std::vector<TaskProgress> tasks;
  int64_t trials = 0;          // of the whole run, earlier sittings included
  std::string end_reason;      // `trials`, `time`, `exhausted`, `patience`, `interrupted`
  TrialSeconds seconds;        // sums over this sitting
  double own_seconds = 0;      // wall time of this sitting that was neither compiling nor verifying nor running
};

/// Called after every trial.
using ProgressCallback = std::function<void(const TuneSummary&)>;

TuneSummary tune(const std::vector<Task>& tasks, Runner& runner, CostModel& cost_model, Database& database,
                 const RunInfo& run, const TuneOptions& options, const ProgressCallback& progress);

}  // namespace warpwright
