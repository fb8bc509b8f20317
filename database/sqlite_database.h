// SqliteDatabase: the Database in one file.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "database/database.h"
#include "database/record_rows.h"
#include "database/schema.h"
#include "database/sqlite.h"

namespace warpwright {

class SqliteDatabase : public Database {
 public:
  SqliteDatabase(const std::filesystem::path& path, OpenMode mode);
  /// Closes in silence when close() was not called.
  ~SqliteDatabase() override;

  std::vector<Record> records(const std::string& workload_key) const override;
  std::vector<Record> best(const std::string& workload_key, const std::string& arch, int limit) const override;
  std::vector<std::string> workload_keys() const override;
  std::string workload_json(const std::string& workload_key) const override;
  std::vector<Record> list(const std::string& workload_key, const std::string& outcome, int limit) const override;
  std::optional<Record> find(const std::string& content_key_prefix) const override;
  std::vector<Record> run_records(int64_t run_id) const override;
  Statistics statistics() const override;
  std::vector<RunInfo> runs() const override;

  RunInfo begin_run(const RunKey& key, const std::string& model_name) override;
  void end_run(int64_t run_id, const std::string& reason) override;
  std::string add(const Record& record) override;
  void retract(const std::string& content_key, const std::string& reason) override;
  void close() override;

  // For reading several files as one.
  std::set<std::string> retracted() const;
  std::set<std::string> run_uids() const;

 private:
  void begin_writing();
  void require_writable() const;
  const Connection& connection() const;
  std::vector<Record> read(std::string_view condition, std::string_view parameter,
                           std::optional<int64_t> run_id = std::nullopt) const;
  RunInfo run_of_row(const Statement& row) const;

  std::filesystem::path path_;
  OpenMode mode_;
  std::unique_ptr<Connection> connection_;  // null once closed
};

/// Fastest ok records of `records` first; `arch` empty: of any.
std::vector<Record> fastest(std::vector<Record> records, const std::string& arch, int limit);

}  // namespace warpwright
