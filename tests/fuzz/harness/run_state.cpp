// States as JSON.
#include "tests/fuzz/harness/run_state.h"

#include <fmt/core.h>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_text.h"

namespace warpwright::testing {

void write_state(const std::filesystem::path& path, std::string_view subject, uint64_t seed, const FuzzReport& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back({{"index", finding.index}, {"verdict", finding.verdict}, {"message", finding.message}});
  }
  const Json state{{"subject", subject},
                   {"seed", seed},
                   {"taken", report.taken},
                   {"refused", report.refused},
                   {"cpu_seconds", report.cpu_seconds},
                   {"slowest_seconds", report.slowest_seconds},
                   {"slowest_index", report.slowest_index},
                   {"most_bytes", report.most_bytes},
                   {"most_bytes_index", report.most_bytes_index},
                   {"left", report.left},
                   {"findings", findings}};
  const std::filesystem::path temporary = path.string() + ".new";
  write_file(temporary, json_document(state) + "\n");
  std::filesystem::rename(temporary, path);
}

FuzzReport read_state(const std::filesystem::path& path, std::string_view subject, uint64_t seed) {
  try {
    const Json state = parse_json(read_file(path));
    if (state.at("subject") != subject || state.at("seed") != seed) {
      throw UsageError(fmt::format("{}: is a run over {} with seed {}", path.string(), state.at("subject").dump(),
                                   state.at("seed").dump()));
    }
    FuzzReport report;
    report.taken = state.at("taken");
    report.refused = state.at("refused");
    report.cpu_seconds = state.at("cpu_seconds");
    report.slowest_seconds = state.at("slowest_seconds");
    report.slowest_index = state.at("slowest_index");
    report.most_bytes = state.at("most_bytes");
    report.most_bytes_index = state.at("most_bytes_index");
    report.left = state.at("left").get<std::vector<Range>>();
    for (const Json& finding : state.at("findings")) {
      report.findings.push_back({finding.at("index"), finding.at("verdict"), finding.at("message")});
    }
    return report;
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("{}: is no state of a run: {}", path.string(), error.what()));
  }
}

}  // namespace warpwright::testing
