// RowWriter: rows into the tables of one file, the same whichever order they come in.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "database/rows.h"
#include "database/sqlite.h"

namespace warpwright {

class RowWriter {
 public:
  explicit RowWriter(const Connection& connection);

  /// Of rows with equal keys the greater one stays, field by field, so that a union is the same in any order. True when
  /// the row was not there yet. Rows are taken to be valid; a trial whose run or record is not there is left out.
  bool insert(const Row& row);
  bool insert(const RunRow& run);
  bool insert(const RecordRow& row);
  bool insert(const TrialRow& trial);
  bool insert(const RetractionRow& row);
  bool insert(const ClearanceRow& row);

 private:
  int64_t workload_id(const Record& record);
  int64_t config_id(const Record& record);
  int64_t device_id(const Record& record);
  int64_t environment_id(const Record& record);
  void insert_samples(int64_t record_id, bool is_warm, const std::vector<double>& samples_us);
  bool insert_record(const Record& record);
  /// Prepared once.
  Statement& statement(const char* sql);
  std::optional<int64_t> look_up(const char* sql, const std::string& key);

  const Connection* connection_;
  std::map<const char*, Statement> statements_;
};

/// `2026-11-30T21:52:39Z`.
std::string utc_now();
std::string host_name();
std::string user_name();
/// `family/space_version` of a Config's JSON; empty when it has none.
std::string space_of(const std::string& config_json);

}  // namespace warpwright
