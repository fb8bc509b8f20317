// Opening, reading and writing of one database file.
#include "database/sqlite_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <thread>

#include "database/content_key.h"
#include "database/file_system.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

std::unique_ptr<Connection> open_to_read(const std::filesystem::path& path) {
  const FileHeader header = read_file_header(path);
  if (!header.exists) throw UsageError(fmt::format("{}: there is no such database", path.string()));
  if (!header.is_sqlite) throw UsageError(fmt::format("{}: is no database; it was left as it is", path.string()));
  // Without a log beside it nobody writes now: no lock, no file beside it, so that a read-only folder will do.
  const bool is_still = header.is_wal && !header.has_wal_beside;
  if (is_still) {
    log_warning(
        "{}: was copied while it was written to, or its writer was killed, and its -wal file is missing: the "
        "latest records may be lacking; close the writer, then copy it again",
        path.string());
  }
  const auto access = is_still ? Connection::Access::read_immutable : Connection::Access::read_only;
  auto connection = std::make_unique<Connection>(path, access);
  try {
    check_identity(*connection, OpenMode::read_only);
  } catch (const EnvironmentError& error) {
    if (!header.has_wal_beside) throw;
    throw EnvironmentError(
        fmt::format("{}; its -wal file holds records that are not in it yet: copy both to a folder "
                    "that may be written",
                    error.what()));
  }
  return connection;
}

std::unique_ptr<Connection> open_to_write(const std::filesystem::path& path) {
  const FileHeader header = read_file_header(path);
  if (header.size_bytes > 0 && !header.is_sqlite) {
    throw UsageError(fmt::format("{}: is no database; it was left as it is", path.string()));
  }
  if (header.is_wal && !header.has_wal_beside) {
    log_warning("{}: its -wal file is missing: the latest records may be lacking", path.string());
  }
  auto connection = std::make_unique<Connection>(path, Connection::Access::read_write);
  if (sqlite3_db_readonly(connection->handle(), "main") == 1) {
    throw EnvironmentError(fmt::format("{}: may not be written; check the permissions of the file", path.string()));
  }
  create_if_empty(*connection);
  return connection;
}

std::string random_uid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

SqliteDatabase::SqliteDatabase(const std::filesystem::path& path, OpenMode mode) : path_(path), mode_(mode) {
  if (mode == OpenMode::read_only) {
    connection_ = open_to_read(path);
  } else {
    connection_ = open_to_write(path);
    begin_writing();
  }
}

SqliteDatabase::~SqliteDatabase() {
  try {
    close();
  } catch (const std::exception& error) {
    log_warning("{}", error.what());
  }
}

/// Puts the journal into the mode of the file system. Changing it takes the file for a moment alone, which SQLite's own
/// busy handler does not wait for.
void SqliteDatabase::begin_writing() {
  const bool wal = is_on_local_file_system(path_);
  const char* change = wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
  std::chrono::milliseconds pause(2);
  int status = connection_->try_execute(change);
  while (((status & 0xff) == SQLITE_BUSY || (status & 0xff) == SQLITE_LOCKED || (status & 0xff) == SQLITE_PROTOCOL) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
    status = connection_->try_execute(change);
  }
  if (status != SQLITE_OK) connection_->fail(status);
  // A killed process loses nothing either way; a power cut may cost the latest commits under WAL, never the file.
  connection_->execute(wal ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  connection_->execute("PRAGMA foreign_keys = ON");
}

void SqliteDatabase::close() {
  if (!connection_) return;
  if (mode_ == OpenMode::read_write) {
    connection_->try_execute("PRAGMA wal_checkpoint(TRUNCATE)");
    // Leaving WAL needs the file alone. With another writer at work the last one to close does it; two that close at
    // the same moment each wait a little for the other.
    sqlite3_busy_timeout(connection_->handle(), 0);
    for (int attempt = 0; attempt < 5; ++attempt) {
      const int status = connection_->try_execute("PRAGMA journal_mode = DELETE");
      if ((status & 0xff) != SQLITE_BUSY && (status & 0xff) != SQLITE_LOCKED) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(4 << attempt));
    }
  }
  connection_.reset();
}

const Connection& SqliteDatabase::connection() const {
  if (!connection_) throw InternalError(fmt::format("{}: used after it was closed", path_.string()));
  return *connection_;
}

