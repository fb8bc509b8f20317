// Small tasks and a run over them.
#include "tests/night/night.h"

namespace warpwright {
namespace {

Task task_of(const Workload& workload) {
  Task task;
  task.workload = workload;
  check(workload);
  task.key = key(workload);
  return task;
}

}  // namespace

std::vector<Task> small_tasks() {
  std::vector<Task> tasks;
  for (const int64_t channels : {16, 32, 48, 64}) {
    Workload dense;
    dense.kind = OpKind::dense;
    dense.inputs = {nhwc_form(DType::s8, 8, 1, 1, 32)};
    dense.output = nhwc_form(DType::s8, 8, 1, 1, channels);
    tasks.push_back(task_of(dense));
    Workload conv;
    conv.kind = OpKind::conv2d;
    conv.inputs = {nhwc_form(DType::s8, 1, 4, 4, 16)};
    conv.output = nhwc_form(DType::s8, 1, 4, 4, channels);
    conv.window = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    tasks.push_back(task_of(conv));
  }
  return tasks;
}

TuneSummary run_night(const NightOptions& options, const ProgressCallback& progress) {
  const std::vector<Task> tasks = small_tasks();
  RunnerOptions running;
  running.devices = {options.device};
  running.worker_program = options.worker;
  running.jobs = options.jobs;
  running.compile_timeout_s = options.compile_timeout_s;
  running.run_timeout_s = options.run_timeout_s;
  const auto runner = open_worker_runner(running);
  const auto database = open_database(options.database, OpenMode::read_write);
  const auto model = make_xgboost_cost_model(options.seed);
  const RunInfo run =
      database->begin_run({"night", runner->device_name(), options.seed, Json{{"trials", options.trials}}}, "night");
  TuneOptions tuning;
  tuning.limits = {options.trials, std::nullopt, std::nullopt, std::nullopt};
  tuning.seed = options.seed;
  tuning.strategy = options.strategy;
  TuneSummary summary = tune(tasks, *runner, *model, *database, run, tuning, progress);
  database->close();
  return summary;
}

}  // namespace warpwright
