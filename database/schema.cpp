// Tables of today's schema version and the checks on opening.
#include "database/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <system_error>

#include "database/open_files.h"
#include "database/version_1.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

// Keys are hashes of content (see content_key.h), so that a merge is a union of rows. What differs from file to file
// (run ids, hosts, paths) is no part of any key.
// Content keys (content_key.h) make two rows the same in whichever file they stand, so that a merge is a union. The ids
// are of this file alone. What differs from file to file (hosts, paths) is no part of any key.
constexpr const char* kTables = R"sql(
CREATE TABLE workloads (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  json TEXT NOT NULL,
  form TEXT NOT NULL,                -- workload_form.h
  log2_size REAL NOT NULL
);
CREATE INDEX workloads_by_form ON workloads (form, log2_size);
CREATE TABLE configs (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  json TEXT NOT NULL
);
CREATE TABLE devices (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  arch TEXT NOT NULL,
  target_key TEXT NOT NULL,
  target_json TEXT NOT NULL
);
CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL
);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,          -- of this row in every file that it is merged into
  key TEXT NOT NULL,                 -- hash of the four below: what a user asks for
  model_digest TEXT NOT NULL,
  device_name TEXT NOT NULL,
  seed TEXT NOT NULL,                -- unsigned 64 bits, decimal
  limits_json TEXT NOT NULL,
  started_utc TEXT NOT NULL,
  heartbeat_utc TEXT NOT NULL,
  ended_utc TEXT NOT NULL,           -- empty while it runs
  end_reason TEXT NOT NULL,
  summary_json TEXT NOT NULL,        -- empty while it runs
  model_name TEXT NOT NULL,          -- this and the rest: an anonymous export drops it
  arguments TEXT NOT NULL,
  host TEXT NOT NULL,
  user TEXT NOT NULL
);
CREATE INDEX runs_by_key ON runs (key);
CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  content_key TEXT NOT NULL UNIQUE,
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  config_id INTEGER NOT NULL REFERENCES configs (id),
  device_id INTEGER NOT NULL REFERENCES devices (id),
  environment_id INTEGER NOT NULL REFERENCES environments (id),
  space TEXT NOT NULL,               -- family and space version of the Config
  evidence TEXT NOT NULL,
  outcome TEXT NOT NULL,
  median_us REAL,                    -- of the samples, when ok
  limited_by TEXT NOT NULL,
  objective TEXT NOT NULL,
  conditions_json TEXT NOT NULL,     -- clocks and throttle reasons; empty: unknown
  source_hash TEXT NOT NULL,
  ptx_hash TEXT NOT NULL,
  cubin_hash TEXT NOT NULL,
  registers INTEGER NOT NULL,
  spill_bytes INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL,
  message TEXT NOT NULL,             -- this and the rest: outside the content key
  log TEXT NOT NULL,
  compile_seconds REAL NOT NULL,
  verify_seconds REAL NOT NULL,
  run_seconds REAL NOT NULL
);
CREATE INDEX records_by_speed ON records (workload_id, device_id, space, median_us);
CREATE INDEX records_by_config ON records (workload_id, config_id);
CREATE TABLE samples (
  record_id INTEGER NOT NULL REFERENCES records (id),
  is_warm INTEGER NOT NULL,          -- measured with a warm L2
  position INTEGER NOT NULL,
  us REAL NOT NULL,
  PRIMARY KEY (record_id, is_warm, position)
) WITHOUT ROWID;
CREATE TABLE trials (                -- which records a run made, in its order
  run_id INTEGER NOT NULL REFERENCES runs (id),
  trial_index INTEGER NOT NULL,
  record_id INTEGER NOT NULL REFERENCES records (id),
  PRIMARY KEY (run_id, trial_index, record_id)
) WITHOUT ROWID;
CREATE INDEX trials_by_record ON trials (record_id, run_id, trial_index);
CREATE TABLE defaults (              -- the records of a task's default: what the times of a run are compared by
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  run_id INTEGER NOT NULL REFERENCES runs (id),
  record_id INTEGER NOT NULL REFERENCES records (id),
  PRIMARY KEY (workload_id, run_id, record_id)
) WITHOUT ROWID;
CREATE TABLE retractions (
  record_key TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (record_key, reason)
) WITHOUT ROWID;
CREATE TABLE clearances (            -- wrong results that a later verification has taken back
  record_key TEXT NOT NULL,
  verified_by TEXT NOT NULL,
  PRIMARY KEY (record_key, verified_by)
) WITHOUT ROWID;
CREATE TABLE provenance (            -- outside every key; an anonymous export drops it
  record_id INTEGER PRIMARY KEY REFERENCES records (id),
  host TEXT NOT NULL,
  user TEXT NOT NULL,
  recorded_utc TEXT NOT NULL
);
)sql";

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

}  // namespace

