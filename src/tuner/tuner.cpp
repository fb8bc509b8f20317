// The loop: recall what is known, measure the defaults, then batch after batch of the task that promises most.
#include "src/tuner/tuner.h"

#include <algorithm>
#include <chrono>

#include "src/core/error.h"
#include "src/tuner/known_records.h"
#include "src/tuner/progress_log.h"
#include "src/tuner/search_strategy.h"
#include "src/tuner/task_scheduler.h"
#include "src/tuner/task_search.h"
#include "src/tuner/trial_session.h"

namespace warpwright {
namespace {

constexpr size_t kDefaultsAtOnce = 32;  // between two looks at the clock
constexpr double kRefitShare = 0.04;    // the model learns anew when it knows this much less than there is

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Tuning {
 public:
  Tuning(const std::vector<Task>& tasks, Runner& runner, CostModel& model, Database& database, const RunInfo& run,
         const TuneOptions& options, const ProgressCallback& progress);

  void recall_known_records();
  void measure_defaults();
  /// The task to go on with, or nullopt when the run ends.
  std::optional<size_t> next_task();
  void search(size_t task);
  TuneSummary finish();

 private:
  std::optional<std::string> limit_reached() const;
  void measure(const std::vector<Proposal>& batch);
  void note_known(TaskSearch& search, const Config& config, double us);
  void absorb_stranded();
  size_t room_for(const TaskSearch& search) const;
  void close_if_done(size_t task);
  void close(size_t task, const std::string& state);
  void refit_model();
  std::string reason_of_closed_tasks() const;

  const std::vector<Task>& tasks_;
  Runner& runner_;
  CostModel& model_;
  Database& database_;
  int64_t run_id_;
  const TuneOptions& options_;
  Clock::time_point start_ = Clock::now();
  ProgressLog log_;
  TrialSession session_;
  std::unique_ptr<SearchStrategy> strategy_;
  std::vector<TaskSearch> searches_;     // of each task
  std::vector<TaskStanding> standings_;  // of each task
  std::vector<std::string> states_;      // of each task, empty while it is open
  size_t fitted_ = 0;                    // observations that the model has learnt from
  std::string end_reason_;
};

Tuning::Tuning(const std::vector<Task>& tasks, Runner& runner, CostModel& model, Database& database, const RunInfo& run,
               const TuneOptions& options, const ProgressCallback& progress)
    : tasks_(tasks),
      runner_(runner),
      model_(model),
      database_(database),
      run_id_(run.id),
      options_(options),
      log_(tasks, progress),
      session_(runner, database, run, options.stop,
               [this](const Proposal& proposal, const Outcome& outcome) {
                 log_.note_trial(*proposal.task, proposal.config, proposal.is_default, outcome);
               }),
      strategy_(options.strategy == Strategy::random ? make_random_strategy()
                                                     : make_model_guided_strategy(options.exploration)),
      states_(tasks.size()) {
  if (options.batch_size < 1) throw UsageError("a batch holds at least one trial");
  for (const Task& task : tasks) {
    searches_.emplace_back(
        task, CandidateSpace(task.workload, runner.target(), options.families(task.workload, runner.target())),
        options.seed);
    TaskStanding standing;
    standing.weight = task.weight;
    standings_.push_back(std::move(standing));
  }
}

void Tuning::recall_known_records() {
  for (TaskSearch& search : searches_) {
    std::vector<Record> records = database_.records(search.task().key);
    std::erase_if(records,
                  [&](const Record& record) { return session_.has_recorded(record.workload_key, record.config_json); });
    for (const KnownResult& known : known_results(records, search, runner_.device_name(), runner_.target())) {
      note_known(search, known.config, known.us);
    }
  }
}

void Tuning::note_known(TaskSearch& search, const Config& config, double us) {
  search.note_known(config, us);
  log_.note_known(search.task(), config, config == search.default_config(), us);
}

void Tuning::measure_defaults() {
  std::vector<Proposal> defaults;
  for (TaskSearch& search : searches_) {
    if (search.claim(search.default_config())) defaults.push_back({&search.task(), search.default_config(), true});
  }
  for (size_t first = 0; first < defaults.size() && !limit_reached(); first += kDefaultsAtOnce) {
    auto last = std::min(defaults.size(), first + kDefaultsAtOnce);
    if (options_.limits.trials) {
      last = std::min(last, first + static_cast<size_t>(*options_.limits.trials - session_.trials()));
    }
    measure({defaults.begin() + static_cast<ptrdiff_t>(first), defaults.begin() + static_cast<ptrdiff_t>(last)});
  }
}

std::optional<size_t> Tuning::next_task() {
  if (const auto reason = limit_reached()) {
    end_reason_ = *reason;
    return std::nullopt;
  }
  for (size_t task = 0; task < tasks_.size(); ++task) {
    close_if_done(task);
    standings_[task].is_open = states_[task].empty();
    standings_[task].best_us = searches_[task].best_us();
    standings_[task].best_after_trial = searches_[task].best_after_trial();
  }
  const auto task = warpwright::next_task(standings_);
  if (!task) end_reason_ = reason_of_closed_tasks();
  return task;
}

/// One batch: fixed before its first result is known, and always proposed whole, so that a run with a higher limit
/// begins with the same trials.
void Tuning::search(size_t task) {
  TaskSearch& search = searches_[task];
  ++standings_[task].batches;
  refit_model();
  std::vector<Config> configs =
      strategy_->propose(search, model_, runner_.target(), static_cast<size_t>(options_.batch_size));
  if (configs.empty()) {
    close(task, "exhausted");
    return;
  }
  configs.resize(std::min(configs.size(), room_for(search)));
  std::vector<Proposal> batch;
  for (Config& config : configs) batch.push_back({&search.task(), std::move(config), false});
  measure(batch);
}

TuneSummary Tuning::finish() {
  TuneSummary& summary = log_.summary();
  for (size_t task = 0; task < tasks_.size(); ++task) {
    if (states_[task].empty()) log_.set_state(tasks_[task], end_reason_);
  }
  summary.end_reason = end_reason_;
  summary.trials = session_.trials();
  summary.seconds = session_.seconds();
  const TrialSeconds& spent = summary.seconds;
  const double own_in_trials = std::max(0.0, spent.wall - spent.compile - spent.verify - spent.run);
  summary.own_seconds = seconds_since(start_) - session_.runner_seconds() + own_in_trials;
  database_.end_run(run_id_, end_reason_);
  return summary;
}

std::optional<std::string> Tuning::limit_reached() const {
  if (session_.should_stop()) return "interrupted";
  if (options_.limits.trials && session_.trials() >= *options_.limits.trials) return "trials";
  if (options_.limits.seconds && seconds_since(start_) >= *options_.limits.seconds) return "time";
  return std::nullopt;
}

void Tuning::measure(const std::vector<Proposal>& batch) {
  const std::vector<std::optional<Outcome>> outcomes = session_.measure(batch);
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!outcomes[i]) continue;
    const auto task = static_cast<size_t>(batch[i].task - tasks_.data());
    searches_[task].note_trial(batch[i].config, *outcomes[i]);
  }
  absorb_stranded();
}

