// Look-up in one database file: by index, and only as far as the caller goes.
#include <fmt/format.h>

#include <algorithm>

#include "database/content_key.h"
#include "database/sqlite_database.h"
#include "database/workload_form.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

/// Without the column by which they are ordered; what such a record is worth cannot be told from the index.
constexpr const char* kCountWithoutMedian =
    "SELECT count(*) FROM records r WHERE r.workload_id = (SELECT id FROM workloads WHERE key = ?1) AND r.device_id = "
    "(SELECT id FROM devices WHERE key = ?2) AND r.space = ?3 AND r.median_us IS NULL AND r.outcome = 'ok' AND NOT "
    "EXISTS (SELECT 1 FROM retractions x WHERE x.record_key = r.content_key)";

class GroupStream : public RecordStream {
 public:
  GroupStream(const Connection& connection, const RecordGroup& group)
      : without_median_(connection, kCountWithoutMedian),
        query_(connection,
               "r.workload_id = (SELECT id FROM workloads WHERE key = ?2) AND r.device_id = (SELECT id FROM devices "
               "WHERE key = ?3) AND r.space = ?4 AND r.median_us IS NOT NULL ORDER BY r.median_us, r.content_key") {
    query_.bind(2, group.workload_key).bind(3, group.device.key).bind(4, group.space);
    without_median_.bind(1, group.workload_key).bind(2, group.device.key).bind(3, group.space);
  }

  std::optional<Record> next() override {
    std::optional<RecordRow> row = query_.next();
    if (row) return std::move(row->record);
    // Only now: it goes through all failed records of the group.
    if (!without_median_count_ && without_median_.step()) without_median_count_ = without_median_.integer(0);
    return std::nullopt;
  }

  std::map<std::string, int64_t> damaged() const override {
    std::map<std::string, int64_t> damaged = query_.damaged();
    if (without_median_count_.value_or(0) > 0) damaged["its median is missing"] += *without_median_count_;
    return damaged;
  }

 private:
  Statement without_median_;
  std::optional<int64_t> without_median_count_;
  RecordQuery query_;
};

constexpr const char* kOfGroup =
    "r.workload_id = (SELECT id FROM workloads WHERE key = ?1) AND r.device_id = (SELECT id FROM devices WHERE key = "
    "?2) AND r.space = ?3";

constexpr const char* kOfEffort =
    "FROM records WHERE workload_id = (SELECT id FROM workloads WHERE key = ?1) AND device_id IN (SELECT id FROM "
    "devices "
    "WHERE name = ?2)";

}  // namespace

std::vector<RecordGroup> SqliteDatabase::groups(const std::string& workload_key) const {
  std::vector<RecordGroup> groups;
  Statement devices =
      connection().prepare("SELECT id, key, name, arch, target_key, target_json FROM devices ORDER BY key");
  // From one group to the next by the index, not through the records between them.
  Statement next = connection().prepare(
      "SELECT min(space) FROM records WHERE workload_id = (SELECT id FROM workloads WHERE key = ?1) AND device_id = ?2 "
      "AND space > ?3");
  while (devices.step()) {
    const StoredDevice device{devices.text(1), devices.text(2), devices.text(3), devices.text(4), devices.text(5)};
    std::string space;
    for (;;) {
      next.reset();
      next.bind(1, workload_key).bind(2, devices.integer(0)).bind(3, space);
      if (!next.step() || next.is_null(0)) break;
      space = next.text(0);
      groups.push_back({workload_key, device, space});
    }
  }
  return groups;
}

std::unique_ptr<RecordStream> SqliteDatabase::fastest(const RecordGroup& group) const {
  return std::make_unique<GroupStream>(connection(), group);
}

std::map<std::string, int64_t> SqliteDatabase::outcomes(const RecordGroup& group) const {
  // Those that are ok lie in the index; they are counted there, and the retracted ones taken off.
  const auto bound = [&](const std::string& sql) {
    Statement rows = connection().prepare(sql);
    rows.bind(1, group.workload_key).bind(2, group.device.key).bind(3, group.space);
    return rows;
  };
  std::map<std::string, int64_t> outcomes;
  Statement failed = bound(
      fmt::format("SELECT r.outcome, count(*) FROM records r WHERE {} AND r.median_us IS NULL AND r.content_key NOT IN "
                  "(SELECT record_key FROM retractions) GROUP BY r.outcome",
                  kOfGroup));
  while (failed.step()) outcomes[failed.text(0)] += failed.integer(1);
  Statement ok = bound(fmt::format(
      "SELECT (SELECT count(*) FROM records r WHERE {0} AND r.median_us IS NOT NULL) - (SELECT count(DISTINCT "
      "r.id) FROM retractions x CROSS JOIN records r ON r.content_key = x.record_key WHERE {0} AND "
      "r.median_us IS NOT NULL)",
      kOfGroup));
  if (ok.step() && ok.integer(0) > 0) outcomes[std::string(name(OutcomeKind::ok))] = ok.integer(0);
  return outcomes;
}

std::vector<Record> SqliteDatabase::of_config(const std::string& workload_key, const std::string& config_json) const {
  RecordQuery query(connection(),
                    "r.workload_id = (SELECT id FROM workloads WHERE key = ?2) AND r.config_id = (SELECT id FROM "
                    "configs WHERE key = ?3) ORDER BY r.content_key");
  query.bind(2, workload_key).bind(3, config_key(config_json));
  return read(query);
}

