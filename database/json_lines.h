// Databases as text: JSON lines, one row a line, every row with its content key.
//
//   {"schema":"warpwright.records/2"}       first
//   {"workload":{"key":...,"json":{...}}}   before the first record that names it; `device`, `environment` alike
//   {"run":{...}} {"record":{...}} {"trial":{...}} {"retraction":{...}} {"clearance":{...}}
//   {"end":{"lines":412}}                   last, with the number of those between: a file that was cut lacks it
//
// The lines stand in the order of their keys, so that equal databases give equal text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace warpwright {

struct ExportOptions {
  bool anonymous = false;  // without hosts, users, names of models, arguments; keys stay
};

/// All rows of a database of any schema version, line by line. Returns the number of rows. Rows that are damaged are
/// left out, with a warning.
int64_t export_rows(const std::filesystem::path& database, const ExportOptions& options,
                    const std::function<void(const std::string& line)>& write);

struct ImportReport {
  struct Refusal {
    int64_t lines = 0, first_line = 0;
  };
  std::map<std::string, int64_t> added;    // by kind of row
  std::map<std::string, Refusal> refused;  // by reason
};

/// Into a new file, which must not exist yet. Lines that are no valid row are refused one by one. Throws UsageError for
/// a file that is no export at all or lacks its end.
ImportReport import_rows(const std::filesystem::path& input, const std::filesystem::path& database);

/// True for a file whose first line is that of an export, of whatever version.
bool is_export(const std::filesystem::path& path);

}  // namespace warpwright
