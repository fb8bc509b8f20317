// SQL of records, samples, workloads, devices, environments, trials and provenance.
#include "database/record_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "database/content_key.h"
#include "src/core/error.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr size_t kMostLogBytes = 64 * 1024;

constexpr std::string_view kSelect = R"sql(
SELECT r.content_key, r.workload_key, w.json, r.config_json, d.name, d.arch, d.target_key, d.target_json,
       e.description, r.evidence, r.outcome, r.message, r.log, r.limited_by, r.objective, r.source_hash, r.ptx_hash,
       r.cubin_hash, r.registers, r.spill_bytes, r.smem_bytes, r.compile_seconds, r.verify_seconds, r.run_seconds,
       t.run_id, t.trial_index, t.is_default
FROM records r
LEFT JOIN workloads w ON w.key = r.workload_key
LEFT JOIN devices d ON d.key = r.device_key
LEFT JOIN environments e ON e.key = r.environment_key
LEFT JOIN trials t ON t.record_key = r.content_key
  AND t.run_id = coalesce(?2, (SELECT min(f.run_id) FROM trials f WHERE f.record_key = r.content_key))
WHERE NOT EXISTS (SELECT 1 FROM retractions x WHERE x.record_key = r.content_key) AND
)sql";

void require(bool condition) {
  if (!condition) throw UsageError("damaged row");
}

/// The columns of kSelect as they stand.
Record columns_of_row(const Statement& row) {
  Record record;
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
  record.outcome.message = row.text(11);
  record.outcome.log = row.text(12);
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
  record.run_id = row.integer(24);
  record.trial_index = row.integer(25);
  record.is_default = row.integer(26) != 0;
  return record;
}

/// Throws UsageError when the row cannot be what was written.
Record record_of_row(const Statement& row, Statement& samples) {
  Record record = columns_of_row(row);
  samples.reset();
  samples.bind(1, record.content_key);
  while (samples.step()) {
    const double us = samples.real(0);
    require(std::isfinite(us) && us > 0);
    record.outcome.samples_us.push_back(us);
  }
  require(record.outcome.ok() != record.outcome.samples_us.empty());
  require(!try_parse_json(record.workload_json).is_discarded() && !try_parse_json(record.target_json).is_discarded());
  require(try_parse_json(record.config_json).is_object());
  require(content_key(record) == record.content_key);
  return record;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("unknown");
}

std::string user_name() {
  const char* user = std::getenv("USER");
  return user != nullptr ? std::string(user) : fmt::format("uid {}", getuid());
}

void insert_shared_rows(const Connection& connection, const Record& record) {
  connection.prepare("INSERT OR IGNORE INTO workloads (key, json) VALUES (?, ?)")
      .bind(1, record.workload_key)
      .bind(2, record.workload_json)
      .run();
  connection.prepare("INSERT OR IGNORE INTO devices (key, name, arch, target_key, target_json) VALUES (?, ?, ?, ?, ?)")
      .bind(1, device_key(record))
      .bind(2, record.device_name)
      .bind(3, record.arch)
      .bind(4, record.target_key)
      .bind(5, record.target_json)
      .run();
  connection.prepare("INSERT OR IGNORE INTO environments (key, description) VALUES (?, ?)")
      .bind(1, environment_key(record))
      .bind(2, record.environment)
      .run();
}

void insert_record_row(const Connection& connection, const Record& record, const std::string& key) {
  connection
      .prepare(
          "INSERT INTO records (content_key, workload_key, config_json, device_key, environment_key, evidence, "
          "outcome, message, log, limited_by, objective, source_hash, ptx_hash, cubin_hash, registers, "
          "spill_bytes, smem_bytes, compile_seconds, verify_seconds, run_seconds) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(1, key)
      .bind(2, record.workload_key)
      .bind(3, record.config_json)
      .bind(4, device_key(record))
      .bind(5, environment_key(record))
      .bind(6, name(record.evidence))
      .bind(7, name(record.outcome.kind))
      .bind(8, record.outcome.message)
      .bind(9, std::string_view(record.outcome.log).substr(0, kMostLogBytes))
      .bind(10, record.outcome.limited_by)
      .bind(11, record.objective)
      .bind(12, record.source_hash)
      .bind(13, record.ptx_hash)
      .bind(14, record.cubin_hash)
      .bind(15, static_cast<int64_t>(record.registers))
      .bind(16, static_cast<int64_t>(record.spill_bytes))
      .bind(17, record.smem_bytes)
      .bind(18, record.compile_seconds)
      .bind(19, record.verify_seconds)
      .bind(20, record.run_seconds)
      .run();
}

void insert_samples(const Connection& connection, const Record& record, const std::string& key) {
  Statement insert = connection.prepare("INSERT INTO samples (record_key, position, us) VALUES (?, ?, ?)");
  int64_t position = 0;
  for (const double us : record.outcome.samples_us) insert.bind(1, key).bind(2, position++).bind(3, us).run();
}

}  // namespace

RecordRows read_records(const Connection& connection, std::string_view condition, std::string_view parameter,
                        std::optional<int64_t> run_id) {
  Statement rows = connection.prepare(fmt::format("{} {}", kSelect, condition));
  rows.bind(1, parameter);
  if (run_id) rows.bind(2, *run_id);
  Statement samples = connection.prepare("SELECT us FROM samples WHERE record_key = ? ORDER BY position");
  RecordRows result;
  while (rows.step()) {
    try {
      result.records.push_back(record_of_row(rows, samples));
    } catch (const UsageError&) {
      ++result.damaged;
    }
  }
  return result;
}

std::string insert_record(const Connection& connection, const Record& record) {
  for (const double us : record.outcome.samples_us) {
    if (!std::isfinite(us) || us <= 0) throw InternalError("a sample of a record is no positive time");
  }
  if (record.outcome.ok() == record.outcome.samples_us.empty()) {
    throw InternalError("a record has samples if and only if its outcome is ok");
  }
  if (!Json::accept(record.workload_json) || !Json::accept(record.target_json) ||
      !try_parse_json(record.config_json).is_object()) {
    throw InternalError("a record carries text that is no JSON");
  }
  std::string key = content_key(record);
  insert_shared_rows(connection, record);
  Statement known = connection.prepare("SELECT 1 FROM records WHERE content_key = ?");
  known.bind(1, key);
  if (!known.step()) {
    insert_record_row(connection, record, key);
    insert_samples(connection, record, key);
    connection.prepare("INSERT OR IGNORE INTO provenance (record_key, host, user, recorded_utc) VALUES (?, ?, ?, ?)")
        .bind(1, key)
        .bind(2, host_name())
        .bind(3, user_name())
        .bind(4, utc_now())
        .run();
  }
  if (record.run_id != 0) {
    connection
        .prepare("INSERT OR REPLACE INTO trials (run_id, trial_index, record_key, is_default) VALUES (?, ?, ?, ?)")
        .bind(1, record.run_id)
        .bind(2, record.trial_index)
        .bind(3, key)
        .bind(4, static_cast<int64_t>(record.is_default))
        .run();
  }
  return key;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace warpwright