void Tuning::absorb_stranded() {
  std::map<std::string, std::vector<Record>> by_task;
  for (Record& record : session_.take_stranded()) by_task[record.workload_key].push_back(std::move(record));
  for (TaskSearch& search : searches_) {
    const auto found = by_task.find(search.task().key);
    if (found == by_task.end()) continue;
    for (const KnownResult& known : known_results(found->second, search, runner_.device_name(), runner_.target())) {
      note_known(search, known.config, known.us);
    }
  }
}

size_t Tuning::room_for(const TaskSearch& search) const {
  int64_t room = options_.batch_size;
  if (options_.limits.trials) room = std::min(room, *options_.limits.trials - session_.trials());
  if (options_.limits.trials_per_task) room = std::min(room, *options_.limits.trials_per_task - search.trials());
  return static_cast<size_t>(std::max<int64_t>(0, room));
}

void Tuning::close_if_done(size_t task) {
  if (!states_[task].empty()) return;
  const TaskSearch& search = searches_[task];
  const TuneLimits& limits = options_.limits;
  if (limits.trials_per_task && search.trials() >= *limits.trials_per_task) {
    close(task, "trials");
  } else if (limits.patience && search.trials_since_gain() >= *limits.patience) {
    close(task, "patience");
  }
}

void Tuning::close(size_t task, const std::string& state) {
  states_[task] = state;
  log_.set_state(tasks_[task], state);
}

void Tuning::refit_model() {
  std::vector<Observation> observations;
  for (const TaskSearch& search : searches_) {
    for (const Measured& measured : search.measured()) {
      observations.push_back({&search.task().workload, measured.config, search.relative_speed(measured)});
    }
  }
  const auto news = static_cast<double>(observations.size() - fitted_);
  if (news == 0 || news < kRefitShare * static_cast<double>(observations.size())) return;
  model_.fit(observations, runner_.target());
  fitted_ = observations.size();
}

std::string Tuning::reason_of_closed_tasks() const {
  for (const char* reason : {"trials", "patience"}) {
    if (std::find(states_.begin(), states_.end(), reason) != states_.end()) return reason;
  }
  return "exhausted";
}

}  // namespace

TuneSummary tune(const std::vector<Task>& tasks, Runner& runner, CostModel& cost_model, Database& database,
                 const RunInfo& run, const TuneOptions& options, const ProgressCallback& progress) {
  Tuning tuning(tasks, runner, cost_model, database, run, options, progress);
  tuning.recall_known_records();
  tuning.measure_defaults();
  while (const std::optional<size_t> task = tuning.next_task()) tuning.search(*task);
  return tuning.finish();
}

}  // namespace warpwright
