// RowWriter: rows into the tables of one file, the same whichever order they come in.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "database/rows.h"
#include "database/sqlite.h"

namespace warpwright {

/// What became of a row. A trial is left out when its run or its record is not there.
enum class Inserted { is_new, was_known, left_out };

class RowWriter {
 public:
  explicit RowWriter(const Connection& connection);

  /// Of rows with equal keys the greater one stays, field by field, so that a union is the same in any order. Rows are
  /// taken to be valid.
  Inserted insert(const Row& row);
  Inserted insert(const RunRow& run);
  Inserted insert(const RecordRow& row);
  Inserted insert(const TrialRow& trial);
  Inserted insert(const RetractionRow& row);
  Inserted insert(const ClearanceRow& row);

  // Into a file that others have written to: a sound row is not lost for what is damaged there.
  /// Inserts a record. A damaged row with its content key gives way to it, and so do damaged texts that it refers to.
  void put(const RecordRow& row);
  /// Takes out rows that refer to runs, records or workloads behind the last one: new ones would come by them.
  void remove_orphans();

 private:
  int64_t workload_id(const Record& record);
  int64_t config_id(const Record& record);
  int64_t device_id(const Record& record);
  int64_t environment_id(const Record& record);
  void insert_samples(int64_t record_id, bool is_warm, const std::vector<double>& samples_us);
  void insert_provenance(const RecordRow& row);
  /// Samples and provenance.
  void remove_details(int64_t record_id);
  Inserted insert_record(const Record& record, bool replaces);
  bool holds_damaged(const std::string& content_key) const;
  void mend_references(const Record& record);
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
