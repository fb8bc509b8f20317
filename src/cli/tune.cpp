// warpwright tune: measures kernels for the tasks of a model and records them. The loop is in src/tuner.
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <thread>

#include "cost_model/default_config.h"
#include "src/cli/arguments.h"
#include "src/cli/checks.h"
#include "src/cli/model.h"
#include "src/cli/signals.h"
#include "src/cli/tune_plan.h"
#include "src/cli/tune_report.h"
#include "src/cli/verb.h"
#include "src/compile/best_history.h"
#include "src/core/core_count.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/core/named_lock.h"
#include "src/tasks/task_list.h"
#include "src/tuner/tuner.h"

namespace warpwright {
namespace {

struct Options {
  std::string model, device = "auto", nvrtc, tasks_from, arguments;
  std::optional<std::string> time, until;
  std::vector<std::string> databases, shapes;
  TaskFilter filter;
  int64_t trials = 0, more = 0, trials_per_task = 0;
  int patience = 64, jobs = 0;
  uint64_t seed = 1;
  bool only_misses = false, dry_run = false, json = false, skip_unsupported = false;
};

/// What is tuned: a model's tasks, or those of a list.
struct Subject {
  std::string name, digest;
  Json shapes;  // that inputs are bound to
  std::vector<Task> tasks;
};

Json shapes_json(const Program& program) {
  Json shapes = Json::object();
  for (const ProgramPort& port : program.inputs) shapes[port.name] = port.shape;
  return shapes;
}

Subject read_subject(const Options& options) {
  Subject subject;
  std::vector<ListedTask> listed;
  if (!options.tasks_from.empty()) listed = read_task_list(options.tasks_from);
  if (options.model.empty()) {
    if (options.tasks_from.empty()) throw UsageError("name a model, or a list of tasks with --tasks-from");
    subject.name = std::filesystem::path(options.tasks_from).filename().string();
    subject.digest = sha256_hex(read_file(options.tasks_from));
    for (ListedTask& each : listed) subject.tasks.push_back(std::move(each.task));
  } else {
    const Model model = read_model(options.model, parse_shapes(options.shapes),
                                   options.skip_unsupported ? Unsupported::skipped : Unsupported::refused);
    warn_of_left_out(model);
    subject.name = model.name;
    subject.digest = model.digest;
    subject.shapes = shapes_json(model.program);
    subject.tasks = extract_tasks(model.program);
    if (!options.tasks_from.empty()) {
      std::erase_if(subject.tasks, [&](const Task& task) {
        return std::none_of(listed.begin(), listed.end(),
                            [&](const ListedTask& each) { return each.task.key == task.key; });
      });
      log_info("{} of the {} tasks of {} are in {}", subject.tasks.size(), listed.size(), options.tasks_from,
               options.model);
    }
  }
  if (!options.tasks_from.empty() && subject.tasks.empty()) {
    throw UsageError(fmt::format("--tasks-from {}: names no task {}", options.tasks_from,
                                 options.model.empty() ? "at all" : "of this model"));
  }
  subject.tasks = filter_tasks(std::move(subject.tasks), options.filter);
  return subject;
}

TuneLimits limits_of(const Options& options) {
  TuneLimits limits;
  if (options.trials > 0) limits.trials = options.trials;
  if (options.trials_per_task > 0) limits.trials_per_task = options.trials_per_task;
  if (options.time) limits.seconds = parse_duration(*options.time);
  if (options.until) limits.seconds = std::min(limits.seconds.value_or(1e9), seconds_until(*options.until));
  limits.patience = options.patience > 0 ? std::optional<int>(options.patience) : std::nullopt;
  return limits;
}

/// What the run is known by, beside model, device and seed.
Json limits_json(const TuneLimits& limits, const Options& options, const Subject& subject) {
  Json json{{"shapes", subject.shapes},
            {"trials", limits.trials ? Json(*limits.trials) : Json()},
            {"trials_per_task", limits.trials_per_task ? Json(*limits.trials_per_task) : Json()},
            {"seconds", options.time ? Json(parse_duration(*options.time)) : Json()},
            {"patience", limits.patience ? Json(*limits.patience) : Json()}};
  if (options.until) json["until"] = *options.until;
  if (!options.filter.tasks.empty()) json["task"] = options.filter.tasks;
  if (!options.filter.operators.empty()) json["op"] = options.filter.operators;
  if (options.only_misses) json["only_misses"] = true;
  if (options.skip_unsupported) json["skip_unsupported"] = true;
  if (!options.model.empty() && !options.tasks_from.empty())
    json["tasks_from"] = sha256_hex(read_file(options.tasks_from));
  return json;
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

/// Tasks without a record that a build for this device takes as exact.
std::vector<Task> misses_of(const std::vector<Task>& tasks, const Database& database, const DeviceGroup& group) {
  const BuildTarget target{group.target, !group.is_card};
  const BestHistory history(&database, target, EvidencePolicy::prefer);
  std::vector<Task> misses;
  for (const Task& task : tasks) {
    if (!is_hit(history.choose(task), Rung::exact, target, EvidencePolicy::prefer)) misses.push_back(task);
  }
  return misses;
}

/// One run: the tasks on devices that are alike. Several run at a time, each with a database connection of its own.
class TuneLane {
 public:
  TuneLane(const Options& options, const Subject& subject, DeviceGroup group, int jobs, StopSignals& signals);

  /// Opens, plans, and with `dry_run` ends there.
  void prepare();
  void run();
  void print() const;
  Json json() const { return options_.dry_run ? plan_json(plan_, group_) : summary_json(*summary_, *run_, tasks_); }

  const DeviceGroup& group() const { return group_; }
  const TunePlan& plan() const { return plan_; }
  bool has_valid_trial() const;
  std::exception_ptr failure;

 private:
  void open_database_of_run();
  void begin_run();
  Paths databases() const { return {options_.databases.begin(), options_.databases.end()}; }

  const Options& options_;
  const Subject& subject_;
  const DeviceGroup group_;
  const int jobs_;
  StopSignals& signals_;
  TuneLimits limits_;
  std::vector<Task> tasks_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<NamedLock> lock_;  // on the run
  TunePlan plan_;
  RunKey run_key_;
  std::optional<RunInfo> run_;
  std::optional<int64_t> most_;
  std::optional<TuneSummary> summary_;
};

TuneLane::TuneLane(const Options& options, const Subject& subject, DeviceGroup group, int jobs, StopSignals& signals)
    : options_(options),
      subject_(subject),
      group_(std::move(group)),
      jobs_(jobs),
      signals_(signals),
      limits_(limits_of(options)) {}

void TuneLane::open_database_of_run() {
  if (options_.dry_run && !std::filesystem::exists(databases().front())) return;
  database_ = open_databases(databases(), options_.dry_run ? OpenMode::read_only : OpenMode::read_write);
}

void TuneLane::prepare() {
  for (const Task& task : subject_.tasks) default_config(task.workload, group_.target);  // refused before the night
  open_database_of_run();
  tasks_ = subject_.tasks;
  if (options_.only_misses && database_) tasks_ = misses_of(tasks_, *database_, group_);
  run_key_ = {subject_.digest, group_.record_name, options_.seed, limits_json(limits_, options_, subject_)};
  if (!options_.dry_run) begin_run();
  RunnerOptions running;
  running.devices = group_.devices;
  running.nvrtc_path = options_.nvrtc;
  running.jobs = jobs_;
  running.seed = options_.seed;
  running.stop = signals_.flag();
  runner_ = open_worker_runner(running);
  if (tasks_.empty()) return;
  const TrialCost cost = trial_cost(tasks_, database_.get(), *runner_);
  plan_ = make_plan(tasks_, group_, limits_, most_, jobs_, database_.get(), cost);
}

/// Takes the run for this process alone: two that made the same one would measure everything twice.
void TuneLane::begin_run() {
  if (options_.more > 0) {
    const RunInfo latest = latest_run(*database_, run_key_);
    run_key_ = latest.key;
    limits_.trials = latest.trials_done + options_.more;
  }
  most_ = most_trials(limits_, tasks_.size());
  const std::string identity = std::filesystem::weakly_canonical(databases().front()).string() + run_key_.model_digest +
                               run_key_.device_name + std::to_string(run_key_.seed) + run_key_.limits.dump();
  lock_ = std::make_unique<NamedLock>("run-" + key_hex(identity));
  if (!lock_->try_lock()) {
    throw UsageError(
        fmt::format("another process is making this run in {} already; wait for its end, or give another "
                    "--seed or other limits",
                    databases().front().string()));
  }
  run_ = database_->begin_run(run_key_, subject_.name, options_.arguments);
}

void TuneLane::run() {
  const auto cost_model = make_xgboost_cost_model(options_.seed);
  TuneOptions tuning;
  tuning.limits = limits_;
  tuning.seed = options_.seed;
  tuning.stop = signals_.flag();
  log_info("run {}: {}, {} on {}, seed {}", run_->id, trials_text(run_->trials_done, most_), subject_.name,
           run_key_.device_name, run_key_.seed);
  if (most_ && run_->trials_done >= *most_) log_info("run {} is complete; --more N adds trials", run_->id);
  TuneProgress progress(*run_, most_, limits_.seconds);
  summary_ = tune(tasks_, *runner_, *cost_model, *database_, *run_, tuning,
                  [&](const TuneSummary& now) { progress.show(now); });
  runner_.reset();
  database_->close();
  lock_.reset();
}

void TuneLane::print() const { print_summary(*summary_, *run_, tasks_, !group_.is_card, limits_.seconds); }

/// No record says that the default of a task works, nor any other Config.
bool TuneLane::has_valid_trial() const {
  if (!summary_) return false;
  for (const TaskProgress& task : summary_->tasks) {
    if (task.ok > 0) return true;
  }
  return tasks_.empty();  // nothing was missing
}

void check_options(const Options& options) {
  limits_of(options);  // throws for what is no time
  if (options.more > 0 && options.trials + options.trials_per_task > 0) {
    throw UsageError("--more adds to the trials of a run; --trials and --trials-per-task name a run");
  }
  const Paths databases(options.databases.begin(), options.databases.end());
  for (const std::string& input : {options.model, options.tasks_from}) {
    if (!input.empty()) refuse_overwrite(databases.front(), {input});
  }
  for (size_t i = 1; i < databases.size(); ++i) refuse_overwrite(databases.front(), {databases[i]});
  if (!options.dry_run && !std::filesystem::exists(databases.front())) check_can_write(databases.front());
  // Refused before anything else is done; the first one is made later, when nothing stands against it.
  for (const std::filesystem::path& path : databases) {
    const bool is_first = &path == &databases.front();
    if (is_first && !path.empty() && !std::filesystem::exists(path)) continue;
    open_database(path, is_first && !options.dry_run ? OpenMode::read_write : OpenMode::read_only)->close();
  }
}

std::vector<std::unique_ptr<TuneLane>> open_lanes(const Options& options, const Subject& subject,
                                                  StopSignals& signals) {
  RunnerOptions running;
  running.nvrtc_path = options.nvrtc;
  running.stop = signals.flag();
  std::vector<DeviceGroup> groups = group_devices(options.device, running);
  CheckOptions checking{
      {}, options.nvrtc, options.databases.front(), options.dry_run, largest_task_bytes(subject.tasks), signals.flag()};
  for (const DeviceGroup& group : groups) {
    checking.devices.insert(checking.devices.end(), group.devices.begin(), group.devices.end());
  }
  require_checks(checking);
  const int cores = core_count();
  const int jobs = options.jobs > 0 ? options.jobs : cores;
  const int jobs_each = std::max(1, jobs / static_cast<int>(groups.size()));
  std::vector<std::unique_ptr<TuneLane>> lanes;
  for (DeviceGroup& group : groups) {
    lanes.push_back(std::make_unique<TuneLane>(options, subject, std::move(group), jobs_each, signals));
  }
  for (const auto& lane : lanes) lane->prepare();
  return lanes;
}

/// All at once, each until its own end: one that breaks off does not end the others.
void run_lanes(std::vector<std::unique_ptr<TuneLane>>& lanes) {
  std::vector<std::jthread> threads;
  for (const auto& lane : lanes) {
    threads.emplace_back([&lane] {
      try {
        lane->run();
      } catch (...) {
        lane->failure = std::current_exception();
      }
    });
  }
}

int tune_model(const Options& options) {
  check_options(options);
  const Subject subject = read_subject(options);
  StopSignals signals;
  auto lanes = open_lanes(options, subject, signals);
  for (const auto& lane : lanes) {
    for (const std::string& line : plan_lines(lane->plan(), lane->group())) {
      if (!options.dry_run) log_info("plan: {}", line);
      if (options.dry_run && !options.json) fmt::print("{}\n", line);
    }
  }
  if (!options.dry_run) run_lanes(lanes);
  Json runs = Json::array();
  bool has_valid_trial = true;
  std::exception_ptr failure;
  for (const auto& lane : lanes) {
    if (lane->failure) {
      failure = lane->failure;
      continue;
    }
    runs.push_back(lane->json());
    if (options.dry_run) continue;
    has_valid_trial = has_valid_trial && lane->has_valid_trial();
    if (!options.json) lane->print();
  }
  if (options.json && !runs.empty()) {
    Json document = runs.size() == 1 && !options.dry_run ? runs[0] : Json{{"runs", runs}};
    document["schema"] = options.dry_run ? "warpwright.tune-plan/1" : "warpwright.tune/1";
    fmt::print("{}\n", json_document(document));
  }
  if (failure) std::rethrow_exception(failure);
  if (const int status = signals.exit_status(); status != 0) return status;
  if (has_valid_trial) return kDone;
  log_warning("no trial was valid: `db list --outcome ...` shows the failures");
  return kAnswerIsNo;
}

}  // namespace

VerbBody tune_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the ONNX model; not needed with --tasks-from");
  app.add_option("--db", options->databases, "the database to record in, made if missing; further ones are only read")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--device", options->device,
                 "virtual:rtx4090, cuda:0, cuda:all, auto; several by commas: trials go to whichever of like ones is "
                 "free, unlike ones are tuned apart")
      ->capture_default_str();
  app.add_option("--trials", options->trials, "trials of the whole run, defaults included")->check(count_from(1));
  app.add_option("--more", options->more, "so many trials more than the run has")->check(count_from(1));
  app.add_option("--trials-per-task", options->trials_per_task, "trials of each task, its default included")
      ->check(count_from(1));
  app.add_option("--time", options->time, "stop after this time: 8h, 30m, 90s");
  app.add_option("--until", options->until, "stop at this time of day: 07:00");
  app.add_option("--task", options->filter.tasks, "only this task (key as in `extract`, or its beginning)")
      ->allow_extra_args(false);
  app.add_option("--op", options->filter.operators, "only tasks of this kind: conv2d, dense")->allow_extra_args(false);
  app.add_option("--tasks-from", options->tasks_from, "only the tasks of this list, e.g. of `build --misses-out`");
  app.add_flag("--only-misses", options->only_misses, "only tasks without an exact record of this device");
  app.add_option("--patience", options->patience, "trials of a task without gain before it is left; 0: never")
      ->capture_default_str()
      ->check(count_from(0));
  app.add_option("--seed", options->seed, "of the proposals and the inputs")
      ->capture_default_str()
      ->check(whole_number());
  app.add_option("--jobs", options->jobs, "worker processes (default: one a core)")->check(count_from(0, kMostJobs));
  app.add_option("--nvrtc", options->nvrtc, "path of libnvrtc");
  app.add_option("--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224")->allow_extra_args(false);
  app.add_flag("--skip-unsupported", options->skip_unsupported,
               "tune what is left of the model without nodes that cannot be taken");
  app.add_flag("--dry-run", options->dry_run, "print the plan and stop: one trial is made, nothing is recorded");
  app.add_flag("--json", options->json, "print JSON");
  return [options, &app] {
    options->arguments = given_arguments(app);
    return tune_model(*options);
  };
}

}  // namespace warpwright
