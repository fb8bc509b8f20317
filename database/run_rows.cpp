// The one SELECT that gives runs.
#include "database/run_rows.h"

#include <charconv>

#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr const char* kSelect = R"sql(
SELECT id, uid, model_digest, device_name, seed, limits_json, started_utc, heartbeat_utc, ended_utc, end_reason,
       summary_json, model_name, arguments, host, user,
       (SELECT count(DISTINCT t.trial_index) FROM trials t JOIN records r ON r.id = t.record_id
        WHERE t.run_id = runs.id
          AND r.outcome NOT IN ('out_of_memory', 'device_lost', 'interrupted', 'infrastructure')
          AND NOT EXISTS (SELECT 1 FROM retractions x WHERE x.record_key = r.content_key))
FROM runs WHERE ?1 IS NULL OR id = ?1 ORDER BY id
)sql";

}  // namespace

std::vector<StoredRun> read_runs(const Connection& connection, std::optional<int64_t> id) {
  Statement rows = connection.prepare(kSelect);
  if (id) rows.bind(1, *id);
  std::vector<StoredRun> runs;
  while (rows.step()) {
    StoredRun& run = runs.emplace_back();
    run.id = rows.integer(0);
    run.row.uid = rows.text(1);
    run.row.key.model_digest = rows.text(2);
    run.row.key.device_name = rows.text(3);
    const std::string seed = rows.text(4);
    std::from_chars(seed.data(), seed.data() + seed.size(), run.row.key.seed);
    run.row.key.limits = try_parse_json(rows.text(5));
    run.row.started_utc = rows.text(6);
    run.row.heartbeat_utc = rows.text(7);
    run.row.ended_utc = rows.text(8);
    run.row.end_reason = rows.text(9);
    if (const std::string summary = rows.text(10); !summary.empty()) run.row.summary = try_parse_json(summary);
    run.row.model_name = rows.text(11);
    run.row.arguments = rows.text(12);
    run.row.host = rows.text(13);
    run.row.user = rows.text(14);
    run.trials_done = rows.integer(15);
  }
  return runs;
}

namespace {

/// What is no JSON in the file is none.
Json usable(const Json& json) { return json.is_discarded() ? Json() : json; }

}  // namespace

RunInfo info_of(const StoredRun& run) {
  RunInfo info;
  info.id = run.id;
  info.uid = run.row.uid;
  info.key = run.row.key;
  info.key.limits = usable(info.key.limits);
  info.model_name = run.row.model_name;
  info.arguments = run.row.arguments;
  info.started_utc = run.row.started_utc;
  info.heartbeat_utc = run.row.heartbeat_utc;
  info.ended_utc = run.row.ended_utc;
  info.end_reason = run.row.end_reason;
  info.summary = usable(run.row.summary);
  info.trials_done = run.trials_done;
  return info;
}

}  // namespace warpwright
