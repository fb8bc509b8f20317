// Inputs that once were read wrongly stay harmless, and some fresh broken ones every day.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/fuzz/harness/run_state.h"
#include "tests/fuzz/harness/supervisor.h"

namespace warpwright::testing {
namespace {

std::string text_of(const FuzzReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    text += finding.verdict + " at " + std::to_string(finding.index) + ": " + finding.message.substr(0, 500) + "\n";
  }
  return text;
}

std::vector<std::filesystem::path> kept_inputs(const std::string& subject) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(WARPWRIGHT_SOURCE_DIR "/tests/data/fuzz/" + subject)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class BrokenInputs : public ::testing::TestWithParam<std::string> {};

TEST_P(BrokenInputs, KeptOnesAreReadOrRefused) {
  const auto files = kept_inputs(GetParam());
  ASSERT_FALSE(files.empty());
  const FuzzReport report = read_files(*subject_named(GetParam()), files, {});
  EXPECT_EQ(report.findings.size(), 0u) << text_of(report);
  EXPECT_EQ(report.inputs(), std::ssize(files));
}

TEST_P(BrokenInputs, FreshOnesAreReadOrRefused) {
  FuzzOptions options;
  options.seed = 20261201;
  options.count = 1000;
  const FuzzReport report = fuzz(*subject_named(GetParam()), options);
  EXPECT_EQ(report.findings.size(), 0u) << text_of(report);
  EXPECT_EQ(report.inputs(), 1000);
  EXPECT_GT(report.taken, 100) << "most mutants must not be so broken that nothing is tried";
  EXPECT_GT(report.refused, 100);
}

INSTANTIATE_TEST_SUITE_P(AllSubjects, BrokenInputs, ::testing::ValuesIn(subject_names()),
                         [](const auto& info) { return info.param; });

/// Does what the input says.
class ObedientSubject : public Subject {
 public:
  std::string_view name() const override { return "obedient"; }
  std::string file_name() const override { return "input"; }
  void write_mutant(uint64_t seed, const std::filesystem::path& path) const override { std::ofstream(path) << seed; }
  void read(const std::filesystem::path& path) const override {
    const std::string order = read_file(path);
    if (order == "refuse") throw UsageError("no");
    if (order == "throw") throw std::out_of_range("vector::at");
    if (order == "abort") std::abort();
    const volatile bool loops = order == "loop";
    while (loops) {
    }
    if (order == "allocate") std::vector<char>(size_t{1} << 30, 'x').swap(kept_);
  }

 private:
  mutable std::vector<char> kept_;
};

TEST(Supervisor, TellsFaultsApartAndGoesOn) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> files;
  for (const std::string order : {"take", "throw", "refuse", "abort", "loop", "allocate", "take"}) {
    files.push_back(folder.path() / std::to_string(files.size()));
    write_file(files.back(), order);
  }
  Bounds bounds;
  bounds.cpu_seconds = 1;
  const FuzzReport report = read_files(ObedientSubject(), files, bounds);
  EXPECT_EQ(report.taken, 2);
  EXPECT_EQ(report.refused, 1);
  std::vector<std::pair<int64_t, std::string>> verdicts;
  for (const Finding& finding : report.findings) verdicts.emplace_back(finding.index, finding.verdict);
  const std::vector<std::pair<int64_t, std::string>> wanted{{1, "exception"}, {3, "crash"}, {4, "hang"}, {5, "memory"}};
  EXPECT_EQ(verdicts, wanted) << text_of(report);
  EXPECT_EQ(report.findings.front().message, "vector::at");
}

TEST(Supervisor, InterruptedRunGoesOn) {
  const TemporaryFolder folder;
  FuzzReport earlier;
  earlier.taken = 7;
  earlier.refused = 2;
  earlier.left = {{3, 5}, {9, 10}};
  earlier.findings = {{1, "crash", "signal 6"}};
  FuzzOptions options;
  options.seed = 4;
  options.state = folder.path() / "state";
  write_state(options.state, "obedient", options.seed, earlier);
  const FuzzReport report = fuzz(ObedientSubject(), options);
  EXPECT_EQ(report.taken, 10);
  EXPECT_EQ(report.refused, 2);
  EXPECT_EQ(report.findings.size(), 1u);
  EXPECT_TRUE(report.left.empty());
  EXPECT_EQ(fuzz(ObedientSubject(), options).inputs(), 13) << "nothing is left, and nothing is counted twice";
  options.seed = 5;
  EXPECT_THROW(fuzz(ObedientSubject(), options), UsageError);
}

TEST(Supervisor, MutantsDependOnSeedAndIndexAlone) {
  const TemporaryFolder folder;
  for (const std::string& name : subject_names()) {
    const auto subject = subject_named(name), second = subject_named(name);
    std::set<std::string> different;
    for (int64_t index = 0; index < 20; ++index) {
      subject->write_mutant(mutant_seed(7, index), folder.path() / "a");
      second->write_mutant(mutant_seed(7, index), folder.path() / "b");
      EXPECT_EQ(read_file(folder.path() / "a"), read_file(folder.path() / "b")) << name << " " << index;
      different.insert(read_file(folder.path() / "a"));
    }
    EXPECT_GE(different.size(), 18u) << name;
  }
}

}  // namespace
}  // namespace warpwright::testing
