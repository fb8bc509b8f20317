// Union by content key over several files, and the functions that open databases.
#include "database/merged_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "database/workload_form.h"
#include "src/core/error.h"

namespace warpwright {

MergedDatabase::MergedDatabase(std::vector<std::unique_ptr<SqliteDatabase>> parts) : parts_(std::move(parts)) {}

bool MergedDatabase::is_retracted(const std::string& content_key) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const auto& part) { return part->is_retracted(content_key); });
}

std::vector<Record> MergedDatabase::merge(const std::function<std::vector<Record>(const SqliteDatabase&)>& read) const {
  std::set<std::string> seen;
  std::vector<Record> merged;
  for (const auto& part : parts_) {
    for (Record& record : read(*part)) {
      if (!seen.insert(record.content_key).second || is_retracted(record.content_key)) continue;
      if (part != parts_.front()) record.run_id = 0;
      merged.push_back(std::move(record));
    }
  }
  return merged;
}

std::vector<RecordGroup> MergedDatabase::groups(const std::string& workload_key) const {
  std::map<std::pair<std::string, std::string>, RecordGroup> groups;
  for (const auto& part : parts_) {
    for (RecordGroup& group : part->groups(workload_key)) {
      groups.try_emplace({group.device.key, group.space}, std::move(group));
    }
  }
  std::vector<RecordGroup> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

namespace {

/// The streams of several files as one, each record once.
class MergedStream : public RecordStream {
 public:
  using IsHidden = std::function<bool(const std::string& content_key)>;

  MergedStream(std::vector<std::unique_ptr<RecordStream>> parts, IsHidden is_retracted)
      : parts_(std::move(parts)), is_retracted_(std::move(is_retracted)) {
    for (const auto& part : parts_) heads_.push_back(part->next());
  }

  std::optional<Record> next() override {
    for (;;) {
      std::optional<size_t> first;
      for (size_t i = 0; i < heads_.size(); ++i) {
        if (heads_[i] && (!first || is_before(*heads_[i], *heads_[*first]))) first = i;
      }
      if (!first) return std::nullopt;
      Record record = std::move(*heads_[*first]);
      heads_[*first] = parts_[*first]->next();
      if (record.content_key == last_key_ || is_retracted_(record.content_key)) continue;
      last_key_ = record.content_key;
      if (*first != 0) record.run_id = 0;
      return record;
    }
  }

  std::map<std::string, int64_t> damaged() const override {
    std::map<std::string, int64_t> sum;
    for (const auto& part : parts_) {
      for (const auto& [why, count] : part->damaged()) sum[why] += count;
    }
    return sum;
  }

 private:
  static bool is_before(const Record& a, const Record& b) {
    const double a_us = a.outcome.median_us(), b_us = b.outcome.median_us();
    return a_us != b_us ? a_us < b_us : a.content_key < b.content_key;
  }

  std::vector<std::unique_ptr<RecordStream>> parts_;
  IsHidden is_retracted_;
  std::vector<std::optional<Record>> heads_;
  std::string last_key_;
};

}  // namespace

std::unique_ptr<RecordStream> MergedDatabase::fastest(const RecordGroup& group) const {
  std::vector<std::unique_ptr<RecordStream>> streams;
  for (const auto& part : parts_) streams.push_back(part->fastest(group));
  return std::make_unique<MergedStream>(std::move(streams),
                                        [this](const std::string& key) { return is_retracted(key); });
}

std::map<std::string, int64_t> MergedDatabase::outcomes(const RecordGroup& group) const {
  if (parts_.size() == 1) return parts_.front()->outcomes(group);
  std::map<std::string, std::string> by_key;  // a record may stand in several files
  for (const auto& part : parts_) by_key.merge(part->outcomes_by_key(group));
  std::map<std::string, int64_t> outcomes;
  for (const auto& [content_key, outcome] : by_key) {
    if (!is_retracted(content_key)) ++outcomes[outcome];
  }
  return outcomes;
}

std::vector<Record> MergedDatabase::of_config(const std::string& workload_key, const std::string& config_json) const {
  return merge([&](const SqliteDatabase& part) { return part.of_config(workload_key, config_json); });
}

std::vector<Record> MergedDatabase::defaults(const std::string& workload_key, const std::string& run_uid) const {
  return merge([&](const SqliteDatabase& part) { return part.defaults(workload_key, run_uid); });
}

std::optional<double> MergedDatabase::default_us(const std::string& workload_key, const std::string& run_uid) const {
  return median_us_of(defaults(workload_key, run_uid));
}

std::vector<std::string> MergedDatabase::objections(const std::string& workload_key, const std::string& config_json,
                                                    const std::string& arch) const {
  std::set<std::string> keys;
  for (const auto& part : parts_) {
    for (std::string& key : part->wrong_results(workload_key, config_json, arch)) keys.insert(std::move(key));
  }
  std::erase_if(keys, [this](const std::string& key) { return is_retracted(key) || is_cleared(key); });
  return {keys.begin(), keys.end()};
}

/// A clearance, its verifier and the retraction of that one may each stand in another file.
bool MergedDatabase::is_cleared(const std::string& content_key) const {
  for (const auto& part : parts_) {
    for (const std::string& verifier : part->verifiers(content_key)) {
      const bool is_there =
          std::any_of(parts_.begin(), parts_.end(), [&](const auto& each) { return each->has_ok_record(verifier); });
      if (is_there && !is_retracted(verifier)) return true;
    }
  }
  return false;
}

std::vector<StoredWorkload> MergedDatabase::near(const std::string& workload_json, int limit) const {
  const double size = workload_form(workload_json).log2_size;
  std::map<std::pair<double, std::string>, StoredWorkload> by_distance;
  for (const auto& part : parts_) {
    for (StoredWorkload& workload : part->near(workload_json, limit)) {
      const double distance = std::abs(workload_form(workload.json).log2_size - size);
      by_distance.try_emplace({distance, workload.key}, workload);
    }
  }
  std::vector<StoredWorkload> near;
  for (auto& [distance, workload] : by_distance) {
    if (static_cast<int>(near.size()) < limit) near.push_back(std::move(workload));
  }
  return near;
}

int64_t MergedDatabase::effort(const std::string& workload_key, const std::string& device_name) const {
  if (parts_.size() == 1) return parts_.front()->effort(workload_key, device_name);
  std::set<std::string> keys;  // a record may stand in several files
  for (const auto& part : parts_) keys.merge(part->effort_keys(workload_key, device_name));
  return static_cast<int64_t>(keys.size());
}

std::vector<Record> MergedDatabase::records(const std::string& workload_key) const {
  return merge([&](const SqliteDatabase& part) { return part.records(workload_key); });
}

std::vector<Record> MergedDatabase::best(const std::string& workload_key, const std::string& arch, int limit) const {
  return best_of(*this, workload_key, arch, limit);
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

std::vector<Record> MergedDatabase::retracted(const std::string& workload_key) const {
  if (parts_.size() == 1) return parts_.front()->retracted(workload_key);
  std::set<std::string> seen;
  std::vector<Record> records;
  for (const auto& part : parts_) {
    for (Record& record : part->all_records(workload_key)) {
      if (!is_retracted(record.content_key) || !seen.insert(record.content_key).second) continue;
      if (part != parts_.front()) record.run_id = 0;
      records.push_back(std::move(record));
    }
  }
  return records;
}

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

RunInfo MergedDatabase::begin_run(const RunKey& key, const std::string& model_name, const std::string& arguments) {
  return parts_.front()->begin_run(key, model_name, arguments);
}

void MergedDatabase::end_run(int64_t run_id, const std::string& reason, const Json& summary) {
  parts_.front()->end_run(run_id, reason, summary);
}

std::string MergedDatabase::add(const Record& record) { return parts_.front()->add(record); }

void MergedDatabase::retract(const std::string& content_key, const std::string& reason) {
  parts_.front()->retract(content_key, reason);
}

void MergedDatabase::clear(const std::string& record_key, const std::string& verified_by) {
  parts_.front()->clear(record_key, verified_by);
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