void SqliteDatabase::require_writable() const {
  if (mode_ != OpenMode::read_write) throw InternalError(fmt::format("{}: is open for reading", path_.string()));
}

std::vector<Record> SqliteDatabase::read(std::string_view condition, std::string_view parameter,
                                         std::optional<int64_t> run_id) const {
  RecordRows rows = read_records(connection(), condition, parameter, run_id);
  if (rows.damaged > 0) log_warning("{}: {} damaged records were skipped", path_.string(), rows.damaged);
  return std::move(rows.records);
}

std::vector<Record> SqliteDatabase::records(const std::string& workload_key) const {
  return read("r.workload_key = ?1 ORDER BY r.id", workload_key);
}

std::vector<Record> SqliteDatabase::best(const std::string& workload_key, const std::string& arch, int limit) const {
  return fastest(read("r.workload_key = ?1 AND r.outcome = 'ok' ORDER BY r.id", workload_key), arch, limit);
}

std::vector<Record> fastest(std::vector<Record> records, const std::string& arch, int limit) {
  std::erase_if(records,
                [&](const Record& record) { return !record.outcome.ok() || (!arch.empty() && record.arch != arch); });
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < records.size(); ++i) order.emplace_back(records[i].outcome.median_us(), i);
  // Equal times: by content key, so that every file order gives the same.
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : records[a.second].content_key < records[b.second].content_key;
  });
  std::vector<Record> sorted;
  for (const auto& [us, index] : order) {
    if (static_cast<int64_t>(sorted.size()) >= limit) break;
    sorted.push_back(std::move(records[index]));
  }
  return sorted;
}

std::vector<std::string> SqliteDatabase::workload_keys() const {
  std::vector<std::string> keys;
  Statement rows = connection().prepare("SELECT key FROM workloads ORDER BY key");
  while (rows.step()) keys.push_back(rows.text(0));
  return keys;
}

std::string SqliteDatabase::workload_json(const std::string& workload_key) const {
  Statement row = connection().prepare("SELECT json FROM workloads WHERE key = ?");
  row.bind(1, workload_key);
  if (!row.step()) throw UsageError(fmt::format("{}: holds no workload {}", path_.string(), workload_key));
  return row.text(0);
}

std::vector<Record> SqliteDatabase::list(const std::string& workload_key, const std::string& outcome, int limit) const {
  if (!outcome.empty()) outcome_kind_from_name(outcome);  // throws for a name that no record can have
  const std::string condition =
      fmt::format("{} AND {} ORDER BY r.id DESC LIMIT {}", workload_key.empty() ? "?1 = ''" : "r.workload_key = ?1",
                  outcome.empty() ? "TRUE" : fmt::format("r.outcome = '{}'", outcome), std::max(0, limit));
  return read(condition, workload_key);
}

std::optional<Record> SqliteDatabase::find(const std::string& content_key_prefix) const {
  if (content_key_prefix.empty() || content_key_prefix.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw UsageError(fmt::format("'{}' is no key of a record, nor the start of one", content_key_prefix));
  }
  std::vector<Record> found =
      read("substr(r.content_key, 1, length(?1)) = ?1 ORDER BY r.id LIMIT 8", content_key_prefix);
  if (found.size() > 1) {
    throw UsageError(fmt::format("{}: '{}' is the start of more than one key; give more digits", path_.string(),
                                 content_key_prefix));
  }
  return found.empty() ? std::nullopt : std::optional<Record>(std::move(found[0]));
}

std::vector<Record> SqliteDatabase::run_records(int64_t run_id) const {
  return read("?1 = '' AND t.run_id = ?2 ORDER BY t.trial_index", "", run_id);
}

Statistics SqliteDatabase::statistics() const {
  Statistics statistics;
  statistics.workloads = connection().integer("SELECT count(*) FROM workloads");
  statistics.runs = connection().integer("SELECT count(*) FROM runs");
  Statement rows = connection().prepare(
      "SELECT r.outcome, d.name, count(*) FROM records r JOIN devices d ON d.key = r.device_key WHERE r.content_key "
      "NOT "
      "IN (SELECT record_key FROM retractions) GROUP BY r.outcome, d.name");
  while (rows.step()) {
    const int64_t count = rows.integer(2);
    statistics.records += count;
    statistics.by_outcome[rows.text(0)] += count;
    statistics.by_device[rows.text(1)] += count;
  }
  statistics.ok = statistics.by_outcome.contains("ok") ? statistics.by_outcome.at("ok") : 0;
  return statistics;
}

