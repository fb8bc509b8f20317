// TuneLane: one run of `tune`, from its plan to its summary.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/arguments.h"
#include "src/cli/signals.h"
#include "src/cli/tune_plan.h"
#include "src/core/named_lock.h"
#include "src/tuner/tuner.h"

namespace warpwright {

struct TuneArguments {
  std::string model, device = "auto", nvrtc, tasks_from, arguments;
  std::optional<std::string> time, until;
  std::vector<std::string> databases, shapes;
  TaskFilter filter;
  int64_t trials = 0, more = 0, trials_per_task = 0;
  int patience = 64, jobs = 0;
  uint64_t seed = 1;
  bool only_misses = false, dry_run = false, json = false, skip_unsupported = false;
};

/// What is tuned: a model's tasks, or those of a list.
struct TuneSubject {
  std::string name, digest;
  Json shapes;  // that inputs are bound to
  std::vector<Task> tasks;
};

/// Throws UsageError for what is no time.
TuneLimits limits_of(const TuneArguments& options);

/// One run: the tasks on devices that are alike. Several run at a time, each with a database connection of its own.
class TuneLane {
 public:
  TuneLane(const TuneArguments& options, const TuneSubject& subject, DeviceGroup group, int jobs, StopSignals& signals);

  /// Opens and plans. With `dry_run`, or where nothing is to tune, no run begins.
  void prepare();
  /// Does nothing where nothing is to tune.
  void run();
  /// Ends the run, if it has begun and not ended, for an error that is told elsewhere.
  void abandon(const Error& error);
  void print() const;
  Json json() const;

  const DeviceGroup& group() const { return group_; }
  const TunePlan& plan() const { return plan_; }
  /// With `only_misses`: no task misses.
  bool has_nothing_to_tune() const { return tasks_.empty(); }
  bool has_valid_trial() const;
  std::exception_ptr failure;

 private:
  void open_database_of_run();
  void begin_run();
  Paths databases() const { return {options_.databases.begin(), options_.databases.end()}; }

  const TuneArguments& options_;
  const TuneSubject& subject_;
  const DeviceGroup group_;
  const int jobs_;
  StopSignals& signals_;
  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  TuneLimits limits_;
  double until_s_ = 0;  // from then on
  std::vector<Task> tasks_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<NamedLock> lock_;  // on the run
  TunePlan plan_;
  RunKey run_key_;
  std::optional<RunInfo> run_;
  std::optional<int64_t> most_;
  std::optional<TuneSummary> summary_;
};

}  // namespace warpwright