std::vector<Record> SqliteDatabase::defaults(const std::string& workload_key, const std::string& run_uid) const {
  RecordQuery query(connection(),
                    "r.outcome = 'ok' AND r.id IN (SELECT record_id FROM defaults WHERE workload_id = (SELECT id FROM "
                    "workloads WHERE key = ?2) AND run_id = (SELECT id FROM runs WHERE uid = ?3)) ORDER BY r.id");
  query.bind(2, workload_key).bind(3, run_uid);
  return read(query);
}

std::optional<double> median_us_of(const std::vector<Record>& records) {
  std::vector<double> samples;
  for (const Record& record : records) {
    samples.insert(samples.end(), record.outcome.samples_us.begin(), record.outcome.samples_us.end());
  }
  if (samples.empty()) return std::nullopt;
  return median(std::move(samples));
}

std::optional<double> SqliteDatabase::default_us(const std::string& workload_key, const std::string& run_uid) const {
  return median_us_of(defaults(workload_key, run_uid));
}

std::vector<std::string> SqliteDatabase::wrong_results(const std::string& workload_key, const std::string& config_json,
                                                       const std::string& arch) const {
  Statement rows = connection().prepare(
      "SELECT r.content_key FROM records r JOIN devices d ON d.id = r.device_id WHERE r.workload_id = (SELECT id FROM "
      "workloads WHERE key = ?1) AND r.config_id = (SELECT id FROM configs WHERE key = ?2) AND r.outcome IN "
      "('wrong_result', 'memory_fault') AND d.arch = ?3 ORDER BY 1");
  rows.bind(1, workload_key).bind(2, config_key(config_json)).bind(3, arch);
  std::vector<std::string> keys;
  while (rows.step()) keys.push_back(rows.text(0));
  return keys;
}

std::vector<std::string> SqliteDatabase::objections(const std::string& workload_key, const std::string& config_json,
                                                    const std::string& arch) const {
  std::vector<std::string> keys = wrong_results(workload_key, config_json, arch);
  std::erase_if(keys, [this](const std::string& key) { return is_retracted(key) || is_cleared(key); });
  return keys;
}

std::vector<StoredWorkload> SqliteDatabase::near(const std::string& workload_json, int limit) const {
  const WorkloadForm form = workload_form(workload_json);
  if (form.key.empty()) return {};
  Statement rows = connection().prepare(R"sql(
SELECT key, json FROM (
  SELECT * FROM (SELECT key, json, log2_size - ?2 AS distance FROM workloads WHERE form = ?1 AND log2_size >= ?2
                 ORDER BY log2_size, key LIMIT ?3)
  UNION ALL
  SELECT * FROM (SELECT key, json, ?2 - log2_size AS distance FROM workloads WHERE form = ?1 AND log2_size < ?2
                 ORDER BY log2_size DESC, key LIMIT ?3)
) WHERE json <> ?4 ORDER BY distance, key LIMIT ?3 - 1)sql");
  rows.bind(1, form.key).bind(2, form.log2_size).bind(3, static_cast<int64_t>(std::max(0, limit)) + 1);
  rows.bind(4, workload_json);
  std::vector<StoredWorkload> near;
  while (rows.step()) near.push_back({rows.text(0), rows.text(1)});
  return near;
}

int64_t SqliteDatabase::effort(const std::string& workload_key, const std::string& device_name) const {
  Statement row = connection().prepare(fmt::format("SELECT count(*) {}", kOfEffort));
  row.bind(1, workload_key).bind(2, device_name);
  return row.step() ? row.integer(0) : 0;
}

std::map<std::string, std::string> SqliteDatabase::outcomes_by_key(const RecordGroup& group) const {
  Statement rows =
      connection().prepare(fmt::format("SELECT r.content_key, r.outcome FROM records r WHERE {}", kOfGroup));
  rows.bind(1, group.workload_key).bind(2, group.device.key).bind(3, group.space);
  std::map<std::string, std::string> outcomes;
  while (rows.step()) outcomes.emplace(rows.text(0), rows.text(1));
  return outcomes;
}

std::set<std::string> SqliteDatabase::effort_keys(const std::string& workload_key,
                                                  const std::string& device_name) const {
  Statement rows = connection().prepare(fmt::format("SELECT content_key {}", kOfEffort));
  rows.bind(1, workload_key).bind(2, device_name);
  std::set<std::string> keys;
  while (rows.step()) keys.insert(rows.text(0));
  return keys;
}

std::vector<Record> SqliteDatabase::best(const std::string& workload_key, const std::string& arch, int limit) const {
  return best_of(*this, workload_key, arch, limit);
}

std::vector<Record> best_of(const Database& database, const std::string& workload_key, const std::string& arch,
                            int limit) {
  std::vector<Record> best;
  for (const RecordGroup& group : database.groups(workload_key)) {
    if (!arch.empty() && group.device.arch != arch) continue;
    const std::unique_ptr<RecordStream> stream = database.fastest(group);
    for (int i = 0; i < limit; ++i) {
      std::optional<Record> record = stream->next();
      if (!record) break;
      best.push_back(std::move(*record));
    }
    for (const auto& [why, count] : stream->damaged()) {
      log_warning("task {} on {}: {} damaged records were skipped: {}", workload_key, group.device.name, count, why);
    }
  }
  // Equal times: by content key, so that every file order gives the same.
  std::sort(best.begin(), best.end(), [](const Record& a, const Record& b) {
    const double a_us = a.outcome.median_us(), b_us = b.outcome.median_us();
    return a_us != b_us ? a_us < b_us : a.content_key < b.content_key;
  });
  if (static_cast<int64_t>(best.size()) > limit) best.erase(best.begin() + std::max(0, limit), best.end());
  return best;
}

}  // namespace warpwright
