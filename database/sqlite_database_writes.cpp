// Writing to one database file: runs, records, retractions and clearances.
#include <fmt/format.h>

#include <random>

#include "database/content_key.h"
#include "database/run_rows.h"
#include "database/sqlite_database.h"
#include "src/core/error.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

std::string random_uid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// The record as it is stored, with its key.
RecordRow row_of(const Record& record) {
  RecordRow row;
  row.record = record;
  row.record.outcome.message = storable(record.outcome.message, kMostLogBytes);
  row.record.outcome.log = storable(record.outcome.log, kMostLogBytes);
  row.record.content_key = content_key(row.record);
  row.host = storable(host_name(), kMostNameBytes);
  row.user = storable(user_name(), kMostNameBytes);
  row.recorded_utc = utc_now();
  if (const auto why = why_invalid(row)) throw InternalError(fmt::format("a record that cannot be stored: {}", *why));
  return row;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The summary of a run as far as it can be stored: of its tasks the first ones, and how many there were.
Json storable(Json summary) {
  if (summary.is_null() || text_of(summary).size() <= kMostSummaryBytes) return summary;
  Json tasks = Json::array();
  if (summary.is_object() && summary.contains("tasks") && summary["tasks"].is_array()) tasks.swap(summary["tasks"]);
  const size_t count = tasks.size();
  if (summary.is_object()) summary["tasks_of"] = count;
  size_t bytes = text_of(summary).size();
  if (!summary.is_object() || bytes > kMostSummaryBytes) {
    log_warning("the summary of the run has {} bytes, more than {}: it is not kept", bytes, kMostSummaryBytes);
    return {{"cut", true}};
  }
  Json kept = Json::array();
  for (Json& task : tasks) {
    bytes += text_of(task).size() + 1;
    if (bytes > kMostSummaryBytes) break;
    kept.push_back(std::move(task));
  }
  log_warning("the summary of the run is larger than {} bytes: of its {} tasks the first {} are kept in it",
              kMostSummaryBytes, count, kept.size());
  summary["tasks"] = std::move(kept);
  return summary;
}

}  // namespace

void SqliteDatabase::write(const std::function<void()>& change) {
  if (mode_ != OpenMode::read_write) throw InternalError(fmt::format("{}: is open for reading", path_.string()));
  connection();  // throws when it is closed
  guard_->check();
  try {
    Transaction transaction(*connection_);
    change();
    transaction.commit();
  } catch (const Error&) {
    guard_->check();  // which tells more
    throw;
  }
  guard_->check();
}

RunInfo SqliteDatabase::begin_run(const RunKey& key, const std::string& model_name, const std::string& arguments) {
  RunRow run;
  run.uid = random_uid();
  run.key = key;
  run.model_name = storable(model_name, kMostNameBytes);
  run.arguments = storable(arguments, kMostNameBytes);
  run.started_utc = run.heartbeat_utc = utc_now();
  run.host = storable(host_name(), kMostNameBytes);
  run.user = storable(user_name(), kMostNameBytes);
  if (const auto why = why_invalid(run)) throw InternalError(fmt::format("a run that cannot be stored: {}", *why));
  const std::string hash = run_key(key);
  const auto latest = [&]() -> std::optional<int64_t> {
    Statement row = connection().prepare("SELECT id FROM runs WHERE key = ? AND id > 0 ORDER BY id LIMIT 1");
    row.bind(1, hash);
    return row.step() ? std::optional<int64_t>(row.integer(0)) : std::nullopt;
  };
  int64_t id = 0;
  write([&] {
    writer_->remove_orphans();
    if (const auto known = latest()) {
      connection()
          .prepare("UPDATE runs SET heartbeat_utc = ?, ended_utc = '', end_reason = '', summary_json = '' WHERE id = ?")
          .bind(1, run.heartbeat_utc)
          .bind(2, *known)
          .run();
    } else {
      writer_->insert(run);
    }
    id = latest().value();
  });
  is_without_orphans_ = true;
  return info_of(read_runs(connection(), id).at(0));
}

void SqliteDatabase::end_run(int64_t run_id, const std::string& reason, const Json& summary) {
  RunRow end;
  end.uid = fmt::format("run {}", run_id);
  end.ended_utc = utc_now();
  end.end_reason = storable(reason, kMostNameBytes);
  end.summary = storable(summary);
  if (const auto why = why_invalid(end)) throw InternalError(fmt::format("an end that cannot be stored: {}", *why));
  write([&] {
    connection()
        .prepare("UPDATE runs SET heartbeat_utc = ?1, ended_utc = ?1, end_reason = ?2, summary_json = ?3 WHERE id = ?4")
        .bind(1, end.ended_utc)
        .bind(2, end.end_reason)
        .bind(3, end.summary.is_null() ? std::string() : text_of(end.summary))
        .bind(4, run_id)
        .run();
  });
}

std::string SqliteDatabase::add(const Record& record) {
  const RecordRow row = row_of(record);
  write([&] {
    if (!is_without_orphans_) writer_->remove_orphans();
    writer_->put(row);
    if (record.run_id == 0) return;
    Statement run = connection().prepare("UPDATE runs SET heartbeat_utc = ? WHERE id = ? RETURNING uid");
    run.bind(1, utc_now()).bind(2, record.run_id);
    if (!run.step()) {
      throw EnvironmentError(
          fmt::format("{}: run {} is in it no more: another program took it out", path_.string(), record.run_id));
    }
    writer_->insert(TrialRow{run.text(0), record.trial_index, row.record.content_key, record.is_default});
    run.run();
  });
  is_without_orphans_ = true;
  return row.record.content_key;
}

void SqliteDatabase::retract(const std::string& content_key, const std::string& reason) {
  write([&] { writer_->insert(RetractionRow{content_key, storable(reason, kMostNameBytes)}); });
}

void SqliteDatabase::clear(const std::string& record_key, const std::string& verified_by) {
  write([&] { writer_->insert(ClearanceRow{record_key, verified_by}); });
}

}  // namespace warpwright
