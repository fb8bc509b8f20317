// Connections and statements; the map from SQLite's status codes to the project's errors.
#include "database/sqlite.h"

#include <fmt/format.h>

#include "src/core/error.h"

namespace warpwright {
namespace {

/// `file:` URI of a path, with what has a meaning in URIs escaped.
std::string uri_of(const std::filesystem::path& path, bool immutable) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return immutable ? uri + "?immutable=1" : uri;
}

constexpr int kOpsPerCheck = 1000;

/// Enough to read a whole file many times over.
int64_t checks_for(int64_t file_bytes) { return 10'000 + file_bytes / 8; }

int count_down(void* limit) { return --static_cast<WorkLimit*>(limit)->left < 0; }

/// The file may come from anywhere: nothing in its schema may run code or reach other files.
void distrust(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 100'000);
  sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, 64);
  sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, 100);
  sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
}

}  // namespace

Connection::Connection(const std::filesystem::path& path, Access access, std::filesystem::path label)
    : path_(std::move(label)) {
  const bool writes = access == Access::read_write;
  open(path, uri_of(path, access == Access::read_immutable),
       writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  if (writes) return;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  const auto wal_bytes = std::filesystem::file_size(path.string() + "-wal", error);
  work_limit_.of_a_statement = checks_for(static_cast<int64_t>(bytes) + (error ? 0 : static_cast<int64_t>(wal_bytes)));
  work_limit_.left = work_limit_.of_a_statement;
  sqlite3_progress_handler(handle_.get(), kOpsPerCheck, count_down, &work_limit_);
}

Connection::Connection(Temporary, std::filesystem::path label) : path_(std::move(label)) {
  open("", "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

std::unique_ptr<Connection> Connection::temporary(const std::filesystem::path& label) {
  return std::unique_ptr<Connection>(new Connection(Temporary{}, label));
}

void Connection::open(const std::filesystem::path& path, const std::string& uri, int flags) {
  sqlite3* raw = nullptr;
  const int status = sqlite3_open_v2(uri.c_str(), &raw,
                                     flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(raw);
  if (status != SQLITE_OK) fail(status);
  file_.emplace(path);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  distrust(raw);
  execute("PRAGMA cell_size_check = ON");
}

void Connection::execute(const char* sql) const {
  const int status = try_execute(sql);
  if (status != SQLITE_OK) fail(status);
}

int Connection::try_execute(const char* sql) const {
  return sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
}

Statement Connection::prepare(std::string_view sql) const { return Statement(*this, sql); }

int64_t Connection::integer(const char* sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Connection::text(const char* sql) const {
  Statement statement = prepare(sql);
  return statement.step() ? statement.text(0) : std::string();
}

void Connection::fail(int status) const {
  const std::string where = path_.string();
  const std::string what = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(status);
  switch (status & 0xff) {
    case SQLITE_CORRUPT:
      throw UsageError(
          fmt::format("{}: the database is damaged ({}); take a copy that is whole, or save what can be "
                      "read with `sqlite3 {} .recover`",
                      where, what, where));
    case SQLITE_NOTADB:
      throw UsageError(fmt::format("{}: is no database ({})", where, what));
    case SQLITE_FULL:
      throw EnvironmentError(
          fmt::format("{}: the disk is full; free some space and start again: what was committed is intact", where));
    case SQLITE_IOERR:
      throw EnvironmentError(fmt::format(
          "{}: reading or writing failed ({}); check the disk, its quota, its space and `ulimit -f`", where, what));
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw EnvironmentError(
          fmt::format("{}: cannot be opened or written ({}); check that the folder exists and that "
                      "the file and the folder may be written",
                      where, what));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      throw EnvironmentError(
          fmt::format("{}: another process has held the database for {} seconds ({}); wait for it, "
                      "or end it",
                      where, kBusyTimeoutMs / 1000, what));
    case SQLITE_NOMEM:
      throw EnvironmentError(fmt::format("{}: SQLite is out of memory ({})", where, what));
    case SQLITE_TOOBIG:
      throw UsageError(
          fmt::format("{}: a value in it has more than {} bytes: no database of this program", where, kMostValueBytes));
    case SQLITE_INTERRUPT:
      throw UsageError(
          fmt::format("{}: the database is damaged: reading it takes more steps than its size allows", where));
    case SQLITE_CONSTRAINT:
      throw UsageError(fmt::format(
          "{}: rows in it contradict each other ({}): the database is damaged; `warpwright db check {}` says "
          "where, `warpwright db merge {} -o NEW` makes a new one of what is sound",
          where, what, where, where));
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
      throw UsageError(fmt::format("{}: the database is not laid out as its version says ({})", where, what));
    default:
      throw InternalError(fmt::format("{}: SQLite says {} ({})", where, status, what));
  }
}

Statement::Statement(const Connection& connection, std::string_view sql) : connection_(&connection) {
  connection.work_limit_.left = connection.work_limit_.of_a_statement;
  sqlite3_stmt* raw = nullptr;
  const int status = sqlite3_prepare_v2(connection.handle(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  statement_.reset(raw);
  if (status != SQLITE_OK) connection.fail(status);
}

Statement& Statement::bind(int index, int64_t value) {
  if (const int status = sqlite3_bind_int64(statement_.get(), index, value)) connection_->fail(status);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  if (const int status = sqlite3_bind_double(statement_.get(), index, value)) connection_->fail(status);
  return *this;
}

Statement& Statement::bind(int index, std::string_view value) {
  const int status = sqlite3_bind_text64(statement_.get(), index, value.data() ? value.data() : "", value.size(),
                                         SQLITE_TRANSIENT, SQLITE_UTF8);
  if (status) connection_->fail(status);
  return *this;
}

Statement& Statement::bind_null(int index) {
  if (const int status = sqlite3_bind_null(statement_.get(), index)) connection_->fail(status);
  return *this;
}

bool Statement::step() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status != SQLITE_DONE) connection_->fail(status);
  return false;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int count = sqlite3_column_bytes(statement_.get(), column);
  return bytes ? std::string(bytes, static_cast<size_t>(count)) : std::string();
}

Transaction::Transaction(const Connection& connection) : connection_(&connection) {
  connection.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // After a full disk SQLite may have rolled back already: then this fails, and nothing is lost.
  if (is_open_) connection_->try_execute("ROLLBACK");
}

void Transaction::commit() {
  connection_->execute("COMMIT");
  is_open_ = false;
}

}  // namespace warpwright
