// A package's SQLite file: connection and statements. Every failure is a typed error that names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace warpwright {

class SqliteFile {
 public:
  enum class Mode {
    read,    // an existing file, as it lies there: no journal, no lock, nothing written beside it
    create,  // a new file
  };
  /// Throws UsageError for a file that is no SQLite file, EnvironmentError for one that cannot be made.
  SqliteFile(const std::filesystem::path& path, Mode mode);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  void execute(const std::string& sql);
  /// The one integer that `sql` gives.
  int64_t integer(const std::string& sql);
  /// `path: message`, as UsageError when reading, else as EnvironmentError.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  friend class SqliteStatement;
  std::filesystem::path path_;
  Mode mode_;
  sqlite3* handle_ = nullptr;
};

/// Columns and parameters count from 0. A column of another type than asked for throws UsageError.
class SqliteStatement {
 public:
  SqliteStatement(SqliteFile& file, std::string_view sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  SqliteStatement& bind(int parameter, int64_t value);
  SqliteStatement& bind(int parameter, std::string_view text);
  SqliteStatement& bind_blob(int parameter, std::string_view bytes);
  /// True when there is a row.
  bool step();
  /// Steps over the one row that an insertion gives none of, and makes ready for the next.
  void run();
  void reset();

  int columns() const;
  int64_t integer(int column) const;
  std::string text(int column) const;
  std::string blob(int column) const;
  /// Type and length before the value: equal for equal rows only.
  std::string canonical(int column) const;

 private:
  void expect_type(int column, int type) const;

  SqliteFile& file_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace warpwright
