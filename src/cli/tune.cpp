// warpwright tune: measures kernels for the tasks of a model and records them. The loop is in src/tuner.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "search_space/kernel_family.h"
#include "src/cli/arguments.h"
#include "src/cli/model.h"
#include "src/cli/progress.h"
#include "src/cli/signals.h"
#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/tuner/tuner.h"

namespace warpwright {
namespace {

struct Options {
  std::string model, device = "auto", nvrtc;
  std::optional<std::string> time;
  std::vector<std::string> databases, shapes;
  int64_t trials = 0, more = 0, trials_per_task = 0;
  int patience = 64, jobs = 0;
  uint64_t seed = 1;
  bool json = false;
};

Json shapes_json(const Program& program) {
  Json shapes = Json::object();
  for (const ProgramPort& port : program.inputs) shapes[port.name] = port.shape;
  return shapes;
}

/// What the run is known by, beside model, device and seed.
Json limits_json(const TuneLimits& limits, const Program& program) {
  return {{"shapes", shapes_json(program)},
          {"trials", limits.trials ? Json(*limits.trials) : Json()},
          {"trials_per_task", limits.trials_per_task ? Json(*limits.trials_per_task) : Json()},
          {"seconds", limits.seconds ? Json(*limits.seconds) : Json()},
          {"patience", limits.patience ? Json(*limits.patience) : Json()}};
}

TuneLimits limits_of(const Options& options) {
  TuneLimits limits;
  if (options.trials > 0) limits.trials = options.trials;
  if (options.trials_per_task > 0) limits.trials_per_task = options.trials_per_task;
  if (options.time) limits.seconds = parse_duration(*options.time);
  limits.patience = options.patience > 0 ? std::optional<int>(options.patience) : std::nullopt;
  return limits;
}

/// The run to go on with: the latest of this model, its shapes, device and seed.
RunInfo latest_run(const Database& database, const RunKey& wanted) {
  std::optional<RunInfo> latest;
  for (const RunInfo& run : database.runs()) {
    const bool same = run.id != 0 && run.key.model_digest == wanted.model_digest &&
                      run.key.device_name == wanted.device_name && run.key.seed == wanted.seed &&
                      run.key.limits.value("shapes", Json()) == wanted.limits.at("shapes");
    if (same && (!latest || run.id > latest->id)) latest = run;
  }
  if (!latest) throw UsageError("--more adds to a run, and there is none of this model, device and seed yet");
  return *latest;
}

/// Trials of the whole run at most, where a limit says so.
std::optional<int64_t> most_trials(const TuneLimits& limits, size_t tasks) {
  std::optional<int64_t> most = limits.trials;
  if (limits.trials_per_task) {
    const int64_t all = *limits.trials_per_task * static_cast<int64_t>(tasks);
    most = std::min(most.value_or(all), all);
  }
  return most;
}

std::string trials_text(int64_t done, std::optional<int64_t> most) {
  return most ? fmt::format("{} of {} trials", done, *most) : fmt::format("{} trials", done);
}

/// One line on where the search stands, with the time left.
class TuneProgress {
 public:
  TuneProgress(const RunInfo& run, std::optional<int64_t> most, std::optional<double> seconds)
      : run_(run), most_(most), seconds_(seconds) {}

  void show(const TuneSummary& summary) {
    const double elapsed = progress_.elapsed_s();
    const int64_t here = summary.trials - run_.trials_done;
    int64_t ok = 0, failed = 0;
    size_t searching = 0;
    for (const TaskProgress& task : summary.tasks) {
      ok += task.ok;
      for (const auto& [outcome, count] : task.failures) failed += count;
      searching += task.state == "searching";
    }
    progress_.show(fmt::format("run {}: {}, {} ok, {} failed, {} of {} tasks open, {} elapsed, {}", run_.id,
                               trials_text(summary.trials, most_), ok, failed, searching, summary.tasks.size(),
                               clock_text(elapsed), left_text(summary.trials, here, elapsed)));
  }

