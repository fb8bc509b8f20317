// Files of lines: header, rows, end.
#include "database/json_lines.h"

#include <fmt/format.h>

#include "database/new_file.h"
#include "database/row_json.h"
#include "database/row_reader.h"
#include "database/row_writer.h"
#include "database/sqlite_database.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

constexpr const char* kHeader = R"({"schema":"warpwright.records/2"})";
constexpr std::string_view kAnyHeader = R"({"schema":"warpwright.records/)";  // of every version

std::string end_line(int64_t lines) { return Json{{"end", {{"lines", lines}}}}.dump(); }

void make_anonymous(Row& row) {
  if (auto* run = std::get_if<RunRow>(&row)) {
    run->model_name.clear();
    run->arguments.clear();
    run->host.clear();
    run->user.clear();
  } else if (auto* record = std::get_if<RecordRow>(&row)) {
    record->host.clear();
    record->user.clear();
    record->recorded_utc.clear();
  }
}

}  // namespace

int64_t export_rows(const std::filesystem::path& database, const ExportOptions& options,
                    const std::function<void(const std::string& line)>& write) {
  const std::unique_ptr<Connection> connection = open_to_read(database);
  connection->execute("BEGIN");  // what a writer adds meanwhile is not seen by halves
  RowLines row_lines;
  std::map<std::string, int64_t> damaged;
  int64_t rows = 0, lines = 0;
  write(kHeader);
  read_rows(
      *connection,
      [&](Row row) {
        if (options.anonymous) make_anonymous(row);
        for (const std::string& line : row_lines.lines_of(row)) {
          write(line);
          ++lines;
        }
        ++rows;
      },
      [&](const DamagedRow& row) { ++damaged[row.why]; });
  write(end_line(lines));
  for (const auto& [why, count] : damaged) {
    log_warning("{}: {} damaged rows were left out: {}", database.string(), count, why);
  }
  return rows;
}

bool is_export(const std::filesystem::path& path) {
  return first_line(path, kAnyHeader.size()).starts_with(kAnyHeader);
}

ImportReport import_rows(const std::filesystem::path& input, const std::filesystem::path& database) {
  LineReader lines(input, kMostValueBytes);
  std::string line;
  const bool is_empty = !lines.next(line);
  if (is_empty || !line.starts_with(kAnyHeader)) {
    throw UsageError(fmt::format("{}: is no export of a database: its first line is not {}", input.string(), kHeader));
  }
  if (line != kHeader) {
    throw UsageError(
        fmt::format("{}: is an export of another version: its first line is {}, and this program takes {}; use the "
                    "warpwright that it is of, or a newer one",
                    input.string(), printable(line.substr(0, 60)), kHeader));
  }
  NewFile target(database);
  Transaction transaction(target.connection());
  RowWriter writer(target.connection());
  RowParser parser;
  ImportReport report;
  bool has_end = false;
  while (lines.next(line)) {
    const int64_t number = lines.number();
    if (has_end) throw UsageError(fmt::format("{}: line {} stands behind the end", input.string(), number));
    has_end = line == end_line(number - 2);
    if (has_end) continue;
    try {
      const std::optional<Row> row = parser.parse(line);
      if (!row) continue;
      const Inserted inserted = writer.insert(*row);
      if (inserted == Inserted::left_out) throw UsageError("names a run or a record that no line before it gives");
      if (inserted == Inserted::is_new) ++report.added[std::string(kind_of(*row))];
    } catch (const UsageError& error) {
      ++report.refused.try_emplace(error.what(), ImportReport::Refusal{0, number}).first->second.lines;
    }
  }
  if (!has_end) {
    throw UsageError(
        fmt::format("{}: was cut: its last line is not the end with the number of its lines", input.string()));
  }
  transaction.commit();
  target.finish();
  return report;
}

}  // namespace warpwright
