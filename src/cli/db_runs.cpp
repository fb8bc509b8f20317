// warpwright db runs|diff: runs with how they ended, and two of them side by side.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "database/run_comparison.h"
#include "src/cli/arguments.h"
#include "src/cli/db_verbs.h"
#include "src/cli/table.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

constexpr double kSilentSeconds = 600;  // longer than any trial may take

struct Options {
  std::vector<std::string> databases;
  std::string database;
  int64_t first = 0, second = 0;
  bool json = false;
};

/// Seconds since a stored time; 0 for what is no time.
double seconds_since(const std::string& utc) {
  std::tm parts{};
  if (strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return std::difftime(std::time(nullptr), timegm(&parts));
}

Json run_json(const RunInfo& run) {
  return {{"id", run.id},
          {"uid", run.uid},
          {"model", run.model_name},
          {"model_digest", run.key.model_digest},
          {"device", run.key.device_name},
          {"seed", run.key.seed},
          {"limits", run.key.limits},
          {"started", run.started_utc},
          {"heartbeat", run.heartbeat_utc},
          {"ended", run.ended_utc},
          {"end_reason", run.end_reason},
          {"end", end_text(run)},
          {"arguments", run.arguments},
          {"summary", run.summary},
          {"trials", run.trials_done}};
}

}  // namespace

std::string end_text(const RunInfo& run) {
  if (!run.ended_utc.empty()) return "ended: " + printable(run.end_reason);
  if (seconds_since(run.heartbeat_utc) < kSilentSeconds) return "running";
  return fmt::format("did not end: killed, or the machine went down; last sign of life {}",
                     printable(run.heartbeat_utc));
}

Json runs_json(const Database& database) {
  Json runs = Json::array();
  for (const RunInfo& run : database.runs()) runs.push_back(run_json(run));
  return runs;
}

namespace {

int runs(const Options& options) {
  const auto database = open_databases(Paths(options.databases.begin(), options.databases.end()));
  if (options.json) {
    fmt::print("{}\n", json_document(Json{{"schema", "warpwright.db-runs/1"}, {"runs", runs_json(*database)}}));
    return kDone;
  }
  Table table({">run", "model", "device", ">seed", ">trials", "started", "how it ended"});
  for (const RunInfo& run : database->runs()) {
    table.add({run.id != 0 ? std::to_string(run.id) : "-", printable(run.model_name), printable(run.key.device_name),
               std::to_string(run.key.seed), std::to_string(run.trials_done), printable(run.started_utc),
               end_text(run)});
  }
  table.print();
  return kDone;
}

RunInfo run_of(const Database& database, int64_t id) {
  for (const RunInfo& run : database.runs()) {
    if (run.id == id) return run;
  }
  throw UsageError(fmt::format("there is no run {}; `db runs` lists them", id));
}

/// How often the model runs a task, as the run's summary says; 1 where it says nothing.
double weight_of(const RunInfo& run, const std::string& workload_key) {
  const auto tasks = run.summary.is_object() ? run.summary.find("tasks") : run.summary.end();
  if (!run.summary.is_object() || tasks == run.summary.end() || !tasks->is_array()) return 1;
  for (const Json& task : *tasks) {
    if (!task.is_object() || task.value("key", Json()) != workload_key) continue;
    const auto weight = task.find("weight");
    return weight != task.end() && weight->is_number() ? std::max(0.0, weight->get<double>()) : 1;
  }
  return 1;
}

struct Share {
  const TaskComparison* task = nullptr;
  double share = 0;  // of the time of all tasks, in the second run
};

/// The largest first.
std::vector<Share> shares(const std::vector<TaskComparison>& tasks, const RunInfo& run) {
  std::vector<Share> list;
  double sum = 0;
  for (const TaskComparison& task : tasks) {
    const TaskResult& result = task.second.best_us > 0 ? task.second : task.first;
    list.push_back({&task, weight_of(run, task.workload_key) * result.best_us});
    sum += list.back().share;
  }
  for (Share& share : list) share.share = sum > 0 ? share.share / sum : 0;
  std::stable_sort(list.begin(), list.end(), [](const Share& a, const Share& b) { return a.share > b.share; });
  return list;
}

std::string failures_text(const TaskResult& result) {
  std::string text;
  for (const auto& [outcome, count] : result.failures) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, outcome);
  }
  return text.empty() ? "-" : text;
}

