// What `tune` is about to do: which tasks on which devices, how large their spaces, how long it takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "database/database.h"
#include "measure/runner.h"
#include "src/core/json.h"
#include "src/tasks/tasks.h"
#include "src/tuner/tuner.h"

namespace warpwright {

/// Devices that are alike: one run, whose trials go to whichever is free. Unlike ones are tuned apart.
struct DeviceGroup {
  std::string record_name;  // as records have it
  Target target;
  bool is_card = false;
  std::vector<std::string> devices;  // as --device has them
};

/// Names that --device holds, with `cuda:all` as the cards that there are; `cuda:0` where none opens.
std::vector<std::string> device_names(const std::string& devices, const RunnerOptions& options);

/// `cuda:0,cuda:1`, `cuda:all`, `virtual:rtx4090,virtual:rtx3070`: groups in the order of their first device. Throws
/// UsageError for a device that is named twice, EnvironmentError for one that does not open.
std::vector<DeviceGroup> group_devices(const std::string& devices, const RunnerOptions& options);

/// Which of a model's tasks to tune; empty lists let all through.
struct TaskFilter {
  std::vector<std::string> tasks;      // keys, or their beginnings
  std::vector<std::string> operators;  // kinds: conv2d, dense
};
/// Throws UsageError when a name fits no task.
std::vector<Task> filter_tasks(std::vector<Task> tasks, const TaskFilter& filter);

/// Seconds that one trial takes, and whether they were measured here or stand in records of this device.
struct TrialCost {
  double compile_s = 0, measure_s = 0;
  std::string source;  // `of 212 records`, `of a first trial`
};
/// Of the records of these tasks on the device; else of one trial of the smallest task's default, which is not
/// recorded.
TrialCost trial_cost(const std::vector<Task>& tasks, const Database* database, Runner& runner);

struct PlannedTask {
  std::string key, workload, families;
  int weight = 1;
  int64_t points = 0;  // of its spaces, legal or not
  int64_t known = 0;   // records of this device
};
struct TunePlan {
  std::vector<PlannedTask> tasks;
  TrialCost cost;
  double seconds_a_trial = 0;             // of wall time, with all workers busy
  std::optional<int64_t> trials_in_time;  // nullopt: no time is given
  std::optional<double> seconds;          // that the trials asked for take, or the time given
};
TunePlan make_plan(const std::vector<Task>& tasks, const DeviceGroup& group, const TuneLimits& limits,
                   std::optional<int64_t> most_trials, int jobs, const Database* database, const TrialCost& cost);

/// The plan as lines for people.
std::vector<std::string> plan_lines(const TunePlan& plan, const DeviceGroup& group);
Json plan_json(const TunePlan& plan, const DeviceGroup& group);

}  // namespace warpwright
