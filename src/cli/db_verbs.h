// The verbs below `db`. Each adds its options to `app` and gives what runs it.
#pragma once

#include "database/database.h"
#include "src/cli/verb.h"

namespace warpwright {

VerbBody db_stats_verb(CLI::App& app);
VerbBody db_list_verb(CLI::App& app);
VerbBody db_best_verb(CLI::App& app);
VerbBody db_show_verb(CLI::App& app);
VerbBody db_runs_verb(CLI::App& app);
VerbBody db_diff_verb(CLI::App& app);
VerbBody db_merge_verb(CLI::App& app);
VerbBody db_migrate_verb(CLI::App& app);
VerbBody db_retract_verb(CLI::App& app);
VerbBody db_export_verb(CLI::App& app);
VerbBody db_import_verb(CLI::App& app);
VerbBody db_check_verb(CLI::App& app);

/// Of all runs, for --json.
Json runs_json(const Database& database);
/// `ended: time`, `running`, `not ended: killed, or the machine went down`.
std::string end_text(const RunInfo& run);
/// Short text of a stored Workload; what cannot be read is shown as it is.
std::string workload_text(const std::string& json);
std::string config_text(const std::string& json);

}  // namespace warpwright