std::string gain_with_spread(const TaskResult& result) {
  if (result.default_us <= 0 || result.best_us <= 0) return "-";
  return fmt::format("{} ±{:.1f} %", gain_text(result.default_us, result.best_us), 100 * result.spread);
}

Json json_of(const TaskResult& result) {
  return {{"default_us", result.default_us},
          {"best_us", result.best_us},
          {"spread", result.spread},
          {"trials", result.trials},
          {"ok", result.ok},
          {"throttled", result.throttled},
          {"failures", result.failures},
          {"first_fault", result.first_fault}};
}

void print_diff_json(const std::vector<Share>& list) {
  Json tasks = Json::array();
  for (const Share& share : list) {
    const TaskComparison& task = *share.task;
    tasks.push_back({{"workload_key", task.workload_key},
                     {"workload", workload_text(task.workload_json)},
                     {"first", json_of(task.first)},
                     {"second", json_of(task.second)},
                     {"change", std::string(name(task.change))},
                     {"p_value", task.p_value},
                     {"share_of_time", share.share}});
  }
  fmt::print("{}\n", json_document(Json{{"schema", "warpwright.db-diff/1"}, {"tasks", tasks}}));
}

void print_faults(const std::vector<Share>& list) {
  std::map<std::string, std::pair<int64_t, std::string>> faults;
  for (const Share& share : list) {
    for (const auto& [outcome, count] : share.task->second.failures) {
      auto& [sum, line] = faults[outcome];
      sum += count;
      if (line.empty()) line = share.task->second.first_fault.at(outcome);
    }
  }
  for (const auto& [outcome, fault] : faults) {
    fmt::print("{} {} in the second run, the first: {}\n", fault.first, outcome, printable(fault.second));
  }
}

/// The fewest tasks that hold most of the time.
void print_next(const std::vector<Share>& list) {
  double held = 0;
  std::vector<std::string> keys;
  for (const Share& share : list) {
    if (held >= 0.6) break;
    held += share.share;
    keys.push_back(share.task->workload_key);
  }
  if (held <= 0) return;
  fmt::print("worth tuning next: {} of {} tasks hold {:.0f} % of the time:\n", keys.size(), list.size(), 100 * held);
  for (const std::string& key : keys) fmt::print("  --task {}\n", printable(key));
}

int diff(const Options& options) {
  const auto database = open_database(options.database, OpenMode::read_only);
  const RunInfo second = run_of(*database, options.second);
  const std::vector<TaskComparison> tasks =
      compare_runs(database->run_records(run_of(*database, options.first).id), database->run_records(second.id));
  const std::vector<Share> list = shares(tasks, second);
  if (options.json) {
    print_diff_json(list);
    return kDone;
  }
  Table table({"workload", ">share", ">default us", ">then", ">best us", ">then", ">gain", ">then", "change", ">p",
               ">throttled", "failures"});
  int64_t moved = 0;
  for (const Share& share : list) {
    const TaskResult &a = share.task->first, &b = share.task->second;
    const Change change = share.task->change;
    moved += change == Change::faster || change == Change::slower;
    table.add({workload_text(share.task->workload_json), fmt::format("{:.0f} %", 100 * share.share),
               us_text(a.default_us), us_text(b.default_us), us_text(a.best_us), us_text(b.best_us),
               gain_with_spread(a), gain_with_spread(b), std::string(name(change)),
               fmt::format("{:.2g}", share.task->p_value), fmt::format("{}/{}", b.throttled, b.trials),
               failures_text(b)});
  }
  table.print();
  fmt::print("{} of {} tasks moved beyond noise\n", moved, list.size());
  print_faults(list);
  print_next(list);
  return kDone;
}

}  // namespace

VerbBody db_runs_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("databases", options->databases, "database files; runs of the first have numbers")->required();
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return runs(*options); };
}

VerbBody db_diff_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("database", options->database, "database file")->required();
  app.add_option("first", options->first, "number of a run, as `db runs` has it")->required();
  app.add_option("second", options->second, "number of the run to compare with it")->required();
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return diff(*options); };
}

}  // namespace warpwright
