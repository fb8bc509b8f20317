// Union by content key over several files, and the functions that open databases.
#include "database/merged_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/core/error.h"

namespace warpwright {

MergedDatabase::MergedDatabase(std::vector<std::unique_ptr<SqliteDatabase>> parts) : parts_(std::move(parts)) {}

std::vector<Record> MergedDatabase::merge(const std::function<std::vector<Record>(const SqliteDatabase&)>& read) const {
  std::set<std::string> hidden;  // seen already or retracted anywhere
  for (const auto& part : parts_) hidden.merge(part->retracted());
  std::vector<Record> merged;
  for (const auto& part : parts_) {
    for (Record& record : read(*part)) {
      if (!hidden.insert(record.content_key).second) continue;
      if (part != parts_.front()) record.run_id = 0;
      merged.push_back(std::move(record));
    }
  }
  return merged;
}

std::vector<Record> MergedDatabase::records(const std::string& workload_key) const {
  return merge([&](const SqliteDatabase& part) { return part.records(workload_key); });
}

std::vector<Record> MergedDatabase::best(const std::string& workload_key, const std::string& arch, int limit) const {
  return fastest(records(workload_key), arch, limit);
}

std::vector<std::string> MergedDatabase::workload_keys() const {
  std::set<std::string> keys;
  for (const auto& part : parts_) {
    for (std::string& key : part->workload_keys()) keys.insert(std::move(key));
  }
  return {keys.begin(), keys.end()};
}

std::string MergedDatabase::workload_json(const std::string& workload_key) const {
  for (const auto& part : parts_) {
    const std::vector<std::string> keys = part->workload_keys();
    if (std::binary_search(keys.begin(), keys.end(), workload_key)) return part->workload_json(workload_key);
  }
  throw UsageError(fmt::format("no database holds a workload {}", workload_key));
}

std::vector<Record> MergedDatabase::list(const std::string& workload_key, const std::string& outcome, int limit) const {
  std::vector<Record> records = merge(
      [&](const SqliteDatabase& part) { return part.list(workload_key, outcome, std::numeric_limits<int>::max()); });
  records.resize(std::min(records.size(), static_cast<size_t>(std::max(0, limit))));
  return records;
}

std::optional<Record> MergedDatabase::find(const std::string& content_key_prefix) const {
  std::vector<Record> found = merge([&](const SqliteDatabase& part) {
    std::optional<Record> record = part.find(content_key_prefix);
    return record ? std::vector<Record>{std::move(*record)} : std::vector<Record>{};
  });
  if (found.size() > 1) {
    throw UsageError(fmt::format("'{}' is the start of more than one key; give more digits", content_key_prefix));
  }
  return found.empty() ? std::nullopt : std::optional<Record>(std::move(found[0]));
}

std::vector<Record> MergedDatabase::run_records(int64_t run_id) const { return parts_.front()->run_records(run_id); }

Statistics MergedDatabase::statistics() const {
  Statistics statistics;
  statistics.workloads = static_cast<int64_t>(workload_keys().size());
  std::set<std::string> uids;
  for (const auto& part : parts_) uids.merge(part->run_uids());
  statistics.runs = static_cast<int64_t>(uids.size());
  for (const Record& record : list("", "", std::numeric_limits<int>::max())) {
    ++statistics.records;
    ++statistics.by_outcome[std::string(name(record.outcome.kind))];
    ++statistics.by_device[record.device_name];
    if (record.outcome.ok()) ++statistics.ok;
  }
  return statistics;
}

std::vector<RunInfo> MergedDatabase::runs() const {
  std::vector<RunInfo> runs = parts_.front()->runs();
  for (size_t i = 1; i < parts_.size(); ++i) {
    for (RunInfo& run : parts_[i]->runs()) {
      run.id = 0;
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

RunInfo MergedDatabase::begin_run(const RunKey& key, const std::string& model_name) {
  return parts_.front()->begin_run(key, model_name);
}

void MergedDatabase::end_run(int64_t run_id, const std::string& reason) { parts_.front()->end_run(run_id, reason); }

std::string MergedDatabase::add(const Record& record) { return parts_.front()->add(record); }

void MergedDatabase::retract(const std::string& content_key, const std::string& reason) {
  parts_.front()->retract(content_key, reason);
}

void MergedDatabase::close() {
  for (const auto& part : parts_) part->close();
}

std::unique_ptr<Database> open_database(const std::filesystem::path& path, OpenMode mode) {
  return std::make_unique<SqliteDatabase>(path, mode);
}

std::unique_ptr<Database> open_databases(const std::vector<std::filesystem::path>& paths, OpenMode mode_of_first) {
  if (paths.empty()) throw UsageError("no database was named");
  std::vector<std::unique_ptr<SqliteDatabase>> parts;
  // The first one last: it may be made, and is not when another is refused.
  for (size_t i = 1; i < paths.size(); ++i) {
    parts.push_back(std::make_unique<SqliteDatabase>(paths[i], OpenMode::read_only));
  }
  parts.insert(parts.begin(), std::make_unique<SqliteDatabase>(paths.front(), mode_of_first));
  return std::make_unique<MergedDatabase>(std::move(parts));
}

}  // namespace warpwright
