// SQL that inserts rows.
#include "database/row_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "database/content_key.h"
#include "database/workload_form.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

std::string text_of(const Json& json) { return json.is_null() ? std::string() : json.dump(); }

constexpr const char* kInsertRun = R"sql(
INSERT INTO runs (uid, key, model_digest, device_name, seed, limits_json, started_utc, heartbeat_utc, ended_utc,
                  end_reason, summary_json, model_name, arguments, host, user)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (uid) DO UPDATE SET
  heartbeat_utc = excluded.heartbeat_utc, ended_utc = excluded.ended_utc, end_reason = excluded.end_reason,
  summary_json = excluded.summary_json, model_name = excluded.model_name, arguments = excluded.arguments,
  host = excluded.host, user = excluded.user
WHERE (excluded.heartbeat_utc, excluded.ended_utc, excluded.end_reason, excluded.summary_json, excluded.model_name,
       excluded.arguments, excluded.host, excluded.user)
    > (heartbeat_utc, ended_utc, end_reason, summary_json, model_name, arguments, host, user)
)sql";

constexpr std::string_view kInsertNewRecord = R"sql(
INSERT INTO records (content_key, workload_id, config_id, device_id, environment_id, space, evidence, outcome,
                     median_us, limited_by, objective, conditions_json, source_hash, ptx_hash, cubin_hash, registers,
                     spill_bytes, smem_bytes, message, log, compile_seconds, verify_seconds, run_seconds)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (content_key) DO UPDATE SET
)sql";

constexpr std::string_view kReplacing = R"sql(
  workload_id = excluded.workload_id, config_id = excluded.config_id, device_id = excluded.device_id,
  environment_id = excluded.environment_id, space = excluded.space, evidence = excluded.evidence,
  outcome = excluded.outcome, median_us = excluded.median_us, limited_by = excluded.limited_by,
  objective = excluded.objective, conditions_json = excluded.conditions_json, source_hash = excluded.source_hash,
  ptx_hash = excluded.ptx_hash, cubin_hash = excluded.cubin_hash, registers = excluded.registers,
  spill_bytes = excluded.spill_bytes, smem_bytes = excluded.smem_bytes, message = excluded.message,
  log = excluded.log, compile_seconds = excluded.compile_seconds, verify_seconds = excluded.verify_seconds,
  run_seconds = excluded.run_seconds
)sql";

constexpr std::string_view kKeepingTheGreater = R"sql(
  message = excluded.message, log = excluded.log, compile_seconds = excluded.compile_seconds,
  verify_seconds = excluded.verify_seconds, run_seconds = excluded.run_seconds
WHERE (excluded.message, excluded.log, excluded.compile_seconds, excluded.verify_seconds, excluded.run_seconds)
    > (message, log, compile_seconds, verify_seconds, run_seconds)
)sql";

const std::string kInsertRecord = fmt::format("{}{}", kInsertNewRecord, kKeepingTheGreater);
const std::string kReplaceRecord = fmt::format("{}{}", kInsertNewRecord, kReplacing);

constexpr const char* kInsertProvenance = R"sql(
INSERT INTO provenance (record_id, host, user, recorded_utc)
SELECT id, ?2, ?3, ?4 FROM records WHERE content_key = ?1
ON CONFLICT (record_id) DO UPDATE SET host = excluded.host, user = excluded.user, recorded_utc = excluded.recorded_utc
WHERE (excluded.recorded_utc, excluded.host, excluded.user) > (recorded_utc, host, user)
)sql";

constexpr const char* kInsertTrial = R"sql(
INSERT OR IGNORE INTO trials (run_id, trial_index, record_id)
SELECT runs.id, ?2, records.id FROM runs, records WHERE runs.uid = ?1 AND records.content_key = ?3
)sql";

constexpr const char* kInsertDefault = R"sql(
INSERT OR IGNORE INTO defaults (workload_id, run_id, record_id)
SELECT records.workload_id, runs.id, records.id FROM runs, records WHERE runs.uid = ?1 AND records.content_key = ?2
)sql";

}  // namespace

RowWriter::RowWriter(const Connection& connection) : connection_(&connection) {}

