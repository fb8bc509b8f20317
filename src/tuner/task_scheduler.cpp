// Gain by weight, time and recent progress.
#include "src/tuner/task_scheduler.h"

#include <algorithm>

namespace warpwright {
namespace {

constexpr size_t kWindow = 16;  // trials that count as recent
constexpr double kHope = 0.3;  // share of a time that all trials to come may save: the n-th is trusted with kHope / n²

double fallback_time(std::span<const TaskStanding> tasks) {
  double sum = 0;
  int64_t count = 0;
  for (const TaskStanding& task : tasks) {
    if (task.best_us <= 0) continue;
    sum += task.best_us;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 1;
}

/// Share of its time that a task lost per trial over the window.
double recent_gain(const std::vector<double>& best_after_trial) {
  if (best_after_trial.empty() || best_after_trial.back() <= 0) return 0;
  const size_t first = best_after_trial.size() > kWindow ? best_after_trial.size() - 1 - kWindow : 0;
  const double before = best_after_trial[first];
  if (before <= 0) return 0;
  return (before / best_after_trial.back() - 1) / static_cast<double>(kWindow);
}

}  // namespace

double expected_gain_us(const TaskStanding& task, double fallback_us) {
  const auto ended = static_cast<int64_t>(task.best_after_trial.size());
  const auto trials = static_cast<double>(std::max<int64_t>(1, ended + task.under_way));
  const double us = task.best_us > 0 ? task.best_us : fallback_us;
  // A task that keeps gaining goes on; one that stands still still gets its turn, ever more rarely.
  return task.weight * us * (recent_gain(task.best_after_trial) / 2 + kHope / (trials * trials));
}

std::optional<size_t> next_task(std::span<const TaskStanding> tasks) {
  const double fallback_us = fallback_time(tasks);
  std::optional<size_t> chosen;
  double most = 0;
  bool chosen_is_new = false;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].is_open) continue;
    const bool is_new = tasks[i].batches == 0;
    const double gain = expected_gain_us(tasks[i], fallback_us);
    if (!chosen || (is_new && !chosen_is_new) || (is_new == chosen_is_new && gain > most)) {
      chosen = i;
      most = gain;
      chosen_is_new = is_new;
    }
  }
  return chosen;
}

}  // namespace warpwright
