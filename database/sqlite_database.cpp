// Opening and reading of one database file.
#include "database/sqlite_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "database/content_key.h"
#include "database/row_reader.h"
#include "database/run_rows.h"
#include "src/core/error.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

/// Rows of an older schema in a temporary database of today's.
std::unique_ptr<Connection> read_into_temporary(const Connection& old) {
  std::unique_ptr<Connection> connection = Connection::temporary(old.path());
  create_if_empty(*connection);
  RowWriter writer(*connection);
  std::map<std::string, int64_t> refused;
  Transaction transaction(*connection);
  read_rows(
      old,
      [&](const Row& row) {
        if (writer.insert(row) == Inserted::left_out) ++refused["a trial whose run or record is damaged"];
      },
      [&](const DamagedRow& row) { ++refused[row.why]; });
  transaction.commit();
  for (const auto& [why, count] : refused) {
    log_warning("{}: {} damaged rows were skipped: {}", old.path().string(), count, why);
  }
  return connection;
}

std::unique_ptr<Connection> open_to_write(const std::filesystem::path& path) {
  const FileHeader header = read_file_header(path);
  refuse_foreign(path, header);
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

}  // namespace

std::unique_ptr<Connection> open_as_it_is(const std::filesystem::path& path) {
  const FileHeader header = read_file_header(path);
  if (!header.exists) throw UsageError(fmt::format("{}: there is no such database", path.string()));
  if (header.size_bytes == 0) throw UsageError(fmt::format("{}: is no database: it is empty", path.string()));
  refuse_foreign(path, header);
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
    check_layout(*connection);
  } catch (const EnvironmentError& error) {
    if (!header.has_wal_beside) throw;
    throw EnvironmentError(
        fmt::format("{}; its -wal file holds records that are not in it yet: copy both to a folder "
                    "that may be written",
                    error.what()));
  }
  return connection;
}

std::unique_ptr<Connection> open_to_read(const std::filesystem::path& path) {
  std::unique_ptr<Connection> connection = open_as_it_is(path);
  const bool is_old = connection->integer("PRAGMA user_version") < kSchemaVersion;
  return is_old ? read_into_temporary(*connection) : std::move(connection);
}

