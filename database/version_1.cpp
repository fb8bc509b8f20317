// What version 1 looked like, and how its rows read today.
#include "database/version_1.h"

#include <charconv>
#include <string_view>

#include "src/core/error.h"
#include "src/core/json_text.h"

namespace warpwright {

const char* const kVersion1Tables = R"sql(
CREATE TABLE workloads (
  key TEXT PRIMARY KEY,
  json TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE devices (
  key TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  arch TEXT NOT NULL,
  target_key TEXT NOT NULL,
  target_json TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE environments (
  key TEXT PRIMARY KEY,
  description TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,          -- of this row in every file that it is merged into
  key TEXT NOT NULL,                 -- hash of the four below: what a user asks for
  model_digest TEXT NOT NULL,
  device_name TEXT NOT NULL,
  seed TEXT NOT NULL,                -- unsigned 64 bits, decimal
  limits_json TEXT NOT NULL,
  model_name TEXT NOT NULL,
  started_utc TEXT NOT NULL,
  heartbeat_utc TEXT NOT NULL,
  ended_utc TEXT NOT NULL,           -- empty while it runs
  end_reason TEXT NOT NULL
);
CREATE INDEX runs_by_key ON runs (key);
CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  content_key TEXT NOT NULL UNIQUE,
  workload_key TEXT NOT NULL REFERENCES workloads (key),
  config_json TEXT NOT NULL,
  device_key TEXT NOT NULL REFERENCES devices (key),
  environment_key TEXT NOT NULL REFERENCES environments (key),
  evidence TEXT NOT NULL,
  outcome TEXT NOT NULL,
  message TEXT NOT NULL,
  log TEXT NOT NULL,
  limited_by TEXT NOT NULL,
  objective TEXT NOT NULL,
  source_hash TEXT NOT NULL,
  ptx_hash TEXT NOT NULL,
  cubin_hash TEXT NOT NULL,
  registers INTEGER NOT NULL,
  spill_bytes INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL,
  compile_seconds REAL NOT NULL,
  verify_seconds REAL NOT NULL,
  run_seconds REAL NOT NULL
);
CREATE INDEX records_by_workload ON records (workload_key);
CREATE TABLE samples (
  record_key TEXT NOT NULL REFERENCES records (content_key),
  position INTEGER NOT NULL,
  us REAL NOT NULL,
  PRIMARY KEY (record_key, position)
) WITHOUT ROWID;
CREATE TABLE trials (                -- which records a run made, in its order
  run_id INTEGER NOT NULL REFERENCES runs (id),
  trial_index INTEGER NOT NULL,
  record_key TEXT NOT NULL REFERENCES records (content_key),
  is_default INTEGER NOT NULL,
  PRIMARY KEY (run_id, trial_index)
) WITHOUT ROWID;
CREATE INDEX trials_by_record ON trials (record_key);
CREATE TABLE retractions (
  record_key TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (record_key, reason)
) WITHOUT ROWID;
CREATE TABLE provenance (            -- outside every key; an anonymous export drops it
  record_key TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  user TEXT NOT NULL,
  recorded_utc TEXT NOT NULL
) WITHOUT ROWID;
)sql";

namespace {

constexpr const char* kSelectRecords = R"sql(
SELECT r.content_key, r.workload_key, w.json, r.config_json, d.name, d.arch, d.target_key, d.target_json,
       e.description, r.evidence, r.outcome, r.message, r.log, r.limited_by, r.objective, r.source_hash, r.ptx_hash,
       r.cubin_hash, r.registers, r.spill_bytes, r.smem_bytes, r.compile_seconds, r.verify_seconds, r.run_seconds,
       p.host, p.user, p.recorded_utc
FROM records r
LEFT JOIN workloads w ON w.key = r.workload_key
LEFT JOIN devices d ON d.key = r.device_key
LEFT JOIN environments e ON e.key = r.environment_key
LEFT JOIN provenance p ON p.record_key = r.content_key
WHERE NOT EXISTS (SELECT 1 FROM retractions x WHERE x.record_key = r.content_key)
ORDER BY r.content_key
)sql";

RecordRow record_of(const Statement& row, Statement& samples) {
  RecordRow found;
  Record& record = found.record;
  record.content_key = row.text(0);
  record.workload_key = row.text(1);
  record.workload_json = row.text(2);
  record.config_json = row.text(3);
  record.device_name = row.text(4);
  record.arch = row.text(5);
  record.target_key = row.text(6);
  record.target_json = row.text(7);
  record.environment = row.text(8);
  record.evidence = evidence_from_name(row.text(9));
  record.outcome.kind = outcome_kind_from_name(row.text(10));
  record.outcome.message = storable(row.text(11), kMostLogBytes);  // version 1 kept what the compiler wrote
  record.outcome.log = storable(row.text(12), kMostLogBytes);
  record.outcome.limited_by = row.text(13);
  record.objective = row.text(14);
  record.source_hash = row.text(15);
  record.ptx_hash = row.text(16);
  record.cubin_hash = row.text(17);
  record.registers = static_cast<int>(row.integer(18));
  record.spill_bytes = static_cast<int>(row.integer(19));
  record.smem_bytes = row.integer(20);
  record.compile_seconds = row.real(21);
  record.verify_seconds = row.real(22);
  record.run_seconds = row.real(23);
  found.host = row.text(24);
  found.user = row.text(25);
  found.recorded_utc = row.text(26);
  samples.reset();
  samples.bind(1, record.content_key);
  while (samples.step()) record.outcome.samples_us.push_back(samples.real(0));
  return found;
}

RunRow run_of(const Statement& row) {
  RunRow run;
  run.uid = row.text(0);
  run.key.model_digest = row.text(1);
  run.key.device_name = row.text(2);
  const std::string seed = row.text(3);
  std::from_chars(seed.data(), seed.data() + seed.size(), run.key.seed);
  run.key.limits = try_parse_json(row.text(4));
  run.model_name = row.text(5);
  run.started_utc = row.text(6);
  run.heartbeat_utc = row.text(7);
  run.ended_utc = row.text(8);
  run.end_reason = row.text(9);
  return run;
}

void read_runs(const Connection& connection, const TakeRow& take) {
  Statement rows = connection.prepare(
      "SELECT uid, model_digest, device_name, seed, limits_json, model_name, started_utc, heartbeat_utc, ended_utc, "
      "end_reason FROM runs ORDER BY id");
  while (rows.step()) take(run_of(rows));
}

void read_records(const Connection& connection, const TakeRow& take, const TakeDamaged& damaged) {
  Statement records = connection.prepare(kSelectRecords);
  Statement samples = connection.prepare("SELECT us FROM samples WHERE record_key = ? ORDER BY position");
  while (records.step()) {
    try {
      take(record_of(records, samples));
    } catch (const UsageError& error) {  // an unknown name
      damaged({"record", error.what()});
    }
  }
}

void read_trials(const Connection& connection, const TakeRow& take) {
  Statement trials = connection.prepare(
      "SELECT r.uid, t.trial_index, t.record_key, t.is_default FROM trials t JOIN runs r ON r.id = t.run_id "
      "ORDER BY r.uid, t.trial_index");
  while (trials.step()) {
    take(TrialRow{trials.text(0), trials.integer(1), trials.text(2), trials.integer(3) != 0});
  }
}

}  // namespace

void read_version_1(const Connection& connection, RowPart part, const TakeRow& take, const TakeDamaged& damaged) {
  switch (part) {
    case RowPart::runs:
      return read_runs(connection, take);
    case RowPart::records:
      return read_records(connection, take, damaged);
    case RowPart::trials:
      return read_trials(connection, take);
    case RowPart::marks: {
      Statement rows = connection.prepare("SELECT record_key, reason FROM retractions ORDER BY record_key, reason");
      while (rows.step()) take(RetractionRow{rows.text(0), rows.text(1)});
      return;
    }
  }
}

}  // namespace warpwright
