// warpwright db stats|list|best|show: records of databases.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "database/row_json.h"
#include "src/cli/arguments.h"
#include "src/cli/db_verbs.h"
#include "src/cli/table.h"
#include "src/core/config.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/printable.h"
#include "src/core/workload.h"

namespace warpwright {

std::string workload_text(const std::string& json) {
  try {
    return workload_from_json(parse_json(json)).summary();
  } catch (const std::exception&) {
    return "(unreadable) " + printable(json.substr(0, 60));
  }
}

std::string config_text(const std::string& json) {
  try {
    return summary(config_from_json(parse_json(json)));
  } catch (const std::exception&) {
    return "(unreadable) " + printable(json.substr(0, 60));
  }
}

namespace {

struct Options {
  std::vector<std::string> databases;
  std::string database, record, task, outcome, arch;
  int limit = 20;
  bool json = false;
};

std::unique_ptr<Database> open(const Options& options) {
  return open_databases(Paths(options.databases.begin(), options.databases.end()));
}

double us_of(const Record& record) {
  return record.outcome.ok() && !record.outcome.samples_us.empty() ? record.outcome.median_us() : 0;
}

/// Parsed where it is JSON, else as text.
Json embedded(const std::string& text) {
  Json json = try_parse_json(text);
  return json.is_discarded() ? Json(text) : json;
}

Json record_json(const Record& record) {
  Json json = measurement_json(record);
  json.update({{"key", record.content_key},
               {"workload_key", record.workload_key},
               {"workload", embedded(record.workload_json)},
               {"config", embedded(record.config_json)},
               {"device", record.device_name},
               {"arch", record.arch},
               {"environment", record.environment},
               {"run", record.run_id},
               {"trial", record.trial_index},
               {"is_default", record.is_default}});
  if (us_of(record) > 0) json["median_us"] = us_of(record);
  return json;
}

void print_records(const std::vector<Record>& records, const std::string& schema, bool json) {
  if (json) {
    Json list = Json::array();
    for (const Record& record : records) list.push_back(record_json(record));
    fmt::print("{}\n", json_document(Json{{"schema", schema}, {"records", list}}));
    return;
  }
  Table table({"record", "workload", "device", "evidence", "outcome", ">us", "limited by", "config"});
  for (const Record& record : records) {
    table.add({record.content_key.substr(0, 12), workload_text(record.workload_json), record.device_name,
               std::string(name(record.evidence)), std::string(name(record.outcome.kind)), us_text(us_of(record)),
               record.outcome.limited_by, config_text(record.config_json)});
  }
  table.print();
}

int stats(const Options& options) {
  const auto database = open(options);
  const Statistics statistics = database->statistics();
  if (options.json) {
    fmt::print("{}\n", json_document(Json{{"schema", "warpwright.db-stats/1"},
                                          {"workloads", statistics.workloads},
                                          {"records", statistics.records},
                                          {"ok", statistics.ok},
                                          {"by_outcome", statistics.by_outcome},
                                          {"by_device", statistics.by_device},
                                          {"runs", runs_json(*database)}}));
    return kDone;
  }
  fmt::print("{} workloads, {} records ({} ok), {} runs\n", statistics.workloads, statistics.records, statistics.ok,
             statistics.runs);
  for (const auto& [outcome, count] : statistics.by_outcome) fmt::print("  outcome {}: {}\n", outcome, count);
  for (const auto& [device, count] : statistics.by_device) fmt::print("  device {}: {}\n", printable(device), count);
  for (const RunInfo& run : database->runs()) {
    fmt::print("  run {}: {} on {}, seed {}, {} trials, {}\n", run.id, printable(run.model_name),
               printable(run.key.device_name), run.key.seed, run.trials_done, end_text(run));
  }
  return kDone;
}

int list(const Options& options) {
  if (!options.outcome.empty()) outcome_kind_from_name(options.outcome);
  print_records(open(options)->list(options.task, options.outcome, options.limit), "warpwright.db-list/1",
                options.json);
  return kDone;
}

int best(const Options& options) {
  const auto database = open(options);
  std::vector<std::string> tasks = database->workload_keys();
  if (!options.task.empty()) {
    std::erase_if(tasks, [&](const std::string& task) { return !task.starts_with(options.task); });
    if (tasks.empty()) {
      throw UsageError(fmt::format("--task {}: no record is of such a task; `db best` without it shows which there are",
                                   options.task));
    }
  }
  std::vector<Record> records;
  for (const std::string& task : tasks) {
    std::set<std::string> architectures{options.arch};
    if (options.arch.empty()) {
      architectures.clear();
      for (const RecordGroup& group : database->groups(task)) architectures.insert(group.device.arch);
    }
    for (const std::string& arch : architectures) {
      for (Record& record : database->best(task, arch, options.task.empty() ? 1 : options.limit)) {
        records.push_back(std::move(record));
      }
    }
  }
  print_records(records, "warpwright.db-best/1", options.json);
  return kDone;
}

int show(const Options& options) {
  const auto database = open_database(options.database, OpenMode::read_only);
  const auto record = database->find(options.record);
  if (!record) throw UsageError(fmt::format("no record whose key begins with {}", options.record));
  Json json = record_json(*record);
  json["objections"] = database->objections(record->workload_key, record->config_json, record->arch);
  if (options.json) {
    json["log"] = record->outcome.log;
    json["schema"] = "warpwright.db-show/1";
    fmt::print("{}\n", json_document(json));
    return kDone;
  }
  for (const auto& [field, value] : json.items()) {
    fmt::print("{:15} {}\n", field,
               printable(value.is_string() ? value.get<std::string>()
                                           : value.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  if (!record->outcome.log.empty()) fmt::print("log\n{}\n", printable(record->outcome.log));
  return kDone;
}

void add_databases(CLI::App& app, Options& options) {
  app.add_option("databases", options.databases, "database files, read as if merged")->required();
  app.add_flag("--json", options.json, "print JSON");
}

void add_filters(CLI::App& app, Options& options, const char* limit_help) {
  app.add_option("--task", options.task, "only this task (key as in `extract`, or its beginning)");
  app.add_option("--limit", options.limit, limit_help)->capture_default_str()->check(CLI::PositiveNumber);
}

}  // namespace

VerbBody db_stats_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_databases(app, *options);
  return [options] { return stats(*options); };
}

VerbBody db_list_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_databases(app, *options);
  add_filters(app, *options, "at most so many");
  app.add_option("--outcome", options->outcome, "only this outcome, e.g. ok or wrong_result");
  return [options] { return list(*options); };
}

VerbBody db_best_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_databases(app, *options);
  add_filters(app, *options, "with --task: at most so many of each task");
  app.add_option("--arch", options->arch, "only this architecture, e.g. sm_89");
  return [options] { return best(*options); };
}

VerbBody db_show_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_flag("--json", options->json, "print JSON");
  app.add_option("database", options->database, "database file")->required();
  app.add_option("record", options->record, "key of the record, or its beginning")->required();
  return [options] { return show(*options); };
}

}  // namespace warpwright
