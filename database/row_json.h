// Rows to JSON and back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "database/rows.h"

namespace warpwright {

/// What was measured and of which kernel, without what the record shares with others.
Json measurement_json(const Record& record);

/// Writes the lines of rows; what many records share (Workload, device, environment) once, before the first of them.
class RowLines {
 public:
  std::vector<std::string> lines_of(const Row& row);

 private:
  void share(const char* kind, const std::string& key, Json content, std::vector<std::string>& lines);

  std::map<std::string, bool> shared_;
};

/// Reads them.
class RowParser {
 public:
  /// The row of a line; nothing for a shared part, which is kept for the records that name it. Throws UsageError for
  /// anything that RowLines would not have written.
  std::optional<Row> parse(const std::string& line);

 private:
  Record record_of(const Json& json) const;

  std::map<std::string, std::string> workloads_, environments_;
  std::map<std::string, StoredDevice> devices_;
};

}  // namespace warpwright
