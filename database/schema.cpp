// Tables of schema version 1 and the checks on opening.
#include "database/schema.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include "src/core/error.h"

namespace warpwright {
namespace {

// Keys are hashes of content (see content_key.h), so that a merge is a union of rows. What differs from file to file
// (run ids, hosts, paths) is no part of any key.
constexpr const char* kTables = R"sql(
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

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

}  // namespace

FileHeader read_file_header(const std::filesystem::path& path) {
  if (path.empty()) throw UsageError("the name of a database is empty");
  FileHeader header;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    if (error && error != std::errc::no_such_file_or_directory) {
      throw EnvironmentError(fmt::format("{}: cannot be looked at: {}", path.string(), error.message()));
    }
    return header;
  }
  if (std::filesystem::is_directory(status))
    throw UsageError(fmt::format("{}: is a folder, no database", path.string()));
  header.exists = true;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 20> bytes{};
  if (!file) throw EnvironmentError(fmt::format("{}: cannot be read; check its permissions", path.string()));
  file.read(bytes.data(), bytes.size());
  header.size_bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
  header.is_sqlite = std::string_view(bytes.data(), kSqliteMagic.size()) == kSqliteMagic;
  header.is_wal = header.is_sqlite && (bytes[18] == 2 || bytes[19] == 2);  // file format, bytes 18 and 19: 2 is WAL
  const auto wal_bytes = std::filesystem::file_size(path.string() + "-wal", error);
  header.has_wal_beside = !error && wal_bytes > 0;
  return header;
}

void check_identity(const Connection& connection, OpenMode mode) {
  const std::string where = connection.path().string();
  const int64_t application = connection.integer("PRAGMA application_id");
  if (application != kDatabaseApplicationId) {
    throw UsageError(
        fmt::format("{}: is a database of another program (application_id {:#x}, expected {:#x}); it was "
                    "left as it is",
                    where, application, kDatabaseApplicationId));
  }
  const int64_t version = connection.integer("PRAGMA user_version");
  if (version > kSchemaVersion) {
    throw UsageError(
        fmt::format("{}: has schema version {}, newer than the {} that this program knows; use a newer "
                    "warpwright",
                    where, version, kSchemaVersion));
  }
  if (version < 1) throw UsageError(fmt::format("{}: has no schema version; the database is damaged", where));
  if (version < kSchemaVersion && mode == OpenMode::read_write) {
    throw UsageError(
        fmt::format("{}: has schema version {}, older than {}: it can be read, but record into a new database", where,
                    version, kSchemaVersion));
  }
}

void create_if_empty(const Connection& connection) {
  const bool is_empty =
      connection.integer("SELECT count(*) FROM sqlite_schema") == 0 && connection.integer("PRAGMA application_id") == 0;
  if (is_empty) {
    Transaction transaction(connection);
    if (connection.integer("SELECT count(*) FROM sqlite_schema") == 0) {  // nobody was faster
      connection.execute(kTables);
      connection.execute(fmt::format("PRAGMA application_id = {}", kDatabaseApplicationId).c_str());
      connection.execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
    }
    transaction.commit();
  }
  check_identity(connection, OpenMode::read_write);
}

}  // namespace warpwright
