// Oracle: computes each case once, keeps to its limit, shares through a folder and distrusts its files.
#include "src/reference/oracle.h"

#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/reference/examples/workloads.h"

namespace warpwright {
namespace {

constexpr int64_t kPlenty = int64_t{1} << 30;

Workload small_workload(int64_t rows) { return testing::dense_workload(DType::s8, DType::s8, rows, 32, 16); }

std::filesystem::path only_file(const std::filesystem::path& folder) {
  return std::filesystem::directory_iterator(folder)->path();
}

TEST(Oracle, ComputesEachCaseOnce) {
  Oracle oracle(kPlenty);
  const auto first = oracle.get(small_workload(1), 1);
  EXPECT_EQ(oracle.get(small_workload(1), 1), first);
  EXPECT_EQ(oracle.computed_count(), 1);
  EXPECT_NE(oracle.get(small_workload(1), 2)->expected, first->expected);
  EXPECT_EQ(oracle.computed_count(), 2);
  const Tensor* inputs[] = {&first->example.inputs[0]};
  EXPECT_EQ(run_reference(small_workload(1), first->example.values, inputs), first->expected);
}

TEST(Oracle, DropsTheCaseUsedLongestAgo) {
  const int64_t bytes = Oracle(kPlenty).get(small_workload(1), 1)->bytes();
  Oracle oracle(2 * bytes);
  oracle.get(small_workload(1), 1);
  oracle.get(small_workload(1), 2);
  oracle.get(small_workload(1), 1);
  oracle.get(small_workload(1), 3);  // drops seed 2
  oracle.get(small_workload(1), 1);
  EXPECT_EQ(oracle.computed_count(), 3);
  oracle.get(small_workload(1), 2);
  EXPECT_EQ(oracle.computed_count(), 4);
}

TEST(Oracle, KeepsNothingAboveItsLimit) {
  Oracle oracle(10);
  oracle.get(small_workload(1), 1);
  oracle.get(small_workload(1), 1);
  EXPECT_EQ(oracle.computed_count(), 2);
}

TEST(Oracle, SharesThroughItsFolder) {
  const TemporaryFolder folder;
  Oracle writer(kPlenty, folder.path());
  const auto written = writer.get(small_workload(3), 5);
  Oracle reader(kPlenty, folder.path());
  EXPECT_EQ(reader.get(small_workload(3), 5)->expected, written->expected);
  EXPECT_EQ(reader.computed_count(), 0);
}

TEST(Oracle, ComputesAgainWhatIsDamaged) {
  const TemporaryFolder folder;
  const auto right = Oracle(kPlenty, folder.path()).get(small_workload(3), 5);
  const auto path = only_file(folder.path());
  const std::string whole = read_file(path);
  for (const std::string& damaged : {whole.substr(0, whole.size() - 1), whole + "x", std::string(),
                                     whole.substr(0, whole.size() - 1) + static_cast<char>(whole.back() ^ 1)}) {
    write_file(path, damaged);
    Oracle reader(kPlenty, folder.path());
    EXPECT_EQ(reader.get(small_workload(3), 5)->expected, right->expected);
    EXPECT_EQ(reader.computed_count(), 1);
    EXPECT_EQ(read_file(path), whole);
  }
}

TEST(Oracle, DoesNotTakeAnotherCasesFile) {
  const TemporaryFolder folder;
  Oracle(kPlenty, folder.path()).get(small_workload(3), 5);
  const auto path = only_file(folder.path());
  const std::string name = path.filename().string();
  std::filesystem::copy_file(path, folder.path() / (name.substr(0, name.find_last_of('-')) + "-6.expected"));
  Oracle reader(kPlenty, folder.path());
  reader.get(small_workload(3), 6);
  EXPECT_EQ(reader.computed_count(), 1);
}

TEST(Oracle, RefusesAMissingFolder) {
  EXPECT_THROW(Oracle(kPlenty, std::filesystem::path("/nonexistent/folder")), EnvironmentError);
}

}  // namespace
}  // namespace warpwright
