// fuzz: many broken inputs, each read under a bound in time and memory.
//
//   fuzz SUBJECT [--seed 1] [--first 0] [--count 1000000] [--jobs N] [--failures DIR] [--state FILE]
//   fuzz SUBJECT --read FILE...      these files, under the same bounds
//   fuzz SUBJECT --index 17 --write FILE      one mutant, to look at
//
// Meant to be built with the sanitizers (scripts/fuzz does). A mutant depends on the seed and its index alone. Exit
// status 1 when there was a finding; what failed lies in DIR beside a log. FILE says every 10 seconds what has come of
// the run; started again with it, an interrupted run goes on.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>
#include <thread>

#include "src/core/error.h"
#include "tests/fuzz/harness/supervisor.h"

using namespace warpwright;
using namespace warpwright::testing;

namespace {

/// The line that tells one fault from another.
std::string headline(const std::string& message) {
  for (const char* mark : {"ERROR: AddressSanitizer", "runtime error", "memory bound", "exceeds maximum"}) {
    const size_t at = message.find(mark);
    if (at == std::string::npos) continue;
    const size_t begin = message.rfind('\n', at) + 1;  // of its line
    return message.substr(begin, std::min(message.find('\n', at) - begin, size_t{200}));
  }
  return message.substr(0, std::min(message.find('\n'), size_t{200}));
}

bool report(const std::string& subject, const FuzzReport& report) {
  std::map<std::string, int64_t> verdicts;
  for (const Finding& finding : report.findings) {
    fmt::print("{}: index {}: {}\n", finding.verdict, finding.index, headline(finding.message));
    ++verdicts[finding.verdict];
  }
  fmt::print("{} {} inputs: {} taken, {} refused", report.inputs(), subject, report.taken, report.refused);
  for (const auto& [verdict, count] : verdicts) fmt::print(", {} {}", count, verdict);
  fmt::print("; {:.0f} s of CPU, slowest {:.2f} s (index {})", report.cpu_seconds, report.slowest_seconds,
             report.slowest_index);
  if (report.most_bytes > 0) {
    fmt::print(", most memory {:.1f} MiB (index {})", static_cast<double>(report.most_bytes) / (1 << 20),
               report.most_bytes_index);
  }
  fmt::print("\n");
  return report.findings.empty();
}

}  // namespace

int main(int argc, char** argv) {
  FuzzOptions options;
  options.count = 1'000'000;
  options.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::string subject_name, write;
  std::vector<std::filesystem::path> files;
  int64_t index = -1;
  CLI::App app("reads many broken inputs, each under a bound in time and memory");
  app.add_option("subject", subject_name, fmt::format("{}", fmt::join(subject_names(), ", ")))->required();
  app.add_option("--seed", options.seed, "of all mutants");
  app.add_option("--first", options.first, "index of the first mutant");
  app.add_option("--count", options.count, "mutants to read");
  app.add_option("--jobs", options.jobs, "processes")->check(CLI::Range(1, 256));
  app.add_option("--failures", options.failures, "a folder for inputs that failed");
  app.add_option("--state", options.state, "a file that keeps the run; one that exists is gone on with");
  app.add_option("--read", files, "read these files instead")->check(CLI::ExistingFile);
  app.add_option("--index", index, "with --write: this mutant");
  app.add_option("--write", write, "only write the mutant of --index to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto subject = subject_named(subject_name);
    if (!write.empty()) {
      if (index < 0) throw UsageError("--write needs --index");
      subject->write_mutant(mutant_seed(options.seed, index), write);
      return 0;
    }
    const FuzzReport result = files.empty() ? fuzz(*subject, options) : read_files(*subject, files, options.bounds);
    return report(subject_name, result) ? 0 : 1;
  } catch (const Error& error) {
    fmt::print(stderr, "fuzz: {}\n", error.what());
    return 2;
  }
}
