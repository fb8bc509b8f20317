// warpwright tune: measures kernels for the tasks of a model and records them. The loop is in src/tuner.
#include <fmt/format.h>
#include <stdio_ext.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>

#include "src/cli/arguments.h"
#include "src/cli/checks.h"
#include "src/cli/model.h"
#include "src/cli/signals.h"
#include "src/cli/tune_lane.h"
#include "src/cli/verb.h"
#include "src/core/core_count.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/tasks/task_list.h"

namespace warpwright {
namespace {

Json shapes_json(const Program& program) {
  Json shapes = Json::object();
  for (const ProgramPort& port : program.inputs) shapes[port.name] = port.shape;
  return shapes;
}

TuneSubject read_subject(const TuneArguments& options) {
  TuneSubject subject;
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

void check_options(const TuneArguments& options) {
  limits_of(options);  // throws for what is no time
  if (options.more > 0 && options.trials + options.trials_per_task > 0) {
    throw UsageError("--more adds to the trials of a run; --trials and --trials-per-task name a run");
  }
  const Paths databases(options.databases.begin(), options.databases.end());
  for (const std::string& input : {options.model, options.tasks_from}) {
    if (!input.empty()) refuse_overwrite(databases.front(), {input});
  }
  for (size_t i = 1; i < databases.size(); ++i) refuse_overwrite(databases.front(), {databases[i]});
  const bool is_new = file_kind(databases.front()) == FileKind::none;
  if (options.more > 0 && (is_new || std::filesystem::file_size(databases.front()) == 0)) {
    throw UsageError(fmt::format("--more adds to a run, and there is no database {} yet", options.databases.front()));
  }
  if (!options.dry_run && is_new) check_can_write(databases.front());
  // Refused before anything else is done; the first one is made later, when nothing stands against it.
  for (const std::filesystem::path& path : databases) {
    const bool is_first = &path == &databases.front();
    if (is_first && is_new) continue;
    open_database(path, is_first && !options.dry_run ? OpenMode::read_write : OpenMode::read_only)->close();
  }
}

std::vector<std::unique_ptr<TuneLane>> open_lanes(const TuneArguments& options, const TuneSubject& subject,
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
  try {
    for (const auto& lane : lanes) lane->prepare();
  } catch (const Error& error) {
    for (const auto& lane : lanes) lane->abandon(error);
    throw;
  }
  return lanes;
}

/// All at once, each until its own end: one that breaks off does not end the others.
void run_lanes(std::vector<std::unique_ptr<TuneLane>>& lanes) {
  std::vector<std::jthread> threads;
  for (const auto& lane : lanes) {
    threads.emplace_back([&lane] {
      try {
        lane->run();
      } catch (const Error& error) {
        lane->failure = std::current_exception();
        lane->abandon(error);
      } catch (...) {
        lane->failure = std::current_exception();
      }
    });
  }
}

/// Prints; false when standard output takes it no more. Then what is left of it is dropped.
bool print_all(const std::function<void()>& print) {
  bool is_written = false;
  try {
    print();
    is_written = std::fflush(stdout) == 0;
  } catch (const std::system_error&) {
  }
  if (!is_written) __fpurge(stdout);
  return is_written;
}

void print_results(const std::vector<std::unique_ptr<TuneLane>>& lanes, const TuneArguments& options) {
  Json runs = Json::array();
  for (const auto& lane : lanes) {
    if (lane->failure) continue;
    runs.push_back(lane->json());
    if (options.json) continue;
    if (lane->has_nothing_to_tune()) {
      fmt::print("{}: nothing to tune: no task of these is without an exact record\n",
                 fmt::join(lane->group().devices, ", "));
      continue;
    }
    if (!options.dry_run) lane->print();
    if (!options.dry_run) continue;
    for (const std::string& line : plan_lines(lane->plan(), lane->group())) fmt::print("{}\n", line);
  }
  if (!options.json || runs.empty()) return;
  Json document = runs.size() == 1 && !options.dry_run ? runs[0] : Json{{"runs", runs}};
  document["schema"] = options.dry_run ? "warpwright.tune-plan/1" : "warpwright.tune/1";
  fmt::print("{}\n", json_document(document));
}

/// False when standard output could not be written: the runs are made all the same.
bool make_runs(const TuneArguments& options, const TuneSubject& subject, StopSignals& signals, bool& has_valid_trial) {
  auto lanes = open_lanes(options, subject, signals);
  if (!options.dry_run) {
    for (const auto& lane : lanes) {
      if (lane->has_nothing_to_tune()) continue;
      for (const std::string& line : plan_lines(lane->plan(), lane->group())) log_info("plan: {}", line);
    }
    run_lanes(lanes);
  }
  const bool is_printed = print_all([&] { print_results(lanes, options); });
  for (const auto& lane : lanes) {
    if (lane->failure) std::rethrow_exception(lane->failure);
    has_valid_trial = has_valid_trial && (options.dry_run || lane->has_valid_trial());
  }
  return is_printed;
}

int tune_model(const TuneArguments& options) {
  const BrokenPipes pipes;
  check_options(options);
  const TuneSubject subject = read_subject(options);
  StopSignals signals;
  bool has_valid_trial = true, is_printed = true;
  try {
    is_printed = make_runs(options, subject, signals, has_valid_trial);
  } catch (const Interrupted&) {
    log_info("interrupted before any trial began");
  }
  if (const int status = signals.exit_status(); status != 0) return status;
  if (pipes.is_broken()) return BrokenPipes::kExitStatus;
  if (!is_printed) throw EnvironmentError("standard output cannot be written; what was measured is in the database");
  if (has_valid_trial) return kDone;
  log_warning("no trial was valid: `db list --outcome ...` shows the failures");
  return kAnswerIsNo;
}

}  // namespace

VerbBody tune_verb(CLI::App& app) {
  auto options = std::make_shared<TuneArguments>();
  app.add_option("model", options->model, "the ONNX model; not needed with --tasks-from");
  add_repeated(app, "--db", options->databases,
               "the database to record in, made if missing; further ones are only read")
      ->required()
      ->option_text("TEXT REQUIRED");
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
  add_repeated(app, "--task", options->filter.tasks, "only this task (key as in `extract`, or its beginning)");
  add_repeated(app, "--op", options->filter.operators, "only tasks of this kind: conv2d, dense");
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
  add_repeated(app, "--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224");
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
