// Merge, migration: rows of some databases into a new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warpwright {

/// What became of the rows of one input, by kind of row (`record`, `run`, `trial`, `retraction`, `clearance`).
struct SourceReport {
  std::filesystem::path path;
  int64_t schema_version = 0;
  std::map<std::string, int64_t> added;    // not in an earlier input
  std::map<std::string, int64_t> known;    // in an earlier input already
  std::map<std::string, int64_t> refused;  // by reason
  std::map<std::string, int64_t> records_by_device, records_by_environment;
};

struct MergeReport {
  std::vector<SourceReport> sources;
  int64_t records = 0, workloads = 0;
  int64_t pooled = 0;       // records whose Config another run or host measured on the same device too
  int64_t retracted = 0;    // records taken out by a retraction
  int64_t quarantined = 0;  // Configs that are ok in one record and wrong in another on the same architecture
};

/// Writes the union of `inputs` into a new file: the same rows in any order and grouping, and once more nothing new.
/// With an empty `output` nothing is written and the report says what would be. Throws UsageError when `output` exists.
MergeReport merge_databases(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

}  // namespace warpwright
