// What a run is known by, opening it, making it.
#include "src/cli/tune_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cost_model/default_config.h"
#include "src/cli/tune_report.h"
#include "src/compile/best_history.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/core/log.h"

namespace warpwright {

namespace {

constexpr double kNoLimit_s = 1e9;

}  // namespace

TuneLimits limits_of(const TuneArguments& options) {
  TuneLimits limits;
  if (options.trials > 0) limits.trials = options.trials;
  if (options.trials_per_task > 0) limits.trials_per_task = options.trials_per_task;
  if (options.time) limits.seconds = parse_duration("--time", *options.time);
  if (options.until) limits.seconds = std::min(limits.seconds.value_or(kNoLimit_s), seconds_until(*options.until));
  limits.patience = options.patience > 0 ? std::optional<int>(options.patience) : std::nullopt;
  return limits;
}

namespace {

/// What the run is known by, beside model, device and seed.
Json limits_json(const TuneLimits& limits, const TuneArguments& options, const TuneSubject& subject) {
  Json json{{"shapes", subject.shapes},
            {"trials", limits.trials ? Json(*limits.trials) : Json()},
            {"trials_per_task", limits.trials_per_task ? Json(*limits.trials_per_task) : Json()},
            {"seconds", options.time ? Json(parse_duration("--time", *options.time)) : Json()},
            {"patience", limits.patience ? Json(*limits.patience) : Json()}};
  if (options.until) json["until"] = *options.until;
  if (!options.filter.tasks.empty()) json["task"] = options.filter.tasks;
  if (!options.filter.operators.empty()) json["op"] = options.filter.operators;
  if (options.only_misses) json["only_misses"] = true;
  if (options.skip_unsupported) json["skip_unsupported"] = true;
  if (!options.model.empty() && !options.tasks_from.empty())
    json["tasks_from"] = sha256_hex(read_file(options.tasks_from));
  return json;
}

/// The run to go on with: the latest of this model, its shapes, device and seed.
RunInfo latest_run(const Database& database, const RunKey& wanted) {
  std::optional<RunInfo> latest;
  for (const RunInfo& run : database.runs()) {
    const bool same = run.id != 0 && run.key.model_digest == wanted.model_digest &&
                      run.key.device_name == wanted.device_name && run.key.seed == wanted.seed &&
                      run.key.limits.is_object() &&
                      run.key.limits.value("shapes", Json()) == wanted.limits.at("shapes");
    if (same && (!latest || run.id > latest->id)) latest = run;
  }
  if (!latest) throw UsageError("--more adds to a run, and there is none of this model, device and seed yet");
  return *latest;
}

/// Trials of the whole run at most, where a limit says so.
std::optional<int64_t> most_trials(const TuneLimits& limits, size_t tasks) {
  std::optional<int64_t> most = limits.trials;
  if (limits.trials_per_task) {
    const int64_t all = *limits.trials_per_task * static_cast<int64_t>(tasks);
    most = std::min(most.value_or(all), all);
  }
  return most;
}

/// Tasks without a record that a build for this device takes as exact.
std::vector<Task> misses_of(const std::vector<Task>& tasks, const Database& database, const DeviceGroup& group) {
  const BuildTarget target{group.target, !group.is_card};
  const BestHistory history(&database, target, EvidencePolicy::prefer);
  std::vector<Task> misses;
  for (const Task& task : tasks) {
    if (!is_hit(history.choose(task), Rung::exact, target, EvidencePolicy::prefer)) misses.push_back(task);
  }
  return misses;
}

}  // namespace

TuneLane::TuneLane(const TuneArguments& options, const TuneSubject& subject, DeviceGroup group, int jobs,
                   StopSignals& signals)
    : options_(options),
      subject_(subject),
      group_(std::move(group)),
      jobs_(jobs),
      signals_(signals),
      limits_(limits_of(options)),
      until_s_(options.until ? seconds_until(*options.until) : 0) {}

void TuneLane::open_database_of_run() {
  if (options_.dry_run && file_kind(databases().front()) == FileKind::none) return;
  database_ = open_databases(databases(), options_.dry_run ? OpenMode::read_only : OpenMode::read_write);
}

void TuneLane::prepare() {
  for (const Task& task : subject_.tasks) default_config(task.workload, group_.target);  // refused before the night
  open_database_of_run();
  tasks_ = subject_.tasks;
  if (options_.only_misses && database_) tasks_ = misses_of(tasks_, *database_, group_);
  if (has_nothing_to_tune()) return;
  run_key_ = {subject_.digest, group_.record_name, options_.seed, limits_json(limits_, options_, subject_)};
  if (!options_.dry_run) begin_run();
  RunnerOptions running;
  running.devices = group_.devices;
  running.nvrtc_path = options_.nvrtc;
  running.jobs = jobs_;
  running.seed = options_.seed;
  running.stop = signals_.flag();
  runner_ = open_worker_runner(running);
  const TrialCost cost = trial_cost(tasks_, database_.get(), *runner_);
  plan_ = make_plan(tasks_, group_, limits_, most_, jobs_, database_.get(), cost);
}

/// Takes the run for this process alone: two that made the same one would measure everything twice.
void TuneLane::begin_run() {
  if (options_.more > 0) {
    const RunInfo latest = latest_run(*database_, run_key_);
    run_key_ = latest.key;
    limits_.trials = latest.trials_done + options_.more;
  }
  most_ = most_trials(limits_, tasks_.size());
  const std::string identity = std::filesystem::weakly_canonical(databases().front()).string() + run_key_.model_digest +
                               run_key_.device_name + std::to_string(run_key_.seed) + run_key_.limits.dump();
  lock_ = std::make_unique<NamedLock>("run-" + key_hex(identity));
  if (!lock_->try_lock()) {
    throw UsageError(
        fmt::format("another process is making this run in {} already; wait for its end, or give another "
                    "--seed or other limits",
                    databases().front().string()));
  }
  run_ = database_->begin_run(run_key_, subject_.name, options_.arguments);
}

void TuneLane::run() {
  if (has_nothing_to_tune()) return;
  const auto cost_model = make_xgboost_cost_model(options_.seed);
  TuneOptions tuning;
  if (options_.until) {  // it is nearer than when the limits were made; --time counts from here
    const std::chrono::duration<double> opening = std::chrono::steady_clock::now() - made_;
    const double time_s = options_.time ? parse_duration("--time", *options_.time) : kNoLimit_s;
    limits_.seconds = std::min(time_s, std::max(0.0, until_s_ - opening.count()));
  }
  tuning.limits = limits_;
  tuning.seed = options_.seed;
  tuning.stop = signals_.flag();
  log_info("run {}: {}, {} on {}, seed {}", run_->id, trials_text(run_->trials_done, most_), subject_.name,
           run_key_.device_name, run_key_.seed);
  if (most_ && run_->trials_done >= *most_) log_info("run {} is complete; --more N adds trials", run_->id);
  TuneProgress progress(*run_, most_, limits_.seconds);
  summary_ = tune(tasks_, *runner_, *cost_model, *database_, *run_, tuning,
                  [&](const TuneSummary& now) { progress.show(now); });
  runner_.reset();
  database_->close();
  lock_.reset();
}

void TuneLane::abandon(const Error& error) {
  runner_.reset();  // its temporary files may lie on the disk that was full
  if (!run_) return;
  try {
    for (const RunInfo& run : database_->runs()) {
      if (run.id == run_->id && run.ended_utc.empty()) database_->end_run(run_->id, end_reason_of(error));
    }
  } catch (const Error& failure) {
    if (std::string_view(failure.what()) != error.what())
      log_warning("how run {} ended could not be recorded: {}", run_->id, failure.what());
  }
}

void TuneLane::print() const { print_summary(*summary_, *run_, tasks_, !group_.is_card, limits_.seconds); }

Json TuneLane::json() const {
  if (options_.dry_run) return plan_json(plan_, group_);
  if (has_nothing_to_tune()) return {{"device", group_.record_name}, {"run", nullptr}, {"tasks", Json::array()}};
  return summary_json(*summary_, *run_, tasks_);
}

/// No record says that the default of a task works, nor any other Config.
bool TuneLane::has_valid_trial() const {
  if (has_nothing_to_tune()) return true;
  if (!summary_) return false;
  for (const TaskProgress& task : summary_->tasks) {
    if (task.ok > 0) return true;
  }
  return false;
}

}  // namespace warpwright
