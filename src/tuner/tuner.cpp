// The loop: recall what is known, measure the defaults, then batch after batch of the task that promises most; at the
// end the finalists of each task against its default.
#include "src/tuner/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/core/error.h"
#include "src/tuner/contested.h"
#include "src/tuner/known_records.h"
#include "src/tuner/progress_log.h"
#include "src/tuner/search_strategy.h"
#include "src/tuner/task_scheduler.h"
#include "src/tuner/task_search.h"
#include "src/tuner/trial_session.h"

namespace warpwright {
namespace {

constexpr size_t kBatchesAhead = 2;   // under way: while the last one ends, the next one compiles already
constexpr size_t kFinalists = 4;      // beside the default
constexpr double kFinalShare = 0.04;  // of the time is for the finalists
constexpr double kRefitShare = 0.04;  // the model learns anew when it knows this much less than there is

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Tuning {
 public:
  Tuning(const std::vector<Task>& tasks, Runner& runner, CostModel& model, Database& database, const RunInfo& run,
         const TuneOptions& options, const ProgressCallback& progress);

  void recall_known_records();
  void measure_defaults();
  /// Trials of Configs that records disagree about: first of all, since a build may use none of them until then.
  void settle_contested();
  void search();
  void compare_finalists();
  TuneSummary finish();
  /// Ends the run in the database by an error, if that can be written.
  void end_by(const Error& error);

 private:
  bool times_vary() const { return evidence_ == Evidence::silicon; }
  std::optional<std::string> limit_reached() const;
  /// The task to go on with, or nullopt while none has anything to propose.
  std::optional<size_t> next_task();
  void propose(size_t task);
  void submit(std::vector<Proposal> batch);
  void collect();
  void repeat_default(size_t task);
  std::vector<Config> finalists(size_t task) const;
  void decide(size_t task, Clock::time_point deadline);
  std::vector<std::vector<double>> measure_finalists(size_t task, const std::vector<Config>& configs,
                                                     Clock::time_point deadline);
  size_t index_of(const Proposal& proposal) const { return static_cast<size_t>(proposal.task - tasks_.data()); }
  void note_known(TaskSearch& search, const Config& config, double us);
  void absorb_stranded();
  size_t room_for(size_t task) const;
  void close_if_done(size_t task);
  void close(size_t task, const std::string& state);
  void refit_model();
  std::string reason_of_closed_tasks() const;
  const TuneSummary& conclude();

  const std::vector<Task>& tasks_;
  Runner& runner_;
  CostModel& model_;
  Database& database_;
  int64_t run_id_;
  const TuneOptions& options_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> search_end_;
  ProgressLog log_;
  TrialSession session_;
  std::unique_ptr<SearchStrategy> strategy_;
  std::vector<TaskSearch> searches_;                 // of each task
  std::vector<TaskStanding> standings_;              // of each task
  std::vector<std::vector<Config>> contested_;       // of each task
  std::vector<std::string> states_;                  // of each task, empty while it is open
  std::vector<Clock::time_point> default_measured_;  // of each task
  Evidence evidence_;
  double idle_before_ = 0;
  int64_t left_alone_ = 0;  // Configs whose records are retracted
  size_t fitted_ = 0;       // observations that the model has learnt from
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
      session_(
          runner, database, run, options.stop,
          [this](const Proposal& proposal, const Outcome& outcome) {
            log_.note_trial(*proposal.task, proposal.config, proposal.is_default, outcome);
          },
          [this](const Proposal& proposal, double us) { log_.note_drift(*proposal.task, us); }),
      strategy_(options.strategy == Strategy::random ? make_random_strategy()
                                                     : make_model_guided_strategy(options.exploration)),
      states_(tasks.size()),
      default_measured_(tasks.size(), start_),
      evidence_(runner.evidence()),
      idle_before_(runner.idle_seconds()) {
  if (options.limits.seconds) {
    const std::chrono::duration<double> of_search(*options.limits.seconds * (times_vary() ? 1 - kFinalShare : 1));
    search_end_ = start_ + std::chrono::duration_cast<Clock::duration>(of_search);
    session_.begin_nothing_after(search_end_);
  }
  session_.begin_no_more_than(options.limits.trials, options.limits.trials_per_task);
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
    contested_.push_back(take_contested(records, search, runner_.target(), evidence_, run_id_, database_));
    std::erase_if(records,
                  [&](const Record& record) { return session_.has_recorded(record.workload_key, record.config_json); });
    for (const KnownResult& known : known_results(records, search, runner_.device_name(), runner_.target())) {
      note_known(search, known.config, known.us);
    }
    for (const Config& config : retracted_configs(database_.retracted(search.task().key), search, runner_)) {
      const bool is_replayed = session_.has_recorded(search.task().key, key(config));
      left_alone_ += !is_replayed && search.claim(config);
    }
  }
}

void Tuning::note_known(TaskSearch& search, const Config& config, double us) {
  search.note_known(config, us);
  log_.note_known(search.task(), config, config == search.default_config(), us);
}

void Tuning::measure_defaults() {
  std::vector<Proposal> batch;
  for (TaskSearch& search : searches_) {
    if (!search.claim(search.default_config())) continue;
    const auto proposed = session_.proposed() + static_cast<int64_t>(batch.size());
    if (limit_reached() || (options_.limits.trials && proposed >= *options_.limits.trials)) break;
    batch.push_back({&search.task(), search.default_config(), true});
    if (batch.size() < static_cast<size_t>(options_.batch_size)) continue;
    submit(std::exchange(batch, {}));
    if (session_.batches_under_way() == kBatchesAhead) collect();
  }
  if (!batch.empty()) submit(std::move(batch));
  while (session_.batches_under_way() > 0) collect();
}

void Tuning::settle_contested() {
  for (size_t task = 0; task < tasks_.size() && !limit_reached(); ++task) {
    std::vector<Proposal> batch;
    for (const Config& config : contested_[task]) {
      if (batch.size() < room_for(task) && searches_[task].claim(config))
        batch.push_back({&tasks_[task], config, false});
    }
    if (batch.empty()) continue;
    submit(std::move(batch));
    if (session_.batches_under_way() == kBatchesAhead) collect();
  }
  while (session_.batches_under_way() > 0) collect();
}

/// A batch is fixed before its first result is known, and after all results of the batch kBatchesAhead before it, so
/// that what is proposed depends on neither the number of workers nor the order in which they end.
void Tuning::search() {
  while (true) {
    while (session_.batches_under_way() < kBatchesAhead) {
      const std::optional<size_t> task = next_task();
      if (!task) break;
      propose(*task);
    }
    if (session_.batches_under_way() == 0) break;
    collect();
  }
  session_.finish_repeats();
  end_reason_ = limit_reached().value_or(reason_of_closed_tasks());
}

std::optional<size_t> Tuning::next_task() {
  if (limit_reached()) return std::nullopt;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    close_if_done(task);
    standings_[task].is_open = states_[task].empty() && room_for(task) > 0;
    standings_[task].best_us = searches_[task].best_us();
    standings_[task].best_after_trial = searches_[task].best_after_trial();
  }
  return warpwright::next_task(standings_);
}

/// One batch, always proposed whole, so that a run with a higher limit begins with the same trials.
void Tuning::propose(size_t task) {
  TaskSearch& search = searches_[task];
  ++standings_[task].batches;
  refit_model();
  std::vector<Config> configs =
      strategy_->propose(search, model_, runner_.target(), static_cast<size_t>(options_.batch_size));
  if (configs.empty()) {
    close(task, "exhausted");
    return;
  }
  configs.resize(std::min(configs.size(), room_for(task)));
  std::vector<Proposal> batch;
  for (Config& config : configs) batch.push_back({&search.task(), std::move(config), false});
  if (times_vary()) repeat_default(task);
  submit(std::move(batch));
}

void Tuning::repeat_default(size_t task) {
  if (seconds_since(default_measured_[task]) < options_.drift_interval_s) return;
  default_measured_[task] = Clock::now();
  session_.repeat({&tasks_[task], searches_[task].default_config(), true});
}

/// The default, then the fastest Configs in an order that no time has a part in: it decides between equals.
std::vector<Config> Tuning::finalists(size_t task) const {
  const TaskSearch& search = searches_[task];
  std::vector<Config> configs;
  for (const size_t index : search.best(kFinalists)) {
    const Config& config = search.measured()[index].config;
    if (config != search.default_config()) configs.push_back(config);
  }
  std::sort(configs.begin(), configs.end(), [](const Config& a, const Config& b) { return key(a) < key(b); });
  configs.insert(configs.begin(), search.default_config());
  return configs;
}

/// The fastest Configs of each task in turn with its default, so that no lucky sample decides what is the best.
void Tuning::compare_finalists() {
  if (!times_vary()) return;
  session_.begin_nothing_after(std::nullopt);
  for (size_t task = 0; task < tasks_.size() && !session_.should_stop(); ++task) {
    Clock::time_point deadline = Clock::time_point::max();
    if (options_.limits.seconds) {
      const double left_s = std::max(0.0, *options_.limits.seconds - seconds_since(start_));
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(left_s / static_cast<double>(tasks_.size() - task)));
    }
    if (searches_[task].default_us() > 0) decide(task, deadline);
  }
}

