// A thin layer over SQLite: connections and statements that clean up after themselves and throw typed errors.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "database/open_files.h"

namespace warpwright {

class Statement;

/// How long a lock of another process is waited for.
inline constexpr int kBusyTimeoutMs = 60'000;

/// A text or a blob beyond this is refused before it is read.
inline constexpr int kMostValueBytes = 4 << 20;

/// Steps of SQLite's virtual machine, in thousands, that a statement may still take.
struct WorkLimit {
  int64_t of_a_statement = 0, left = 0;
};

class Connection {
 public:
  enum class Access { read_only, read_immutable, read_write };

  /// Opens the file; SQLite reads nothing of it yet. read_write makes it when missing. Nothing in the file can run code
  /// or reach other files, and a statement whose work is out of proportion to the file's size is broken off: in a file
  /// made to harm, pages can be part of a table many times over.
  Connection(const std::filesystem::path& path, Access access) : Connection(path, access, path) {}
  /// Errors name `label`.
  Connection(const std::filesystem::path& path, Access access, std::filesystem::path label);
  /// An empty database of its own, in memory as far as it fits, that is gone with the connection. Errors name `label`.
  static std::unique_ptr<Connection> temporary(const std::filesystem::path& label);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const char* sql) const;
  Statement prepare(std::string_view sql) const;
  /// First column of the first row of a statement that gives one.
  int64_t integer(const char* sql) const;
  std::string text(const char* sql) const;
  /// Status of one run of `sql`, for statements whose failure is no error.
  int try_execute(const char* sql) const;

  const std::filesystem::path& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }
  /// Throws the typed error for a status of SQLite that is none of OK, ROW and DONE.
  [[noreturn]] void fail(int status) const;

 private:
  struct Closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Temporary {};
  Connection(Temporary, std::filesystem::path label);
  void open(const std::filesystem::path& path, const std::string& uri, int flags);
  friend class Statement;

  std::filesystem::path path_;
  std::optional<OpenFile> file_;  // outlives the handle
  std::unique_ptr<sqlite3, Closer> handle_;
  mutable WorkLimit work_limit_;
};

class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql);

  /// Parameters count from 1.
  Statement& bind(int index, int64_t value);
  Statement& bind(int index, double value);
  Statement& bind(int index, std::string_view value);
  Statement& bind_null(int index);

  /// True while there is a row.
  bool step();
  /// For statements that give no rows.
  void run();
  /// Ready to be bound and stepped again.
  void reset();

  bool is_null(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

/// BEGIN IMMEDIATE until commit(); rolled back otherwise.
class Transaction {
 public:
  explicit Transaction(const Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Connection* connection_;
  bool is_open_ = true;
};

}  // namespace warpwright