Inserted RowWriter::insert(const Row& row) {
  return std::visit([this](const auto& of_kind) { return insert(of_kind); }, row);
}

Statement& RowWriter::statement(const char* sql) {
  const auto known = statements_.find(sql);
  return known != statements_.end() ? known->second : statements_.emplace(sql, connection_->prepare(sql)).first->second;
}

std::optional<int64_t> RowWriter::look_up(const char* sql, const std::string& key) {
  Statement& query = statement(sql);
  query.bind(1, key);
  std::optional<int64_t> id;
  if (query.step()) id = query.integer(0);
  query.reset();
  return id;
}

Inserted RowWriter::insert(const RunRow& run) {
  const bool is_new = !look_up("SELECT id FROM runs WHERE uid = ?", run.uid);
  statement(kInsertRun)
      .bind(1, run.uid)
      .bind(2, run_key(run.key))
      .bind(3, run.key.model_digest)
      .bind(4, run.key.device_name)
      .bind(5, std::to_string(run.key.seed))
      .bind(6, run.key.limits.dump())
      .bind(7, run.started_utc)
      .bind(8, run.heartbeat_utc)
      .bind(9, run.ended_utc)
      .bind(10, run.end_reason)
      .bind(11, text_of(run.summary))
      .bind(12, run.model_name)
      .bind(13, run.arguments)
      .bind(14, run.host)
      .bind(15, run.user)
      .run();
  return is_new ? Inserted::is_new : Inserted::was_known;
}

int64_t RowWriter::workload_id(const Record& record) {
  const char* find = "SELECT id FROM workloads WHERE key = ?";
  if (const auto id = look_up(find, record.workload_key)) return *id;
  const WorkloadForm form = workload_form(record.workload_json);
  statement("INSERT INTO workloads (key, json, form, log2_size) VALUES (?, ?, ?, ?)")
      .bind(1, record.workload_key)
      .bind(2, record.workload_json)
      .bind(3, form.key)
      .bind(4, form.log2_size)
      .run();
  return *look_up(find, record.workload_key);
}

int64_t RowWriter::config_id(const Record& record) {
  const char* find = "SELECT id FROM configs WHERE key = ?";
  const std::string key = config_key(record.config_json);
  if (const auto id = look_up(find, key)) return *id;
  statement("INSERT INTO configs (key, json) VALUES (?, ?)").bind(1, key).bind(2, record.config_json).run();
  return *look_up(find, key);
}

int64_t RowWriter::device_id(const Record& record) {
  const char* find = "SELECT id FROM devices WHERE key = ?";
  const std::string key = device_key(record);
  if (const auto id = look_up(find, key)) return *id;
  statement("INSERT INTO devices (key, name, arch, target_key, target_json) VALUES (?, ?, ?, ?, ?)")
      .bind(1, key)
      .bind(2, record.device_name)
      .bind(3, record.arch)
      .bind(4, record.target_key)
      .bind(5, record.target_json)
      .run();
  return *look_up(find, key);
}

int64_t RowWriter::environment_id(const Record& record) {
  const char* find = "SELECT id FROM environments WHERE key = ?";
  const std::string key = environment_key(record);
  if (const auto id = look_up(find, key)) return *id;
  statement("INSERT INTO environments (key, description) VALUES (?, ?)").bind(1, key).bind(2, record.environment).run();
  return *look_up(find, key);
}

void RowWriter::insert_samples(int64_t record_id, bool is_warm, const std::vector<double>& samples_us) {
  Statement& insert = statement("INSERT INTO samples (record_id, is_warm, position, us) VALUES (?, ?, ?, ?)");
  int64_t position = 0;
  for (const double us : samples_us) {
    insert.bind(1, record_id).bind(2, static_cast<int64_t>(is_warm)).bind(3, position++).bind(4, us).run();
  }
}

Inserted RowWriter::insert(const RecordRow& row) {
  const Inserted inserted = insert_record(row.record, false);
  insert_provenance(row);
  return inserted;
}

void RowWriter::put(const RecordRow& row) {
  mend_references(row.record);
  insert_record(row.record, holds_damaged(row.record.content_key));
  insert_provenance(row);
}

