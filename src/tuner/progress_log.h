// ProgressLog: the summary of a run as its trials end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/tuner/tuner.h"

namespace warpwright {

class ProgressLog {
 public:
  ProgressLog(const std::vector<Task>& tasks, const ProgressCallback& callback);

  void note_trial(const Task& task, const Config& config, bool is_default, const Outcome& outcome);
  /// The default of a task, measured again.
  void note_drift(const Task& task, double us);
  /// What the finalists came to: the best Config is the winner, or the default.
  void note_verdict(const Task& task, const Config& winner, double default_us, double best_us, const PairedGain& gain);
  /// A result of another run. `us` 0: failed for good.
  void note_known(const Task& task, const Config& config, bool is_default, double us);
  void set_state(const Task& task, const std::string& state);

  TuneSummary& summary() { return summary_; }

 private:
  TaskProgress& progress_of(const Task& task);

  TuneSummary summary_;
  std::map<std::string, size_t> index_by_key_;
  ProgressCallback callback_;
};

}  // namespace warpwright