SqliteDatabase::SqliteDatabase(const std::filesystem::path& path, OpenMode mode, const LocalFileSystem& is_local)
    : path_(path), mode_(mode) {
  if (mode == OpenMode::read_only) {
    connection_ = open_to_read(path);
  } else {
    connection_ = open_to_write(path);
    begin_writing(is_local(path));
    writer_ = std::make_unique<RowWriter>(*connection_);
    guard_ = std::make_unique<FileGuard>(*connection_);
    guard_->check();
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
void SqliteDatabase::begin_writing(bool wal) {
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

namespace {

constexpr std::chrono::seconds kMostTimeToLeaveWal(3);

/// Leaving WAL needs the file alone. Of several writers that end at once the last does it: none holds the file while it
/// waits for the others. With a writer that goes on it is given up, and that one does it at its end.
void leave_wal(const std::filesystem::path& path) {
  const auto deadline = std::chrono::steady_clock::now() + kMostTimeToLeaveWal;
  std::minstd_rand random(std::random_device{}());
  for (int most_pause_ms = 4; read_file_header(path).is_wal; most_pause_ms = std::min(2 * most_pause_ms, 64)) {
    {
      const Connection connection(path, Connection::Access::read_write);
      sqlite3_busy_timeout(connection.handle(), 0);
      if (connection.try_execute("PRAGMA journal_mode = DELETE") == SQLITE_OK) return;
    }
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + random() % static_cast<unsigned>(most_pause_ms)));
  }
}

}  // namespace

void SqliteDatabase::close() {
  if (!connection_) return;
  writer_.reset();
  if (mode_ == OpenMode::read_only) return connection_.reset();
  const bool was_lost = guard_->is_lost();
  try {
    guard_->check();
  } catch (const EnvironmentError&) {  // nothing is written to what is at the path now
    sqlite3_db_config(connection_->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    connection_.reset();
    guard_->remove_stray_log();
    if (was_lost) return;  // and told
    throw;
  }
  connection_->try_execute("PRAGMA wal_checkpoint(TRUNCATE)");
  connection_.reset();
  leave_wal(path_);
}

const Connection& SqliteDatabase::connection() const {
  if (!connection_) throw InternalError(fmt::format("{}: used after it was closed", path_.string()));
  return *connection_;
}

std::vector<Record> SqliteDatabase::read(RecordQuery& query) const {
  std::vector<Record> records;
  while (std::optional<RecordRow> row = query.next()) records.push_back(std::move(row->record));
  for (const auto& [why, count] : query.damaged()) {
    log_warning("{}: {} damaged records were skipped: {}", path_.string(), count, why);
  }
  return records;
}

namespace {

constexpr const char* kOfWorkload = "r.workload_id = (SELECT id FROM workloads WHERE key = ?2)";
/// Of those whose keys begin so; `~` follows what a key is of.
constexpr const char* kOfWorkloads = "r.workload_id IN (SELECT id FROM workloads WHERE key >= ?2 AND key < ?2 || '~')";

}  // namespace

std::vector<Record> SqliteDatabase::records(const std::string& workload_key) const {
  RecordQuery query(connection(), fmt::format("{} ORDER BY r.id", kOfWorkload));
  query.bind(2, workload_key);
  return read(query);
}

std::vector<Record> SqliteDatabase::all_records(const std::string& workload_key) const {
  RecordQuery query(connection(), fmt::format("{} ORDER BY r.id", kOfWorkload), std::nullopt, Retracted::shown);
  query.bind(2, workload_key);
  return read(query);
}

std::vector<Record> SqliteDatabase::retracted(const std::string& workload_key) const {
  constexpr const char* kIsRetracted = "EXISTS (SELECT 1 FROM retractions y WHERE y.record_key = r.content_key)";
  RecordQuery query(connection(), fmt::format("{} AND {} ORDER BY r.id", kOfWorkload, kIsRetracted), std::nullopt,
                    Retracted::shown);
  query.bind(2, workload_key);
  return read(query);
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
  RecordQuery query(connection(), fmt::format("{} AND (?3 = '' OR r.outcome = ?3) ORDER BY r.id DESC LIMIT ?4",
                                              workload_key.empty() ? "?2 = ''" : kOfWorkloads));
  query.bind(2, workload_key).bind(3, outcome).bind(4, static_cast<int64_t>(std::max(0, limit)));
  return read(query);
}

std::optional<Record> SqliteDatabase::find(const std::string& content_key_prefix) const {
  if (content_key_prefix.empty() || content_key_prefix.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw UsageError(fmt::format("'{}' is no key of a record, nor the start of one", content_key_prefix));
  }
  // `g` follows the last digit.
  RecordQuery query(connection(), "r.content_key >= ?2 AND r.content_key < ?2 || 'g' ORDER BY r.content_key LIMIT 2");
  query.bind(2, content_key_prefix);
  std::vector<Record> found = read(query);
  if (found.size() > 1) {
    throw UsageError(fmt::format("{}: '{}' is the start of more than one key; give more digits", path_.string(),
                                 content_key_prefix));
  }
  return found.empty() ? std::nullopt : std::optional<Record>(std::move(found[0]));
}

std::vector<Record> SqliteDatabase::run_records(int64_t run_id) const {
  RecordQuery query(connection(), "TRUE ORDER BY t.trial_index, r.id", run_id);
  return read(query);
}

Statistics SqliteDatabase::statistics() const {
  Statistics statistics;
  statistics.workloads = connection().integer("SELECT count(*) FROM workloads");
  statistics.runs = connection().integer("SELECT count(*) FROM runs");
  Statement rows = connection().prepare(
      "SELECT r.outcome, d.name, count(*) FROM records r JOIN devices d ON d.id = r.device_id WHERE r.content_key NOT "
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

std::vector<RunInfo> SqliteDatabase::runs() const {
  std::vector<RunInfo> runs;
  for (const StoredRun& run : read_runs(connection())) {
    if (const auto why = why_invalid(run.row)) {
      log_warning("{}: run {} is damaged and was skipped: {}", path_.string(), run.id, *why);
    } else {
      runs.push_back(info_of(run));
    }
  }
  return runs;
}

bool SqliteDatabase::holds(const char* sql, const std::string& key) const {
  Statement row = connection().prepare(sql);
  row.bind(1, key);
  return row.step();
}

bool SqliteDatabase::is_retracted(const std::string& content_key) const {
  return holds("SELECT 1 FROM retractions WHERE record_key = ?", content_key);
}

bool SqliteDatabase::is_cleared(const std::string& content_key) const {
  const std::string sql = fmt::format("SELECT 1 FROM (SELECT ? AS content_key) r WHERE {}", kIsCleared);
  return holds(sql.c_str(), content_key);
}

std::vector<std::string> SqliteDatabase::verifiers(const std::string& content_key) const {
  Statement rows = connection().prepare("SELECT verified_by FROM clearances WHERE record_key = ?");
  rows.bind(1, content_key);
  std::vector<std::string> keys;
  while (rows.step()) keys.push_back(rows.text(0));
  return keys;
}

bool SqliteDatabase::has_ok_record(const std::string& content_key) const {
  return holds("SELECT 1 FROM records WHERE content_key = ? AND outcome = 'ok'", content_key);
}

std::set<std::string> SqliteDatabase::run_uids() const {
  std::set<std::string> uids;
  Statement rows = connection().prepare("SELECT uid FROM runs");
  while (rows.step()) uids.insert(rows.text(0));
  return uids;
}

}  // namespace warpwright
