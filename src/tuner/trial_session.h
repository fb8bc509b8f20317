// TrialSession: has trials measured and commits each as it ends; replays what the run recorded in earlier sittings.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
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

class TrialSession {
 public:
  /// Called as each trial ends, in any order.
  using TrialEnded = std::function<void(const Proposal&, const Outcome&)>;

  TrialSession(Runner& runner, Database& database, const RunInfo& run, const std::atomic<bool>* stop, TrialEnded ended);

  /// Outcomes in the order of the proposals; nullopt for what was interrupted and is no trial. Throws EnvironmentError
  /// when trial after trial fails for reasons that are not the Configs'.
  std::vector<std::optional<Outcome>> measure(const std::vector<Proposal>& batch);

  /// Trials of the run so far, earlier sittings included.
  int64_t trials() const { return trials_; }
  /// Whether the run recorded this Config in an earlier sitting.
  bool has_recorded(const std::string& workload_key, const std::string& config_json) const;
  /// Records of earlier sittings that the proposals no longer lead to, because the database has learnt from other runs
  /// since. They count as trials. Empties the list.
  std::vector<Record> take_stranded();

  bool should_stop() const { return stop_ != nullptr && stop_->load(); }
  /// Sums over what was measured in this sitting.
  const TrialSeconds& seconds() const { return seconds_; }
  /// Wall time of this sitting spent in the runner.
  double runner_seconds() const { return runner_seconds_; }

 private:
  struct Slot {
    const Proposal* proposal = nullptr;
    int64_t trial_index = 0;
    std::optional<Outcome> outcome;
  };

  bool leads_on(const std::vector<Proposal>& batch) const;
  void strand_the_rest();
  std::optional<Outcome> recall(const Proposal& proposal, int64_t trial_index);
  void run(const std::vector<Slot*>& open);
  /// False when the trial is to be tried again.
  bool settle(Slot& slot, TrialResult result, bool is_last_attempt);
  void commit(const Slot& slot, const TrialResult& result);

  Runner* runner_;
  Database* database_;
  int64_t run_id_;
  const std::atomic<bool>* stop_;
  TrialEnded ended_;
  std::map<int64_t, Record> recorded_;  // of earlier sittings, not replayed yet, by trial index
  std::set<std::pair<std::string, std::string>> recorded_keys_;
  std::vector<Record> stranded_;
  int64_t next_index_ = 0, trials_ = 0;
  int transient_in_a_row_ = 0;
  TrialSeconds seconds_;
  double runner_seconds_ = 0;
};

}  // namespace warpwright
