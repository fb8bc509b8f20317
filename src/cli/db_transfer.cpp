// warpwright db merge|migrate|export|import|retract: rows from file to file, and out of them.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "database/json_lines.h"
#include "database/merge.h"
#include "src/cli/arguments.h"
#include "src/cli/db_verbs.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string input, output, reason, record;
  int64_t run = 0;
  bool dry_run = false, anonymous = false, json = false;
};

int64_t number_of(const std::map<std::string, int64_t>& counts, const std::string& kind) {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

Json json_of(const MergeReport& report) {
  Json sources = Json::array();
  for (const SourceReport& source : report.sources) {
    sources.push_back({{"path", source.path.string()},
                       {"schema_version", source.schema_version},
                       {"added", source.added},
                       {"known", source.known},
                       {"refused", source.refused},
                       {"records_by_device", source.records_by_device},
                       {"records_by_environment", source.records_by_environment}});
  }
  return {{"schema", "warpwright.db-merge/1"}, {"sources", sources},      {"records", report.records},
          {"workloads", report.workloads},     {"pooled", report.pooled}, {"retracted", report.retracted},
          {"quarantined", report.quarantined}};
}

void print_source(const SourceReport& source) {
  fmt::print("{} (schema {}): {} records came in, {} were known; {} runs, {} retractions\n", source.path.string(),
             source.schema_version, number_of(source.added, "record"), number_of(source.known, "record"),
             number_of(source.added, "run"), number_of(source.added, "retraction"));
  for (const auto& [device, count] : source.records_by_device) fmt::print("  {} of {}\n", count, printable(device));
  for (const auto& [environment, count] : source.records_by_environment) {
    fmt::print("  {} with {}\n", count, printable(environment));
  }
  for (const auto& [why, count] : source.refused) fmt::print("  {} refused: {}\n", count, printable(why));
}

int merge(const Options& options) {
  if (options.output.empty() && !options.dry_run) throw UsageError("-o NEW is missing (or --dry-run)");
  if (!options.output.empty()) check_can_write(options.output);
  const MergeReport report =
      merge_databases(Paths(options.inputs.begin(), options.inputs.end()), options.dry_run ? "" : options.output);
  if (options.json) {
    fmt::print("{}\n", json_document(json_of(report)));
    return kDone;
  }
  for (const SourceReport& source : report.sources) print_source(source);
  fmt::print(
      "{}: {} records of {} workloads; {} pooled with others of the same Config and device, {} retracted, {} "
      "Configs quarantined\n",
      options.dry_run ? "would be" : options.output, report.records, report.workloads, report.pooled, report.retracted,
      report.quarantined);
  return kDone;
}

/// Whole to the output or not at all; the number of rows.
int64_t write_rows(const Options& options, const ExportOptions& how) {
  OutputFile file(options.output);
  const int64_t rows = export_rows(options.input, how, [&](const std::string& line) {
    file.write(line);
    file.write("\n");
  });
  file.finish();
  return rows;
}

/// To stdout, or to a file.
int export_lines(const Options& options) {
  const ExportOptions how{options.anonymous};
  if (options.output.empty()) {
    if (options.json) throw UsageError("--json tells of the file of -o; without one the rows themselves go to stdout");
    export_rows(options.input, how, [](const std::string& line) { fmt::print("{}\n", line); });
    return kDone;
  }
  check_output(options.output, {"export of a database", is_export}, {options.input});
  const int64_t rows = write_rows(options, how);
  log_info("{}: {} rows", options.output, rows);
  if (options.json) {
    fmt::print("{}\n", json_document(Json{{"schema", "warpwright.db-export/1"},
                                          {"path", options.output},
                                          {"rows", rows},
                                          {"anonymous", options.anonymous}}));
  }
  return kDone;
}

int import_lines(const Options& options) {
  check_can_write(options.output);
  const ImportReport report = import_rows(options.input, options.output);
  Json refused = Json::object();
  for (const auto& [why, refusal] : report.refused) {
    refused[why] = {{"lines", refusal.lines}, {"first_line", refusal.first_line}};
  }
  if (options.json) {
    fmt::print("{}\n", json_document(
                           Json{{"schema", "warpwright.db-import/1"}, {"added", report.added}, {"refused", refused}}));
    return kDone;
  }
  for (const auto& [kind, count] : report.added) fmt::print("{} rows of the kind {} came in\n", count, kind);
  for (const auto& [why, refusal] : report.refused) {
    fmt::print("{} lines refused, the first is line {}: {}\n", refusal.lines, refusal.first_line, printable(why));
  }
  return kDone;
}

int retract(const Options& options) {
  if (options.record.empty() == (options.run == 0)) throw UsageError("name a record or, with --run, a run");
  if (file_kind(options.input) == FileKind::none) {
    throw UsageError(fmt::format("{}: there is no such database", options.input));
  }
  const auto database = open_database(options.input, OpenMode::read_write);
  std::vector<std::string> keys;
  if (options.run != 0) {
    for (const Record& record : database->run_records(options.run)) keys.push_back(record.content_key);
    if (keys.empty()) throw UsageError(fmt::format("run {} has no records; `db runs` lists the runs", options.run));
  } else {
    const auto record = database->find(options.record);
    if (!record) throw UsageError(fmt::format("no record whose key begins with {}", options.record));
    keys.push_back(record->content_key);
  }
  for (const std::string& key : keys) database->retract(key, options.reason);
  database->close();
  if (options.json) {
    fmt::print("{}\n", json_document(Json{{"schema", "warpwright.db-retract/1"}, {"retracted", keys}}));
  } else {
    fmt::print("{} records retracted\n", keys.size());
  }
  return kDone;
}

}  // namespace

VerbBody db_merge_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("databases", options->inputs, "database files of any schema version")->required();
  app.add_option("-o,--output", options->output, "the new database");
  app.add_flag("--dry-run", options->dry_run, "only say what would come in");
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return merge(*options); };
}

VerbBody db_migrate_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("database", options->inputs, "the older database")->required()->expected(1);
  app.add_option("-o,--output", options->output, "the new database")->required();
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return merge(*options); };  // the union of one
}

VerbBody db_export_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("database", options->input, "database file")->required();
  app.add_option("-o,--output", options->output, "file of JSON lines; without it they go to stdout");
  app.add_flag("--anonymous", options->anonymous, "without hosts, users, arguments and names of models; keys stay");
  app.add_flag("--json", options->json, "with -o: print JSON about what was written");
  return [options] { return export_lines(*options); };
}

VerbBody db_import_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("lines", options->input, "file of JSON lines")->required();
  app.add_option("-o,--output", options->output, "the new database")->required();
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return import_lines(*options); };
}

VerbBody db_retract_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("database", options->input, "database file")->required();
  app.add_option("record", options->record, "key of the record, or its beginning");
  app.add_option("--run", options->run, "all that this run recorded, e.g. on a card that overheated");
  app.add_option("--reason", options->reason, "why; it stays with the retraction")->required();
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return retract(*options); };
}

}  // namespace warpwright
