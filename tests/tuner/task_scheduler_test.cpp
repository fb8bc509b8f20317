// Which task is next.
#include "src/tuner/task_scheduler.h"

#include <gtest/gtest.h>

namespace warpwright {
namespace {

TaskStanding standing(int weight, double us, std::vector<double> history, int64_t batches = 1) {
  TaskStanding task;
  task.weight = weight;
  task.best_us = us;
  task.batches = batches;
  task.best_after_trial = std::move(history);
  return task;
}

TEST(TaskScheduler, EveryTaskGetsABatchFirstTheHeaviestAtOnce) {
  std::vector<TaskStanding> tasks = {standing(1, 1000, {2000, 1000}), standing(1, 1, {1}, 0), standing(9, 1, {1}, 0)};
  EXPECT_EQ(next_task(tasks), 2u);
  tasks[2].batches = 1;
  EXPECT_EQ(next_task(tasks), 1u);
  tasks[1].batches = 1;
  EXPECT_EQ(next_task(tasks), 0u);
}

TEST(TaskScheduler, WeightAndTimeCount) {
  EXPECT_EQ(next_task(std::vector{standing(1, 10, {10}), standing(2, 10, {10})}), 1u);
  EXPECT_EQ(next_task(std::vector{standing(1, 30, {30}), standing(2, 10, {10})}), 0u);
}

TEST(TaskScheduler, AGainingTaskGoesBeforeOneThatStandsStill) {
  const std::vector<double> still(32, 10);
  std::vector<double> gaining = still;
  for (size_t i = 0; i < 16; ++i) gaining[i] = 20;
  EXPECT_EQ(next_task(std::vector{standing(1, 10, still), standing(1, 10, gaining)}), 1u);
}

TEST(TaskScheduler, ClosedTasksAreLeft) {
  std::vector<TaskStanding> tasks = {standing(9, 10, {10}), standing(1, 10, {10})};
  tasks[0].is_open = false;
  EXPECT_EQ(next_task(tasks), 1u);
  tasks[1].is_open = false;
  EXPECT_EQ(next_task(tasks), std::nullopt);
  EXPECT_EQ(next_task({}), std::nullopt);
}

TEST(TaskScheduler, ATaskWithoutATimeCountsAsAnAverageOne) {
  EXPECT_EQ(next_task(std::vector{standing(1, 10, {10}), standing(2, 0, {0}), standing(1, 12, {12})}), 1u);
}

}  // namespace
}  // namespace warpwright
