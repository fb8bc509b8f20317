// Tuner: proposes Configs, has them measured, records what came of it. Sees interfaces only.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"
#include "database/database.h"
#include "measure/runner.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/verdict.h"
#include "src/tasks/tasks.h"

namespace warpwright {

struct TuneLimits {
  std::optional<int64_t> trials;           // of the whole run, defaults included; nullopt: no limit
  std::optional<int64_t> trials_per_task;  // defaults included; nullopt: no limit
  std::optional<double> seconds;
  std::optional<int> patience = 64;  // trials of a task without gain before it is left; nullopt: never
};

enum class Strategy { model_guided, random };

struct TuneOptions {
  TuneLimits limits;
  uint64_t seed = 1;
  int batch_size = 8;
  double exploration = 0.2;  // share of a batch drawn at random
  Strategy strategy = Strategy::model_guided;
  std::atomic<bool>* stop = nullptr;  // set by a signal: end at once, with what is known
  double drift_interval_s = 600;      // after which the default of a task is measured again; where times vary
  /// Which families take a Workload; the most promising of their defaults is the task's.
  std::function<std::vector<const KernelFamily*>(const Workload&, const Target&)> families = families_for;
};

struct TaskProgress {
  std::string task_key;
  int weight = 1;
  int64_t trials = 0, ok = 0;
  std::map<std::string, int64_t> failures;     // by outcome
  double default_us = 0, best_us = 0;          // 0 when unknown
  double default_spread = 0, best_spread = 0;  // half of the middle half of the samples, as a share of their median
  Config best;
  std::optional<PairedGain> gain;  // of the best over the default, measured in turn; only where times vary
  double drift = 0;                // share by which the default's time moved since it was first measured
  std::string state;               // `searching`, `exhausted`, `patience`, `time`, `trials`, `interrupted`
};

struct TuneSummary {
  std::vector<TaskProgress> tasks;
  int64_t trials = 0;       // of the whole run, earlier sittings included
  int64_t measured = 0;     // in this sitting
  int64_t retracted = 0;    // Configs left alone because their records are retracted
  std::string end_reason;   // `trials`, `time`, `exhausted`, `patience`, `interrupted`; `environment: ...`
  TrialSeconds seconds;     // sums over this sitting
  double wall_seconds = 0;  // of this sitting
  double idle_seconds = 0;  // of it, in which neither compiling nor measuring was at its full
};

/// What the run's row in the database keeps.
Json to_json(const TuneSummary& summary);

/// What a run that ends by an error is recorded with: `environment: ...`, `interrupted`.
std::string end_reason_of(const Error& error);

/// Called after every trial, replayed ones too.
using ProgressCallback = std::function<void(const TuneSummary&)>;

/// Measures until a limit is reached, nothing is left or `stop` is set, and ends the run in the database with the
/// reason, also when it ends by an error and the database can still be written. Every trial is committed as it ends.
/// Trials that the run recorded in an earlier sitting are replayed, not measured: the same seed over the same database
/// proposes the same Configs, whatever the jobs and wherever a sitting ended. Throws UsageError when no family takes a
/// task, EnvironmentError when nothing can be measured.
TuneSummary tune(const std::vector<Task>& tasks, Runner& runner, CostModel& cost_model, Database& database,
                 const RunInfo& run, const TuneOptions& options, const ProgressCallback& progress);

}  // namespace warpwright