// Page size (bytes 16 and 17, 1 for 65536) times pages (28 to 31), big-endian.
int64_t stated_bytes(const std::array<char, 100>& header) {
  if (std::string_view(header.data(), kSqliteMagic.size()) != kSqliteMagic) return 0;
  const auto byte = [&](size_t at) { return static_cast<int64_t>(static_cast<unsigned char>(header[at])); };
  const int64_t page_bytes = byte(16) << 8 | byte(17);
  const int64_t pages = byte(28) << 24 | byte(29) << 16 | byte(30) << 8 | byte(31);
  return (page_bytes == 1 ? 65536 : page_bytes) * pages;
}

FileHeader read_file_header(const std::filesystem::path& path) {
  if (path.empty()) throw UsageError("the name of a database is empty");
  FileHeader header;
  require_regular(path);
  if (file_kind(path) == FileKind::none) return header;
  header.exists = true;
  const std::array<char, 100> bytes = read_start(path);
  std::error_code error;
  header.size_bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
  header.is_sqlite = std::string_view(bytes.data(), kSqliteMagic.size()) == kSqliteMagic;
  header.is_wal = header.is_sqlite && (bytes[18] == 2 || bytes[19] == 2);  // file format, bytes 18 and 19: 2 is WAL
  const auto wal_bytes = std::filesystem::file_size(path.string() + "-wal", error);
  header.has_wal_beside = !error && wal_bytes > 0;
  const auto journal_bytes = std::filesystem::file_size(path.string() + "-journal", error);
  const bool is_in_change = header.has_wal_beside || (!error && journal_bytes > 0);
  header.is_cut = header.is_sqlite && !is_in_change && header.size_bytes < stated_bytes(bytes);
  header.stated_bytes = stated_bytes(bytes);
  return header;
}

namespace {

/// SQL of every object of the schema by its type and name.
using Layout = std::map<std::string, std::string>;

Layout layout_of(const Connection& connection) {
  Layout layout;
  Statement rows = connection.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema");
  while (rows.step()) {
    std::string& sql = layout[fmt::format("{} {} on {}", rows.text(0), rows.text(1), rows.text(2))];
    sql += rows.text(3);  // an object twice differs from once, but for those without SQL, which SQLite makes itself
  }
  return layout;
}

const Layout& expected_layout(int64_t version) {
  const auto made_by = [](const char* tables) {
    const std::unique_ptr<Connection> connection = Connection::temporary("schema");
    connection->execute(tables);
    return layout_of(*connection);
  };
  static const std::array<Layout, 2> layouts = {made_by(kVersion1Tables), made_by(kTables)};
  return layouts.at(static_cast<size_t>(version - 1));
}

/// What is there and should not be, or is missing, or where its SQL differs.
std::string first_difference(const Layout& found, const Layout& expected) {
  for (const auto& [object, sql] : found) {
    const auto same = expected.find(object);
    if (same == expected.end()) return "unexpected " + object;
    if (same->second == sql) continue;
    const auto [here, there] = std::mismatch(sql.begin(), sql.end(), same->second.begin(), same->second.end());
    const auto excerpt = [](auto from, auto end) {
      return std::string(from, from + std::min<ptrdiff_t>(40, end - from));
    };
    return fmt::format("{} has `{}` where `{}` is expected", object, excerpt(here, sql.end()),
                       excerpt(there, same->second.end()));
  }
  for (const auto& [object, sql] : expected) {
    if (!found.contains(object)) return "missing " + object;
  }
  throw InternalError("layouts that do not differ");
}

}  // namespace

int64_t check_layout(const Connection& connection) {
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
  const Layout found = layout_of(connection);
  const Layout& expected = expected_layout(version);
  if (found != expected) {
    const std::string difference = printable(first_difference(found, expected)).substr(0, 300);
    throw UsageError(fmt::format("{}: the database is not laid out as version {} says ({}); it was left as it is",
                                 where, version, difference));
  }
  return version;
}

void refuse_foreign(const std::filesystem::path& path, const FileHeader& header) {
  if (header.size_bytes > 0 && !header.is_sqlite) {
    throw UsageError(fmt::format("{}: is no database; it was left as it is", path.string()));
  }
  if (header.is_cut) {
    throw UsageError(
        fmt::format("{}: was cut: it has {} bytes, {} less than the {} that its header says; copy it again",
                    path.string(), header.size_bytes, header.stated_bytes - header.size_bytes, header.stated_bytes));
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
  if (const int64_t version = check_layout(connection); version < kSchemaVersion) {
    const std::string where = connection.path().string();
    throw UsageError(
        fmt::format("{}: has schema version {}, older than {}: it can be read, but not written; make a new one of it "
                    "with `warpwright db migrate {} -o NEW`",
                    where, version, kSchemaVersion, where));
  }
}

}  // namespace warpwright
