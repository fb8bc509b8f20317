// Counts and bests by task, in the order in which trials end.
#include "src/tuner/progress_log.h"

#include <algorithm>

namespace warpwright {
namespace {

void note_time(TaskProgress& progress, const Config& config, bool is_default, double us, double spread) {
  if (is_default) {
    progress.default_us = us;
    progress.default_spread = spread;
  }
  if (progress.best_us == 0 || us < progress.best_us) {
    progress.best_us = us;
    progress.best_spread = spread;
    progress.best = config;
  }
}

double spread_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t quarter = samples.size() / 4;
  return (samples[samples.size() - 1 - quarter] - samples[quarter]) / 2 / median(samples);
}

}  // namespace

ProgressLog::ProgressLog(const std::vector<Task>& tasks, const ProgressCallback& callback) : callback_(callback) {
  for (const Task& task : tasks) {
    index_by_key_.emplace(task.key, summary_.tasks.size());
    TaskProgress progress;
    progress.task_key = task.key;
    progress.weight = task.weight;
    progress.state = "searching";
    summary_.tasks.push_back(std::move(progress));
  }
}

TaskProgress& ProgressLog::progress_of(const Task& task) { return summary_.tasks[index_by_key_.at(task.key)]; }

void ProgressLog::note_trial(const Task& task, const Config& config, bool is_default, const Outcome& outcome) {
  TaskProgress& progress = progress_of(task);
  ++progress.trials;
  ++summary_.trials;
  if (outcome.ok()) {
    ++progress.ok;
    note_time(progress, config, is_default, outcome.median_us(), spread_of(outcome.samples_us));
  } else {
    ++progress.failures[std::string(name(outcome.kind))];
  }
  if (callback_) callback_(summary_);
}

void ProgressLog::note_known(const Task& task, const Config& config, bool is_default, double us) {
  if (us > 0) note_time(progress_of(task), config, is_default, us, 0);
}

void ProgressLog::note_drift(const Task& task, double us) {
  TaskProgress& progress = progress_of(task);
  if (progress.default_us > 0) progress.drift = us / progress.default_us - 1;
}

void ProgressLog::note_verdict(const Task& task, const Config& winner, double default_us, double best_us,
                               const PairedGain& gain) {
  TaskProgress& progress = progress_of(task);
  progress.best = winner;
  progress.default_us = default_us;
  progress.best_us = best_us;
  progress.gain = gain;
}

void ProgressLog::set_state(const Task& task, const std::string& state) { progress_of(task).state = state; }

}  // namespace warpwright
