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

constexpr int64_t kMostTextBytes = int64_t{256} << 20;

}  // namespace

Connection::Connection(std::filesystem::path path, Access access) : path_(std::move(path)) {
  const bool writes = access == Access::read_write;
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  sqlite3* raw = nullptr;
  const int status = sqlite3_open_v2(uri_of(path_, access == Access::read_immutable).c_str(), &raw, flags, nullptr);
  handle_.reset(raw);
  if (status != SQLITE_OK) fail(status);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  // The file may come from anywhere: nothing in its schema may run code or reach other files.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMostTextBytes);
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
      throw EnvironmentError(
          fmt::format("{}: reading or writing failed ({}); check the disk, its quota and its space", where, what));
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
    case SQLITE_TOOBIG:
      throw EnvironmentError(fmt::format("{}: a row asks for too much memory ({})", where, what));
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
      throw UsageError(fmt::format("{}: the database is not laid out as its version says ({})", where, what));
    default:
      throw InternalError(fmt::format("{}: SQLite says {} ({})", where, status, what));
  }
}

Statement::Statement(const Connection& connection, std::string_view sql) : connection_(&connection) {
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
