// Connection and statements over the SQLite library.
#include "src/runtime/sqlite_file.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include "src/core/error.h"

namespace warpwright {
namespace {

/// `file:` URI of a path; immutable: SQLite makes no journal and takes no lock.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (unsigned char letter : std::filesystem::absolute(path).string()) {
    const bool plain = std::isalnum(letter) || letter == '/' || letter == '.' || letter == '-' || letter == '_';
    uri += plain ? std::string(1, static_cast<char>(letter)) : fmt::format("%{:02X}", letter);
  }
  return uri + "?immutable=1";
}

}  // namespace

SqliteFile::SqliteFile(const std::filesystem::path& path, Mode mode) : path_(path), mode_(mode) {
  const bool reading = mode == Mode::read;
  const std::string name = reading ? immutable_uri(path) : std::filesystem::absolute(path).string();
  const int flags = reading ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int status = sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (status != SQLITE_OK) {
    const std::string message = sqlite3_errstr(status);
    sqlite3_close(handle_);
    handle_ = nullptr;
    fail(message);
  }
  try {
    // The schema of a foreign file may hold nothing that runs.
    if (reading) execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

SqliteFile::~SqliteFile() { sqlite3_close(handle_); }

void SqliteFile::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(handle_));
}

int64_t SqliteFile::integer(const std::string& sql) {
  SqliteStatement statement(*this, sql);
  if (!statement.step()) fail("a value is missing");
  return statement.integer(0);
}

void SqliteFile::fail(std::string_view message) const {
  const std::string text = fmt::format("{}: {}", path_.string(), message);
  if (mode_ == Mode::read) throw UsageError(text);
  throw EnvironmentError(text);
}

SqliteStatement::SqliteStatement(SqliteFile& file, std::string_view sql) : file_(file) {
  if (sqlite3_prepare_v2(file.handle_, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr) != SQLITE_OK) {
    file.fail(sqlite3_errmsg(file.handle_));
  }
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

SqliteStatement& SqliteStatement::bind(int parameter, int64_t value) {
  if (sqlite3_bind_int64(statement_, parameter + 1, value) != SQLITE_OK) file_.fail(sqlite3_errmsg(file_.handle_));
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::string_view text) {
  // A null pointer would bind NULL instead of an empty text.
  const char* data = text.empty() ? "" : text.data();
  if (sqlite3_bind_text64(statement_, parameter + 1, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK) {
    file_.fail(sqlite3_errmsg(file_.handle_));
  }
  return *this;
}

SqliteStatement& SqliteStatement::bind_blob(int parameter, std::string_view bytes) {
  // A null pointer would bind NULL instead of an empty blob.
  const char* data = bytes.empty() ? "" : bytes.data();
  if (sqlite3_bind_blob64(statement_, parameter + 1, data, bytes.size(), SQLITE_TRANSIENT) != SQLITE_OK) {
    file_.fail(sqlite3_errmsg(file_.handle_));
  }
  return *this;
}

bool SqliteStatement::step() {
  const int status = sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  file_.fail(sqlite3_errmsg(file_.handle_));
}

void SqliteStatement::run() {
  step();
  reset();
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

int SqliteStatement::columns() const { return sqlite3_column_count(statement_); }

void SqliteStatement::expect_type(int column, int type) const {
  if (sqlite3_column_type(statement_, column) != type) {
    file_.fail(fmt::format("damaged: column {} has the wrong type", sqlite3_column_name(statement_, column)));
  }
}

int64_t SqliteStatement::integer(int column) const {
  expect_type(column, SQLITE_INTEGER);
  return sqlite3_column_int64(statement_, column);
}

std::string SqliteStatement::text(int column) const {
  expect_type(column, SQLITE_TEXT);
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

std::string SqliteStatement::blob(int column) const {
  expect_type(column, SQLITE_BLOB);
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return std::string(bytes ? bytes : "", static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

std::string SqliteStatement::canonical(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  if (type == SQLITE_INTEGER) return fmt::format("i{};", sqlite3_column_int64(statement_, column));
  const std::string bytes = type == SQLITE_TEXT ? text(column) : blob(column);
  return fmt::format("{}{}:", type == SQLITE_TEXT ? 't' : 'b', bytes.size()) + bytes;
}

}  // namespace warpwright
