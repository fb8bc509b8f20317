// MergedDatabase: several files read as one; the first may be written.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "database/database.h"
#include "database/sqlite_database.h"

namespace warpwright {

class MergedDatabase : public Database {
 public:
  /// At least one part.
  explicit MergedDatabase(std::vector<std::unique_ptr<SqliteDatabase>> parts);

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

 private:
  bool is_cleared(const std::string& content_key) const;
  /// Union of what `read` gives for each part, without what any part retracts.
  std::vector<Record> merge(const std::function<std::vector<Record>(const SqliteDatabase&)>& read) const;

  std::vector<std::unique_ptr<SqliteDatabase>> parts_;
};

}  // namespace warpwright
