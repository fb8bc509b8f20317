// Files of lines: header, rows, end.
#include "database/json_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "database/new_file.h"
#include "database/row_json.h"
#include "database/row_reader.h"
#include "database/row_writer.h"
#include "database/sqlite_database.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

constexpr const char* kHeader = R"({"schema":"warpwright.records/2"})";

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

/// A line without its end; false at the end of the file. Throws UsageError for one that is too long to be a row.
bool read_line(std::istream& file, std::string& line, int64_t number) {
  line.clear();
  std::streambuf* bytes = file.rdbuf();
  for (int byte = bytes->sbumpc(); byte != std::char_traits<char>::eof(); byte = bytes->sbumpc()) {
    if (byte == '\n') return true;
    if (line.size() == kMostValueBytes) {
      throw UsageError(fmt::format("line {}: has more than {} bytes", number, kMostValueBytes));
    }
    line.push_back(static_cast<char>(byte));
  }
  return !line.empty();
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

ImportReport import_rows(const std::filesystem::path& input, const std::filesystem::path& database) {
  std::ifstream file(input, std::ios::binary);
  if (!file || std::filesystem::is_directory(input)) {
    throw UsageError(fmt::format("{}: cannot be read: {}", input.string(), std::strerror(errno)));
  }
  std::string line;
  if (!read_line(file, line, 1) || line != kHeader) {
    throw UsageError(fmt::format("{}: is no export of a database: its first line is not {}", input.string(), kHeader));
  }
  NewFile target(database);
  Transaction transaction(target.connection());
  RowWriter writer(target.connection());
  RowParser parser;
  ImportReport report;
  bool has_end = false;
  for (int64_t number = 2; read_line(file, line, number); ++number) {
    if (has_end) throw UsageError(fmt::format("{}: line {} stands behind the end", input.string(), number));
    has_end = line == end_line(number - 2);
    if (has_end) continue;
    try {
      const std::optional<Row> row = parser.parse(line);
      if (row && writer.insert(*row)) ++report.added[std::string(kind_of(*row))];
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
