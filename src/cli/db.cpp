// warpwright db: the list of its verbs.
#include <array>

#include "src/cli/db_verbs.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

struct DbVerb {
  const char* name;
  VerbBody (*set_up)(CLI::App& app);
  const char* help;
};

constexpr std::array<DbVerb, 12> kVerbs{{
    {"stats", db_stats_verb, "what is in the databases"},
    {"list", db_list_verb, "records, newest first"},
    {"best", db_best_verb, "the fastest record of each task, or of one"},
    {"show", db_show_verb, "all of one record, with its log"},
    {"runs", db_runs_verb, "runs and how they ended"},
    {"diff", db_diff_verb, "two runs side by side: what moved beyond noise, what to tune next"},
    {"merge", db_merge_verb, "the union of databases, in a new one"},
    {"retract", db_retract_verb, "take a record or a run out for good, through every later merge"},
    {"export", db_export_verb, "all rows as JSON lines"},
    {"import", db_import_verb, "JSON lines into a new database"},
    {"check", db_check_verb, "look for damage, Configs that are illegal today, foreign rows"},
    {"migrate", db_migrate_verb, "an older database into a new one of today's schema"},
}};

}  // namespace

VerbBody db_verb(CLI::App& app) {
  app.require_subcommand(1);
  std::array<std::pair<CLI::App*, VerbBody>, kVerbs.size()> verbs;
  for (size_t i = 0; i < kVerbs.size(); ++i) {
    CLI::App* verb = app.add_subcommand(kVerbs[i].name, kVerbs[i].help);
    verbs[i] = {verb, kVerbs[i].set_up(*verb)};
  }
  return [verbs] {
    for (const auto& [app, body] : verbs) {
      if (app->parsed()) return body();
    }
    throw InternalError("no verb of db was parsed");
  };
}

}  // namespace warpwright