void Tuning::decide(size_t task, Clock::time_point deadline) {
  const std::vector<Config> configs = finalists(task);
  if (configs.size() < 2) return;
  std::vector<std::vector<double>> rounds_us;
  for (const Config& config : configs) rounds_us.push_back(session_.recorded_final({&tasks_[task], config}));
  const bool is_known = std::none_of(rounds_us.begin(), rounds_us.end(), [](const auto& us) { return us.empty(); });
  if (!is_known || session_.measured() > 0) rounds_us = measure_finalists(task, configs, deadline);
  const Verdict verdict = judge(rounds_us);
  if (rounds_us[verdict.winner].empty()) return;
  log_.note_verdict(tasks_[task], configs[verdict.winner], median(rounds_us[0]), median(rounds_us[verdict.winner]),
                    verdict.gain);
}

std::vector<std::vector<double>> Tuning::measure_finalists(size_t task, const std::vector<Config>& configs,
                                                           Clock::time_point deadline) {
  const std::vector<TrialResult> results =
      runner_.interleave(tasks_[task].workload, configs, [&](const std::vector<std::vector<double>>& rounds_us) {
        return judge(rounds_us).is_settled || session_.should_stop() || Clock::now() >= deadline;
      });
  std::vector<std::vector<double>> rounds_us(configs.size());
  for (size_t i = 0; i < configs.size(); ++i) {
    if (!results[i].outcome.ok() || results[i].outcome.samples_us.empty()) continue;
    rounds_us[i] = results[i].outcome.samples_us;
    session_.record_final({&tasks_[task], configs[i], i == 0}, results[i]);
  }
  return rounds_us;
}

