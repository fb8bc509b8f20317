// Checks from the pages up to the derived columns.
#include "database/check.h"

#include <fmt/format.h>

#include "database/row_reader.h"
#include "database/schema.h"
#include "database/sqlite_database.h"
#include "database/workload_form.h"

namespace warpwright {
namespace {

void check_pages(const Connection& connection, CheckReport& report) {
  Statement rows = connection.prepare("PRAGMA integrity_check(20)");
  while (rows.step()) {
    if (const std::string message = rows.text(0); message != "ok") ++report.faults["pages: " + message];
  }
}

void check_references(const Connection& connection, CheckReport& report) {
  Statement rows = connection.prepare("PRAGMA foreign_key_check");
  while (rows.step()) ++report.faults[fmt::format("a row of {} refers to nothing in {}", rows.text(0), rows.text(2))];
}

/// The columns that look-ups go by.
void check_derived(const Connection& connection, CheckReport& report) {
  Statement workloads = connection.prepare("SELECT json, form, log2_size FROM workloads");
  while (workloads.step()) {
    const WorkloadForm form = workload_form(workloads.text(0));
    if (form.key != workloads.text(1) || form.log2_size != workloads.real(2)) ++report.faults["workload: wrong form"];
  }
  Statement records = connection.prepare(
      "SELECT r.id, r.space, c.json, r.median_us FROM records r JOIN configs c ON c.id = r.config_id");
  Statement samples = connection.prepare("SELECT us FROM samples WHERE record_id = ? AND is_warm = 0 LIMIT 5000");
  while (records.step()) {
    if (records.text(1) != space_of(records.text(2))) ++report.faults["record: wrong space"];
    std::vector<double> times;
    samples.reset();
    samples.bind(1, records.integer(0));
    while (samples.step()) times.push_back(samples.real(0));
    const bool right = times.empty() ? records.is_null(3) : records.real(3) == median(times);
    if (!right) ++report.faults["record: wrong median"];
  }
}

}  // namespace

CheckReport check_database(const std::filesystem::path& path, const std::function<void(const Record&)>& visit) {
  CheckReport report;
  const std::unique_ptr<Connection> connection = open_as_it_is(path);
  report.schema_version = connection->integer("PRAGMA user_version");
  check_pages(*connection, report);
  check_references(*connection, report);
  if (report.schema_version == kSchemaVersion) check_derived(*connection, report);
  read_rows(
      *connection,
      [&](const Row& row) {
        if (const auto* of_record = std::get_if<RecordRow>(&row)) {
          ++report.records;
          visit(of_record->record);
        }
        report.retractions += std::holds_alternative<RetractionRow>(row);
        report.clearances += std::holds_alternative<ClearanceRow>(row);
      },
      [&](const DamagedRow& row) { ++report.faults[fmt::format("{}: {}", row.kind, row.why)]; });
  return report;
}

}  // namespace warpwright
