// warpwright db check: damage, Configs that today's spaces do not hold, rows of other programs.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "database/check.h"
#include "search_space/kernel_family.h"
#include "src/cli/arguments.h"
#include "src/cli/db_verbs.h"
#include "src/core/config.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/printable.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {
namespace {

struct Options {
  std::vector<std::string> databases;
  bool json = false;
};

/// What today's program makes of a record that is sound in itself; empty when it can use it.
std::string judgement(const Record& record) {
  try {
    const Workload workload = workload_from_json(parse_json(record.workload_json));
    const Target target = target_from_json(parse_json(record.target_json));
    const Config config = config_from_json(parse_json(record.config_json));
    if (key(workload) != record.workload_key) return "foreign: the Workload has another key today";
    if (key(target) != record.target_key) return "foreign: the Target has another key today";
    const KernelFamily* family = family_named(config.family);
    if (!family) return "foreign: no family is called " + config.family;
    if (family->space_version() != config.space_version) {
      return fmt::format("stale: {} has space version {}, today's is {}", config.family, config.space_version,
                         family->space_version());
    }
    // A Config that was found illegal is in its place.
    if (record.outcome.kind == OutcomeKind::illegal) return {};
    if (const auto why = why_illegal(workload, config, target)) return "invalid: the Config is illegal today: " + *why;
  } catch (const std::exception& error) {
    return fmt::format("foreign: {}", error.what());
  }
  return {};
}

int check(const Options& options) {
  bool sound = true;
  Json files = Json::array();
  for (const std::string& path : options.databases) {
    std::map<std::string, int64_t> notes;
    const CheckReport report = check_database(path, [&](const Record& record) {
      if (const std::string note = judgement(record); !note.empty()) ++notes[note];
    });
    sound = sound && report.faults.empty();
    files.push_back({{"path", path},
                     {"schema_version", report.schema_version},
                     {"records", report.records},
                     {"retractions", report.retractions},
                     {"clearances", report.clearances},
                     {"faults", report.faults},
                     {"notes", notes}});
    if (options.json) continue;
    fmt::print("{}: schema {}, {} sound records, {}\n", path, report.schema_version, report.records,
               report.faults.empty() ? "no damage" : "DAMAGED");
    for (const auto& [fault, count] : report.faults) fmt::print("  {} x {}\n", count, printable(fault));
    for (const auto& [note, count] : notes) fmt::print("  {} records not used: {}\n", count, printable(note));
  }
  if (options.json) fmt::print("{}\n", json_document(Json{{"schema", "warpwright.db-check/1"}, {"databases", files}}));
  return sound ? kDone : kAnswerIsNo;
}

}  // namespace

VerbBody db_check_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("databases", options->databases, "database files")->required();
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return check(*options); };
}

}  // namespace warpwright
