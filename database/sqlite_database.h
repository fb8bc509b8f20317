// SqliteDatabase: the Database in one file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "database/database.h"
#include "database/file_guard.h"
#include "database/file_system.h"
#include "database/record_query.h"
#include "database/row_writer.h"
#include "database/schema.h"
#include "database/sqlite.h"

namespace warpwright {

/// A connection for reading, after all checks, to a database of any version that ever was.
std::unique_ptr<Connection> open_as_it_is(const std::filesystem::path& path);
/// The same to today's layout: a file of an older schema is read into a temporary database of today's.
std::unique_ptr<Connection> open_to_read(const std::filesystem::path& path);

class SqliteDatabase : public Database {
 public:
  /// Whether a write-ahead log is safe where the file lies.
  using LocalFileSystem = std::function<bool(const std::filesystem::path&)>;

  SqliteDatabase(const std::filesystem::path& path, OpenMode mode,
                 const LocalFileSystem& is_local = is_on_local_file_system);
  /// Closes in silence when close() was not called.
  ~SqliteDatabase() override;

  std::vector<RecordGroup> groups(const std::string& workload_key) const override;
  std::unique_ptr<RecordStream> fastest(const RecordGroup& group) const override;
  std::map<std::string, int64_t> outcomes(const RecordGroup& group) const override;
  std::vector<Record> of_config(const std::string& workload_key, const std::string& config_json) const override;
  std::vector<Record> defaults(const std::string& workload_key, const std::string& run_uid) const override;
  std::optional<double> default_us(const std::string& workload_key, const std::string& run_uid) const override;
  std::vector<std::string> objections(const std::string& workload_key, const std::string& config_json,
                                      const std::string& arch) const override;
  std::vector<StoredWorkload> near(const std::string& workload_json, int limit) const override;
  int64_t effort(const std::string& workload_key, const std::string& device_name) const override;

  std::vector<Record> records(const std::string& workload_key) const override;
  std::vector<Record> best(const std::string& workload_key, const std::string& arch, int limit) const override;
  std::vector<std::string> workload_keys() const override;
  std::string workload_json(const std::string& workload_key) const override;
  std::vector<Record> list(const std::string& workload_key, const std::string& outcome, int limit) const override;
  std::optional<Record> find(const std::string& content_key_prefix) const override;
  std::vector<Record> run_records(int64_t run_id) const override;
  std::vector<Record> retracted(const std::string& workload_key) const override;
  bool is_retracted(const std::string& content_key) const override;
  Statistics statistics() const override;
  std::vector<RunInfo> runs() const override;

  RunInfo begin_run(const RunKey& key, const std::string& model_name, const std::string& arguments) override;
  void end_run(int64_t run_id, const std::string& reason, const Json& summary) override;
  std::string add(const Record& record) override;
  void retract(const std::string& content_key, const std::string& reason) override;
  void clear(const std::string& record_key, const std::string& verified_by) override;
  void close() override;

  // For reading several files as one.
  /// All records of a task, retracted ones too.
  std::vector<Record> all_records(const std::string& workload_key) const;
  bool is_cleared(const std::string& content_key) const;
  /// Content keys of records that found the Config wrong, retracted and cleared ones too.
  std::vector<std::string> wrong_results(const std::string& workload_key, const std::string& config_json,
                                         const std::string& arch) const;
  /// Content keys of the records that are said to have verified the Config of this one.
  std::vector<std::string> verifiers(const std::string& content_key) const;
  bool has_ok_record(const std::string& content_key) const;
  /// Outcomes of a group's records by content key, retracted ones too.
  std::map<std::string, std::string> outcomes_by_key(const RecordGroup& group) const;
  /// Content keys of what `effort` counts.
  std::set<std::string> effort_keys(const std::string& workload_key, const std::string& device_name) const;
  std::set<std::string> run_uids() const;

 private:
  void begin_writing(bool wal);
  /// One committed transaction, on the file that was opened.
  void write(const std::function<void()>& change);
  const Connection& connection() const;
  /// All records of a query that is bound; warns of damaged ones.
  std::vector<Record> read(RecordQuery& query) const;
  bool holds(const char* sql, const std::string& key) const;

  std::filesystem::path path_;
  OpenMode mode_;
  std::unique_ptr<Connection> connection_;  // null once closed
  std::unique_ptr<RowWriter> writer_;       // null unless open for writing
  std::unique_ptr<FileGuard> guard_;        // the same
  bool is_without_orphans_ = false;
};

/// Median over all samples; nullopt without any.
std::optional<double> median_us_of(const std::vector<Record>& records);

/// Database::best by groups and streams.
std::vector<Record> best_of(const Database& database, const std::string& workload_key, const std::string& arch,
                            int limit);

}  // namespace warpwright