 private:
  std::string left_text(int64_t done, int64_t here, double elapsed) const {
    std::optional<double> left;
    if (most_ && here > 0) left = elapsed / static_cast<double>(here) * static_cast<double>(*most_ - done);
    if (seconds_) left = std::min(left.value_or(*seconds_), *seconds_ - elapsed);
    return left ? "at most " + clock_text(*left) + " left" : "time left unknown";
  }

  Progress progress_;
  const RunInfo& run_;
  std::optional<int64_t> most_;
  std::optional<double> seconds_;
};

std::string failures_text(const std::map<std::string, int64_t>& failures) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : failures) parts.push_back(fmt::format("{} {}", count, outcome));
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

Json summary_json(const TuneSummary& summary, const RunInfo& run, const std::vector<Task>& tasks) {
  Json list = Json::array();
  for (size_t i = 0; i < summary.tasks.size(); ++i) {
    const TaskProgress& task = summary.tasks[i];
    list.push_back({{"key", task.task_key},
                    {"workload", tasks[i].workload.summary()},
                    {"weight", task.weight},
                    {"trials", task.trials},
                    {"ok", task.ok},
                    {"failures", task.failures},
                    {"default_us", task.default_us},
                    {"best_us", task.best_us},
                    {"best", task.best_us > 0 ? to_json(task.best) : Json()},
                    {"state", task.state}});
  }
  return {{"schema", "warpwright.tune/1"},
          {"run", run.id},
          {"trials", summary.trials},
          {"end_reason", summary.end_reason},
          {"tasks", list},
          {"seconds",
           {{"compile", summary.seconds.compile},
            {"verify", summary.seconds.verify},
            {"run", summary.seconds.run},
            {"own", summary.own_seconds}}}};
}

void print_summary(const TuneSummary& summary, const RunInfo& run, const std::vector<Task>& tasks, bool estimate) {
  Table table({"task", "workload", ">weight", ">trials", estimate ? ">default est. us" : ">default us",
               estimate ? ">best est. us" : ">best us", ">gain", "failures", "state"});
  double default_us = 0, best_us = 0;
  bool complete = true;
  for (size_t i = 0; i < summary.tasks.size(); ++i) {
    const TaskProgress& task = summary.tasks[i];
    table.add({task.task_key.substr(0, 15), tasks[i].workload.summary(), std::to_string(task.weight),
               std::to_string(task.trials), us_text(task.default_us), us_text(task.best_us),
               gain_text(task.default_us, task.best_us), failures_text(task.failures), task.state});
    complete = complete && task.default_us > 0 && task.best_us > 0;
    default_us += task.weight * task.default_us;
    best_us += task.weight * task.best_us;
  }
  table.print();
  if (complete) {
    fmt::print("sum of the tasks by weight: default {:.2f} us, best {:.2f} us, gain {}\n", default_us, best_us,
               gain_text(default_us, best_us));
  }
  fmt::print("run {}: {} trials, ended: {}; compile {:.1f} s, verify {:.1f} s, run {:.1f} s, own {:.1f} s\n", run.id,
             summary.trials, summary.end_reason, summary.seconds.compile, summary.seconds.verify, summary.seconds.run,
             summary.own_seconds);
}

void print_plan(const std::vector<Task>& tasks, const Target& target) {
  int64_t points = 0;
  for (const Task& task : tasks) {
    for (const KernelFamily* family : families_for(task.workload, target)) {
      points += family->space(task.workload, target).point_count();
    }
  }
  log_info("plan: {} tasks, {} points in their spaces; the default of each first", tasks.size(), points);
}

void check_options(const Options& options) {
  if (options.more > 0 && options.trials + options.trials_per_task > 0) {
    throw UsageError("--more adds to the trials of a run; --trials and --trials-per-task name a run");
  }
  const Paths databases(options.databases.begin(), options.databases.end());
  refuse_overwrite(databases.front(), {options.model});
  for (size_t i = 1; i < databases.size(); ++i) refuse_overwrite(databases.front(), {databases[i]});
  if (!std::filesystem::exists(databases.front())) check_can_write(databases.front());
}

/// No record says that the default of a task works, nor any other Config.
bool has_valid_trial(const TuneSummary& summary) {
  for (const TaskProgress& task : summary.tasks) {
    if (task.ok > 0) return true;
  }
  return false;
}

int tune_model(const Options& options) {
  check_options(options);
  const Model model = read_model(options.model, parse_shapes(options.shapes));
  const std::vector<Task> tasks = extract_tasks(model.program);
  TuneOptions tuning;
  tuning.limits = limits_of(options);
  tuning.seed = options.seed;
  StopSignals signals;
  tuning.stop = signals.flag();
  RunnerOptions running;
  running.device = options.device;
  running.nvrtc_path = options.nvrtc;
  running.jobs = options.jobs;
  running.seed = options.seed;
  running.stop = signals.flag();
  const auto runner = open_worker_runner(running);
  for (const Task& task : tasks) {
    // Refused before the night, not in it.
    if (families_for(task.workload, runner->target()).empty()) {
      throw UsageError(why_unsupported(task.workload, runner->target()));
    }
  }
  const auto database = open_databases(Paths(options.databases.begin(), options.databases.end()), OpenMode::read_write);
  RunKey run_key{model.digest, runner->device_name(), options.seed, limits_json(tuning.limits, model.program)};
  if (options.more > 0) {
    const RunInfo latest = latest_run(*database, run_key);
    run_key = latest.key;
    tuning.limits.trials = latest.trials_done + options.more;
  }
  const RunInfo run = database->begin_run(run_key, model.name);
  const std::optional<int64_t> most = most_trials(tuning.limits, tasks.size());
  log_info("run {}: {}, {} on {}, seed {}", run.id, trials_text(run.trials_done, most), model.name, run_key.device_name,
           run_key.seed);
  if (most && run.trials_done >= *most) log_info("run {} is complete; --more N adds trials", run.id);
  print_plan(tasks, runner->target());
  const auto cost_model = make_xgboost_cost_model(options.seed);
  TuneSummary summary;
  {
    TuneProgress progress(run, most, tuning.limits.seconds);
    summary =
        tune(tasks, *runner, *cost_model, *database, run, tuning, [&](const TuneSummary& now) { progress.show(now); });
  }
  database->close();
  if (options.json) {
    fmt::print("{}\n", json_document(summary_json(summary, run, tasks)));
  } else {
    print_summary(summary, run, tasks, options.device.starts_with("virtual:"));
  }
  if (const int status = signals.exit_status(); status != 0) return status;
  if (has_valid_trial(summary)) return kDone;
  log_warning("no trial was valid: `db list --outcome ...` shows the failures");
  return kAnswerIsNo;
}

}  // namespace

VerbBody tune_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the ONNX model")->required();
  app.add_option("--db", options->databases, "the database to record in, made if missing; further ones are only read")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--device", options->device, "virtual:rtx4090, cuda:0, auto")->capture_default_str();
  app.add_option("--trials", options->trials, "trials of the whole run, defaults included")->check(count_from(1));
  app.add_option("--more", options->more, "so many trials more than the run has")->check(count_from(1));
  app.add_option("--trials-per-task", options->trials_per_task, "trials of each task, its default included")
      ->check(count_from(1));
  app.add_option("--time", options->time, "stop after this time: 8h, 30m, 90s");
  app.add_option("--patience", options->patience, "trials of a task without gain before it is left; 0: never")
      ->capture_default_str()
      ->check(count_from(0));
  app.add_option("--seed", options->seed, "of the proposals and the inputs")
      ->capture_default_str()
      ->check(whole_number());
  app.add_option("--jobs", options->jobs, "worker processes (default: one a core)")->check(count_from(0, kMostJobs));
  app.add_option("--nvrtc", options->nvrtc, "path of libnvrtc");
  app.add_option("--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224")->allow_extra_args(false);
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return tune_model(*options); };
}

}  // namespace warpwright
