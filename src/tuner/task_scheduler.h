// TaskScheduler: which task gets the next batch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace warpwright {

/// What the scheduler sees of a task.
struct TaskStanding {
  bool is_open = true;  // something is left to try
  int weight = 1;
  int64_t batches = 0;                   // given so far, the default not counted
  int64_t under_way = 0;                 // trials
  double best_us = 0;                    // 0: nothing ran yet
  std::vector<double> best_after_trial;  // of this run
};

/// Microseconds of the whole network that one more trial is expected to save. `fallback_us` stands for a task of which
/// nothing ran yet.
double expected_gain_us(const TaskStanding& task, double fallback_us);

/// Every open task once, the heaviest first; then the one with the largest expected gain. Ties go to the first.
/// nullopt when no task is open.
std::optional<size_t> next_task(std::span<const TaskStanding> tasks);

}  // namespace warpwright
