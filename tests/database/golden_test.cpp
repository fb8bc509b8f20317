// Databases of every schema version that ever was: what was written then is read today.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/check.h"
#include "database/database.h"
#include "database/merge.h"
#include "database/schema.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/database/random_database.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;

class GoldenTest : public ::testing::TestWithParam<int> {
 protected:
  static std::filesystem::path golden(const std::string& extension) {
    return std::filesystem::path(WARPWRIGHT_SOURCE_DIR) / "tests/data/databases" /
           ("version_" + std::to_string(GetParam()) + extension);
  }
  TemporaryFolder folder_;
};

TEST_P(GoldenTest, ReadsAsItWasWritten) {
  const std::string expected = read_file(golden(".jsonl"));
  EXPECT_TRUE(canonical_text(golden(".db")) == expected);
  const auto database = open_database(golden(".db"), OpenMode::read_only);
  EXPECT_EQ(database->statistics().records, 41);
  EXPECT_EQ(database->statistics().by_outcome.at("wrong_result"), 1);
  EXPECT_EQ(database->list("", "compile_error", 5).at(0).outcome.log,
            "error: identifier \"x\" is undefined\nfull log\n");
  const std::vector<RunInfo> runs = database->runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].end_reason, "trials");
  EXPECT_EQ(database->run_records(1).size(), 25u);
  EXPECT_GT(database->best(database->workload_keys().at(0), "sm_89", 1).at(0).outcome.median_us(), 0);
}

TEST_P(GoldenTest, MigratesToTodaysSchema) {
  const auto path = folder_.path() / "new.db";
  const MergeReport report = merge_databases({golden(".db")}, path);
  EXPECT_EQ(report.sources.at(0).schema_version, GetParam());
  EXPECT_TRUE(report.sources.at(0).refused.empty());
  EXPECT_EQ(report.records, 41);
  EXPECT_TRUE(canonical_text(path) == read_file(golden(".jsonl")));
  const CheckReport check = check_database(path, [](const Record&) {});
  EXPECT_EQ(check.schema_version, kSchemaVersion);
  EXPECT_TRUE(check.faults.empty());
  EXPECT_NO_THROW(open_database(path, OpenMode::read_write)->close());
}

TEST_P(GoldenTest, IsSound) {
  EXPECT_TRUE(check_database(golden(".db"), [](const Record&) {}).faults.empty());
}

TEST_P(GoldenTest, AnOlderOneIsNotWrittenTo) {
  if (GetParam() == kSchemaVersion) GTEST_SKIP() << "today's version";
  const auto path = folder_.path() / "old.db";
  std::filesystem::copy_file(golden(".db"), path);
  try {
    open_database(path, OpenMode::read_write);
    ADD_FAILURE() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("db migrate"));
  }
  EXPECT_EQ(read_file(path), read_file(golden(".db")));
}

INSTANTIATE_TEST_SUITE_P(Versions, GoldenTest, ::testing::Range(1, static_cast<int>(kSchemaVersion) + 1));

}  // namespace
}  // namespace warpwright