const TuneSummary& Tuning::conclude() {
  TuneSummary& summary = log_.summary();
  for (size_t task = 0; task < tasks_.size(); ++task) {
    if (states_[task].empty()) log_.set_state(tasks_[task], end_reason_);
  }
  summary.end_reason = end_reason_;
  summary.trials = session_.trials();
  summary.measured = session_.measured();
  summary.retracted = left_alone_ + session_.retracted();
  summary.seconds = session_.seconds();
  summary.wall_seconds = seconds_since(start_);
  summary.idle_seconds = runner_.idle_seconds() - idle_before_;
  return summary;
}

TuneSummary Tuning::finish() {
  const TuneSummary& summary = conclude();
  database_.end_run(run_id_, end_reason_, to_json(summary));
  return summary;
}

void Tuning::end_by(const Error& error) {
  end_reason_ = end_reason_of(error);
  const Json summary = to_json(conclude());
  for (const Json& kept : {summary, Json()}) {  // on a full disk the reason alone may still find room
    try {
      return database_.end_run(run_id_, end_reason_, kept);
    } catch (const Error&) {  // the first error is the one to tell
    }
  }
}

std::optional<std::string> Tuning::limit_reached() const {
  if (session_.should_stop()) return "interrupted";
  if (options_.limits.trials && session_.proposed() >= *options_.limits.trials) return "trials";
  if (search_end_ && Clock::now() >= *search_end_) return "time";
  return std::nullopt;
}

void Tuning::submit(std::vector<Proposal> batch) {
  for (const Proposal& proposal : batch) ++standings_[index_of(proposal)].under_way;
  session_.submit(std::move(batch));
}

void Tuning::collect() {
  for (const MeasuredProposal& measured : session_.collect()) {
    const size_t task = index_of(measured.proposal);
    --standings_[task].under_way;
    if (measured.outcome) searches_[task].note_trial(measured.proposal.config, *measured.outcome);
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

size_t Tuning::room_for(size_t task) const {
  int64_t room = options_.batch_size;
  if (options_.limits.trials) room = std::min(room, *options_.limits.trials - session_.proposed());
  const int64_t of_task = session_.proposed_of(tasks_[task].key);
  if (options_.limits.trials_per_task) room = std::min(room, *options_.limits.trials_per_task - of_task);
  return static_cast<size_t>(std::max<int64_t>(0, room));
}

void Tuning::close_if_done(size_t task) {
  if (!states_[task].empty()) return;
  const TaskSearch& search = searches_[task];
  const TuneLimits& limits = options_.limits;
  const bool is_under_way = standings_[task].under_way > 0;
  if (!is_under_way && limits.trials_per_task && session_.trials_of(tasks_[task].key) >= *limits.trials_per_task) {
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

std::string end_reason_of(const Error& error) {
  if (dynamic_cast<const Interrupted*>(&error) != nullptr) return "interrupted";
  const bool lacks = dynamic_cast<const EnvironmentError*>(&error) != nullptr;
  return fmt::format("{}: {}", lacks ? "environment" : "error", error.what());
}

TuneSummary tune(const std::vector<Task>& tasks, Runner& runner, CostModel& cost_model, Database& database,
                 const RunInfo& run, const TuneOptions& options, const ProgressCallback& progress) {
  Tuning tuning(tasks, runner, cost_model, database, run, options, progress);
  try {
    tuning.recall_known_records();
    tuning.measure_defaults();
    tuning.settle_contested();
    tuning.search();
    tuning.compare_finalists();
    return tuning.finish();
  } catch (const Error& error) {
    tuning.end_by(error);
    throw;
  }
}

}  // namespace warpwright
