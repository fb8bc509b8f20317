// Union of rows by key.
#include "database/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "database/new_file.h"
#include "database/row_reader.h"
#include "database/row_writer.h"
#include "database/schema.h"
#include "database/sqlite_database.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

struct Source {
  std::unique_ptr<Connection> connection;
  SourceReport report;
};

/// Opened within a transaction each: what a writer adds meanwhile is not seen by halves.
std::vector<Source> open_sources(const std::vector<std::filesystem::path>& inputs) {
  if (inputs.empty()) throw UsageError("no database was named");
  std::vector<Source> sources;
  for (const std::filesystem::path& path : inputs) {
    Source& source = sources.emplace_back();
    source.connection = open_as_it_is(path);
    source.connection->execute("BEGIN");
    source.report.path = path;
    source.report.schema_version = source.connection->integer("PRAGMA user_version");
  }
  return sources;
}

class Union {
 public:
  Union(std::vector<Source> sources, const Connection& target)
      : sources_(std::move(sources)), target_(&target), writer_(target) {}

  MergeReport make() {
    Transaction transaction(*target_);
    find_retractions();
    add_runs();
    add_part(RowPart::records);
    add_part(RowPart::trials);
    add_part(RowPart::marks);
    transaction.commit();
    MergeReport report;
    for (Source& source : sources_) report.sources.push_back(std::move(source.report));
    report.records = target_->integer("SELECT count(*) FROM records");
    report.workloads = target_->integer("SELECT count(*) FROM workloads");
    report.retracted = static_cast<int64_t>(taken_out_.size());
    report.pooled = target_->integer(
        "SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM records WHERE outcome = 'ok' GROUP BY workload_id, "
        "config_id, device_id HAVING n > 1)");
    report.quarantined = target_->integer(fmt::format(kCountQuarantined, kIsCleared).c_str());
    return report;
  }

 private:
  static constexpr const char* kCountQuarantined = R"sql(
SELECT count(*) FROM (
  SELECT 1 FROM records r JOIN devices d ON d.id = r.device_id
  WHERE r.outcome IN ('ok', 'wrong_result', 'memory_fault') AND NOT {}
  GROUP BY r.workload_id, r.config_id, d.arch HAVING count(DISTINCT r.outcome = 'ok') > 1)
)sql";

  static void count_damaged(Source& source, const DamagedRow& row) {
    ++source.report.refused[fmt::format("{}: {}", row.kind, row.why)];
  }

  void find_retractions() {
    for (Source& source : sources_) {
      Statement rows = source.connection->prepare("SELECT record_key FROM retractions");
      while (rows.step()) retracted_.insert(rows.text(0));
    }
  }

  /// In the order of their starts, so that ids do not depend on the order of the inputs.
  void add_runs() {
    std::vector<std::pair<RunRow, Source*>> runs;
    for (Source& source : sources_) {
      read_rows(
          *source.connection, RowPart::runs,
          [&](Row row) { runs.emplace_back(std::get<RunRow>(std::move(row)), &source); },
          [&](const DamagedRow& row) { count_damaged(source, row); });
    }
    std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first.started_utc, a.first.uid) < std::tie(b.first.started_utc, b.first.uid);
    });
    for (const auto& [run, source] : runs) count(*source, run, writer_.insert(run));
  }

  void add_part(RowPart part) {
    for (Source& source : sources_) {
      read_rows(
          *source.connection, part, [&](Row row) { add(source, row); },
          [&](const DamagedRow& row) { count_damaged(source, row); });
    }
  }

  void add(Source& source, const Row& row) {
    if (const auto* of_record = std::get_if<RecordRow>(&row)) {
      const Record& record = of_record->record;
      if (retracted_.contains(record.content_key)) {
        taken_out_.insert(record.content_key);
        return;
      }
      ++source.report.records_by_device[record.device_name];
      ++source.report.records_by_environment[record.environment];
    }
    count(source, row, writer_.insert(row));
  }

  void count(Source& source, const Row& row, Inserted inserted) const {
    SourceReport& report = source.report;
    if (inserted != Inserted::left_out) {
      ++(inserted == Inserted::is_new ? report.added : report.known)[std::string(kind_of(row))];
      return;
    }
    const auto* trial = std::get_if<TrialRow>(&row);
    if (trial != nullptr && retracted_.contains(trial->record_key)) return;
    ++report.refused[fmt::format("{}: its run or its record was refused", kind_of(row))];
  }

  std::vector<Source> sources_;
  const Connection* target_;
  RowWriter writer_;
  std::set<std::string> retracted_, taken_out_;
};

}  // namespace

MergeReport merge_databases(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output) {
  std::vector<Source> sources = open_sources(inputs);
  if (output.empty()) {
    const std::unique_ptr<Connection> connection = Connection::temporary("merge");
    create_if_empty(*connection);
    return Union(std::move(sources), *connection).make();
  }
  NewFile file(output);
  MergeReport report = Union(std::move(sources), file.connection()).make();
  file.finish();
  return report;
}

}  // namespace warpwright
