// TrialSession: has trials measured and commits each as it ends; replays what the run recorded in earlier sittings.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "database/database.h"
#include "measure/runner.h"
#include "src/tasks/tasks.h"

namespace warpwright {

/// A Config that a task wants measured.
struct Proposal {
  const Task* task = nullptr;
  Config config;
  bool is_default = false;
};

/// A trial that ended; no outcome: it was interrupted and is no trial.
struct MeasuredProposal {
  Proposal proposal;
  std::optional<Outcome> outcome;
};

class TrialSession {
 public:
  /// Called as each trial ends, in any order.
  using TrialEnded = std::function<void(const Proposal&, const Outcome&)>;

  /// Called with the time of what repeat() queued.
  using Repeated = std::function<void(const Proposal&, double us)>;

  TrialSession(Runner& runner, Database& database, const RunInfo& run, const std::atomic<bool>* stop, TrialEnded ended,
               Repeated repeated);
  ~TrialSession();
  TrialSession(const TrialSession&) = delete;
  TrialSession& operator=(const TrialSession&) = delete;

  /// Queues a batch and returns at once.
  void submit(std::vector<Proposal> batch);
  size_t batches_under_way() const { return batches_.size(); }
  /// Waits for the oldest batch: its trials in the order of its proposals. Throws EnvironmentError when trial after
  /// trial fails for reasons that are not the Configs'.
  std::vector<MeasuredProposal> collect();

  /// Queues a trial of this run once more, to see the card drift; its samples are recorded with it, and no trial
  /// counted.
  void repeat(const Proposal& proposal);
  /// Waits for what repeat() queued.
  void finish_repeats();
  /// Records samples of finalists beside the trials that the Configs came from.
  void record_final(const Proposal& proposal, const TrialResult& result);

  /// What earlier sittings recorded of a finalist: a time each round; empty when it was none.
  std::vector<double> recorded_final(const Proposal& proposal) const;

  /// Trials of the run so far, earlier sittings included.
  int64_t trials() const { return trials_; }
  /// Those and what is under way.
  int64_t proposed() const { return trials_ + waiting_; }
  /// The same of one Workload.
  int64_t trials_of(const std::string& workload_key) const;
  int64_t proposed_of(const std::string& workload_key) const;
  /// Trials measured in this sitting.
  int64_t measured() const { return measured_; }
  /// Whether the run recorded this Config in an earlier sitting.
  bool has_recorded(const std::string& workload_key, const std::string& config_json) const;
  /// Records of earlier sittings that the proposals no longer lead to, because the database has learnt from other runs
  /// since. They count as trials. Empties the list.
  std::vector<Record> take_stranded();

  /// Of the whole run, and of each Workload: what earlier sittings recorded may turn out to fill it when a batch is
  /// proposed already.
  void begin_no_more_than(std::optional<int64_t> trials, std::optional<int64_t> of_workload) {
    most_trials_ = trials;
    most_of_workload_ = of_workload;
  }
  /// Trials that have not begun by then are not made, and are none; what is under way ends.
  void begin_nothing_after(std::optional<std::chrono::steady_clock::time_point> deadline);
  /// Trials of this sitting that came to records which are retracted: they stay so, and are no trials.
  int64_t retracted() const { return retracted_; }

  bool should_stop() const { return stop_ != nullptr && stop_->load(); }
  /// Sums over what was measured in this sitting.
  const TrialSeconds& seconds() const { return seconds_; }

 private:
  struct Slot {
    Proposal proposal;
    int64_t trial_index = 0;
    std::optional<Outcome> outcome;
    int attempts = 0;
    bool is_open = false, is_repeat = false;
  };
  using Batch = std::deque<Slot>;  // slots stay where they are

  bool leads_on(const std::vector<Proposal>& batch) const;
  bool may_begin(const Proposal& proposal) const;
  void strand_the_rest();
  std::optional<Outcome> recall(const Proposal& proposal, int64_t trial_index);
  void start(Slot& slot);
  void wait_for_one();
  /// False when the trial is to be tried again.
  bool settle(Slot& slot, TrialResult result);
  void note_transient(const Outcome& outcome);
  bool is_late() const { return deadline_ && std::chrono::steady_clock::now() >= *deadline_; }
  /// False when the record is one that is retracted.
  bool commit(const Proposal& proposal, int64_t trial_index, const TrialResult& result, const std::string& objective);

  Runner* runner_;
  Database* database_;
  int64_t run_id_;
  const std::atomic<bool>* stop_;
  TrialEnded ended_;
  Repeated repeated_;
  std::map<int64_t, Record> recorded_;  // of earlier sittings, not replayed yet, by trial index
  std::map<std::pair<std::string, std::string>, int64_t> index_of_;  // of what the run recorded, by Workload and Config
  std::map<std::pair<std::string, std::string>, std::vector<double>> finals_;  // the latest of each
  std::vector<Record> stranded_;
  std::deque<Batch> batches_;
  Batch repeats_;
  std::map<uint64_t, Slot*> open_;  // by ticket
  uint64_t tickets_ = 0;
  int64_t next_index_ = 0, trials_ = 0, waiting_ = 0, measured_ = 0;
  int64_t retracted_ = 0;
  std::optional<int64_t> most_trials_, most_of_workload_;
  struct Count {
    int64_t trials = 0, waiting = 0;
  };
  std::map<std::string, Count> counts_;  // by Workload
  int transient_in_a_row_ = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  TrialSeconds seconds_;
};

}  // namespace warpwright