namespace {

constexpr const char* kSelectRuns =
    "SELECT id, model_digest, device_name, seed, limits_json, model_name, started_utc, heartbeat_utc, ended_utc, "
    "end_reason, (SELECT count(*) FROM trials t WHERE t.run_id = runs.id) FROM runs ";

}  // namespace

RunInfo SqliteDatabase::run_of_row(const Statement& row) const {
  RunInfo run;
  run.id = row.integer(0);
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
  run.trials_done = row.integer(10);
  return run;
}

std::vector<RunInfo> SqliteDatabase::runs() const {
  std::vector<RunInfo> runs;
  Statement rows = connection().prepare(std::string(kSelectRuns) + "ORDER BY id");
  while (rows.step()) {
    RunInfo run = run_of_row(rows);
    if (run.key.limits.is_discarded()) {
      log_warning("{}: run {} is damaged and was skipped", path_.string(), run.id);
    } else {
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

RunInfo SqliteDatabase::begin_run(const RunKey& key, const std::string& model_name) {
  require_writable();
  const std::string hash = run_key(key);
  const std::string now = utc_now();
  Transaction transaction(connection());
  Statement known = connection().prepare("SELECT id FROM runs WHERE key = ? ORDER BY id LIMIT 1");
  known.bind(1, hash);
  int64_t id = 0;
  if (known.step()) {
    id = known.integer(0);
    connection()
        .prepare("UPDATE runs SET heartbeat_utc = ?, ended_utc = '', end_reason = '' WHERE id = ?")
        .bind(1, now)
        .bind(2, id)
        .run();
  } else {
    connection()
        .prepare(
            "INSERT INTO runs (uid, key, model_digest, device_name, seed, limits_json, model_name, started_utc, "
            "heartbeat_utc, ended_utc, end_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', '')")
        .bind(1, random_uid())
        .bind(2, hash)
        .bind(3, key.model_digest)
        .bind(4, key.device_name)
        .bind(5, std::to_string(key.seed))
        .bind(6, key.limits.dump())
        .bind(7, model_name)
        .bind(8, now)
        .bind(9, now)
        .run();
    id = sqlite3_last_insert_rowid(connection().handle());
  }
  known.reset();
  transaction.commit();
  Statement row = connection().prepare(std::string(kSelectRuns) + "WHERE id = ?");
  row.bind(1, id);
  if (!row.step()) throw InternalError(fmt::format("{}: run {} is gone", path_.string(), id));
  return run_of_row(row);
}

void SqliteDatabase::end_run(int64_t run_id, const std::string& reason) {
  require_writable();
  const std::string now = utc_now();
  Transaction transaction(connection());
  connection()
      .prepare("UPDATE runs SET heartbeat_utc = ?1, ended_utc = ?1, end_reason = ?2 WHERE id = ?3")
      .bind(1, now)
      .bind(2, reason)
      .bind(3, run_id)
      .run();
  transaction.commit();
}

std::string SqliteDatabase::add(const Record& record) {
  require_writable();
  Transaction transaction(connection());
  std::string key = insert_record(connection(), record);
  if (record.run_id != 0) {
    connection()
        .prepare("UPDATE runs SET heartbeat_utc = ? WHERE id = ?")
        .bind(1, utc_now())
        .bind(2, record.run_id)
        .run();
  }
  transaction.commit();
  return key;
}

void SqliteDatabase::retract(const std::string& content_key, const std::string& reason) {
  require_writable();
  Transaction transaction(connection());
  connection()
      .prepare("INSERT OR IGNORE INTO retractions (record_key, reason) VALUES (?, ?)")
      .bind(1, content_key)
      .bind(2, reason)
      .run();
  transaction.commit();
}

std::set<std::string> SqliteDatabase::retracted() const {
  std::set<std::string> keys;
  Statement rows = connection().prepare("SELECT record_key FROM retractions");
  while (rows.step()) keys.insert(rows.text(0));
  return keys;
}

std::set<std::string> SqliteDatabase::run_uids() const {
  std::set<std::string> uids;
  Statement rows = connection().prepare("SELECT uid FROM runs");
  while (rows.step()) uids.insert(rows.text(0));
  return uids;
}

}  // namespace warpwright