void RowWriter::insert_provenance(const RecordRow& row) {
  statement(kInsertProvenance)
      .bind(1, row.record.content_key)
      .bind(2, row.host)
      .bind(3, row.user)
      .bind(4, row.recorded_utc)
      .run();
}

/// `replaces`: the row of that key is damaged, and all of it is written anew.
Inserted RowWriter::insert_record(const Record& record, bool replaces) {
  const char* find = "SELECT id FROM records WHERE content_key = ?";
  const bool is_new = !look_up(find, record.content_key);
  Statement& insert = statement(replaces ? kReplaceRecord.c_str() : kInsertRecord.c_str());
  insert.bind(1, record.content_key)
      .bind(2, workload_id(record))
      .bind(3, config_id(record))
      .bind(4, device_id(record))
      .bind(5, environment_id(record))
      .bind(6, space_of(record.config_json))
      .bind(7, name(record.evidence))
      .bind(8, name(record.outcome.kind));
  if (record.outcome.ok()) {
    insert.bind(9, record.outcome.median_us());
  } else {
    insert.bind_null(9);
  }
  insert.bind(10, record.outcome.limited_by)
      .bind(11, record.objective)
      .bind(12, text_of(record.conditions))
      .bind(13, record.source_hash)
      .bind(14, record.ptx_hash)
      .bind(15, record.cubin_hash)
      .bind(16, static_cast<int64_t>(record.registers))
      .bind(17, static_cast<int64_t>(record.spill_bytes))
      .bind(18, record.smem_bytes)
      .bind(19, record.outcome.message)
      .bind(20, record.outcome.log)
      .bind(21, record.compile_seconds)
      .bind(22, record.verify_seconds)
      .bind(23, record.run_seconds)
      .run();
  if (is_new || replaces) {
    const int64_t id = *look_up(find, record.content_key);
    if (replaces) remove_details(id);
    insert_samples(id, false, record.outcome.samples_us);
    insert_samples(id, true, record.warm_samples_us);
  }
  return is_new ? Inserted::is_new : Inserted::was_known;
}

Inserted RowWriter::insert(const TrialRow& trial) {
  statement(kInsertTrial).bind(1, trial.run_uid).bind(2, trial.trial_index).bind(3, trial.record_key).run();
  const bool is_new = sqlite3_changes(connection_->handle()) > 0;
  if (!is_new && (!look_up("SELECT id FROM runs WHERE uid = ?", trial.run_uid) ||
                  !look_up("SELECT id FROM records WHERE content_key = ?", trial.record_key))) {
    return Inserted::left_out;
  }
  if (trial.is_default) statement(kInsertDefault).bind(1, trial.run_uid).bind(2, trial.record_key).run();
  return is_new ? Inserted::is_new : Inserted::was_known;
}

Inserted RowWriter::insert(const RetractionRow& row) {
  statement("INSERT OR IGNORE INTO retractions (record_key, reason) VALUES (?, ?)")
      .bind(1, row.record_key)
      .bind(2, row.reason)
      .run();
  return sqlite3_changes(connection_->handle()) > 0 ? Inserted::is_new : Inserted::was_known;
}

Inserted RowWriter::insert(const ClearanceRow& row) {
  statement("INSERT OR IGNORE INTO clearances (record_key, verified_by) VALUES (?, ?)")
      .bind(1, row.record_key)
      .bind(2, row.verified_by)
      .run();
  return sqlite3_changes(connection_->handle()) > 0 ? Inserted::is_new : Inserted::was_known;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("unknown");
}

std::string user_name() {
  const char* user = std::getenv("USER");
  return user != nullptr ? std::string(user) : fmt::format("uid {}", getuid());
}

std::string space_of(const std::string& config_json) {
  const Json config = try_parse_json(config_json);
  if (!config.is_object()) return {};
  const auto family = config.find("family"), version = config.find("space_version");
  if (family == config.end() || !family->is_string() || version == config.end() || !version->is_number_integer()) {
    return {};
  }
  return fmt::format("{}/{}", family->get<std::string>(), version->get<int64_t>());
}

}  // namespace warpwright
