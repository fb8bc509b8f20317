// Laws of merging on random databases, and what a merge reports.
#include "database/merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/database.h"
#include "database/json_lines.h"
#include "database/schema.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/database/random_database.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;

class MergeTest : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  /// The canonical text of a merge.
  std::string merged(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output) const {
    std::filesystem::remove(output);
    merge_databases(inputs, output);
    return canonical_text(output);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(MergeTest, IsCommutativeAssociativeAndIdempotent) {
  const auto a = file("a"), b = file("b"), c = file("c"), ab = file("ab"), bc = file("bc"), out = file("out");
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const auto& path : {a, b, c}) std::filesystem::remove(path);
    write_random_database(a, 3 * seed);
    write_random_database(b, 3 * seed + 1);
    write_random_database(c, 3 * seed + 2);
    const std::string text_ab = merged({a, b}, ab);
    EXPECT_TRUE(merged({b, a}, out) == text_ab) << seed;
    EXPECT_TRUE(merged({a}, out) == canonical_text(a)) << seed;
    EXPECT_TRUE(merged({a, a}, out) == canonical_text(a)) << seed;
    EXPECT_TRUE(merged({ab, a}, out) == text_ab) << seed;
    merged({b, c}, bc);
    const std::string all = merged({a, b, c}, out);
    EXPECT_TRUE(merged({ab, c}, out) == all) << seed;
    EXPECT_TRUE(merged({a, bc}, out) == all) << seed;
    EXPECT_TRUE(merged({c, ab, bc}, out) == all) << seed;
  }
}

TEST_F(MergeTest, ExportAndImportLoseNothing) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto a = file(fmt::format("a{}", seed)), lines = file("lines"), back = file(fmt::format("b{}", seed));
    write_random_database(a, seed);
    const std::string text = canonical_text(a);
    write_file(lines, text);
    EXPECT_TRUE(import_rows(lines, back).refused.empty());
    EXPECT_TRUE(canonical_text(back) == text) << seed;
  }
}

TEST_F(MergeTest, SaysWhatCameInAndWhatWasKnown) {
  auto a = open_database(file("a"), OpenMode::read_write), b = open_database(file("b"), OpenMode::read_write);
  for (int i = 0; i < 3; ++i) a->add(make_record(i));
  for (int i = 2; i < 4; ++i) b->add(make_record(i));
  b->add(make_record(0, 99));  // the same Config, measured again elsewhere
  Record wrong = failed_record(1, OutcomeKind::wrong_result);
  b->add(wrong);
  a->retract(b->add(make_record(7)), "overheated");
  a->close();
  b->close();
  const MergeReport dry = merge_databases({file("a"), file("b")}, "");
  const MergeReport report = merge_databases({file("a"), file("b")}, file("c"));
  for (const MergeReport& told : {dry, report}) {
    EXPECT_EQ(told.sources.at(0).added.at("record"), 3);
    EXPECT_EQ(told.sources.at(1).added.at("record"), 3);
    EXPECT_EQ(told.sources.at(1).known.at("record"), 1);
    EXPECT_EQ(told.sources.at(1).records_by_device.at("virtual:rtx4090"), 4);
    EXPECT_EQ(told.records, 6);
    EXPECT_EQ(told.pooled, 2);
    EXPECT_EQ(told.retracted, 1);
    EXPECT_EQ(told.quarantined, 1);
  }
  EXPECT_FALSE(read_file_header(file("c")).is_wal);
}

TEST_F(MergeTest, ARetractionHoldsThroughEveryLaterMerge) {
  std::string bad;
  {
    auto a = open_database(file("a"), OpenMode::read_write);
    bad = a->add(make_record(1));
    std::filesystem::copy_file(file("a"), file("unused"));
    a->close();
  }
  std::filesystem::copy_file(file("a"), file("old"));  // a colleague keeps the bad record
  auto a = open_database(file("a"), OpenMode::read_write);
  a->retract(bad, "overheated");
  a->close();
  merge_databases({file("old"), file("a")}, file("b"));
  EXPECT_EQ(open_database(file("b"), OpenMode::read_only)->find(bad), std::nullopt);
  merge_databases({file("old"), file("b")}, file("c"));
  EXPECT_EQ(open_database(file("c"), OpenMode::read_only)->find(bad), std::nullopt);
  EXPECT_EQ(merge_databases({file("old"), file("c")}, "").retracted, 1);
}

TEST_F(MergeTest, AnOutputThatExistsIsLeftAlone) {
  write_random_database(file("a"), 1);
  const std::string before = read_file(file("a"));
  EXPECT_THROW(merge_databases({file("a")}, file("a")), UsageError);
  EXPECT_EQ(read_file(file("a")), before);
}

TEST_F(MergeTest, RunsAreNumberedByTheirStart) {
  write_random_database(file("a"), 4);
  write_random_database(file("b"), 8);
  merge_databases({file("a"), file("b")}, file("c"));
  const auto runs = open_database(file("c"), OpenMode::read_only)->runs();
  ASSERT_GE(runs.size(), 2u);
  for (size_t i = 1; i < runs.size(); ++i) EXPECT_LT(runs[i - 1].started_utc, runs[i].started_utc);
}

TEST_F(MergeTest, AnAnonymousExportKeepsEveryKey) {
  auto a = open_database(file("a"), OpenMode::read_write);
  Record record = make_record(1);
  record.run_id = a->begin_run(make_run_key(), "secret_model", "tune secret_model.onnx").id;
  const std::string key = a->add(record);
  a->close();
  std::string text;
  export_rows(file("a"), {true}, [&](const std::string& line) { text += line + "\n"; });
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_THAT(text, HasSubstr(key));
  write_file(file("lines"), text);
  import_rows(file("lines"), file("b"));
  const auto b = open_database(file("b"), OpenMode::read_only);
  EXPECT_EQ(b->find(key)->run_uid, a == nullptr ? "" : b->runs().at(0).uid);
  EXPECT_EQ(merged({file("a"), file("b")}, file("c")), canonical_text(file("a")));  // names are not lost
}

TEST_F(MergeTest, BadLinesAreRefusedByNumberAndTheRestComesIn) {
  auto a = open_database(file("a"), OpenMode::read_write);
  for (int i = 0; i < 3; ++i) a->add(make_record(i));
  a->close();
  std::vector<std::string> lines;
  export_rows(file("a"), {}, [&](const std::string& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 8u);  // header, three shared parts, three records, end
  const size_t at = lines[5].find("\"registers\":64");
  ASSERT_NE(at, std::string::npos);
  lines[5].replace(at, 14, "\"registers\":65");
  lines[6] = R"({"record":{"key":"x"}})";
  const auto import = [&] {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write_file(file("lines"), text);
    std::filesystem::remove(file("b"));
    return import_rows(file("lines"), file("b"));
  };
  const ImportReport report = import();
  EXPECT_EQ(report.added.at("record"), 1);
  EXPECT_EQ(report.refused.at("its content is not that of its key").first_line, 6);
  EXPECT_EQ(report.refused.at("the field `workload` is missing").first_line, 7);
  lines.pop_back();
  EXPECT_THROW(import(), UsageError);  // cut
  EXPECT_FALSE(std::filesystem::exists(file("b")));
  lines[0] = "{}";
  EXPECT_THROW(import(), UsageError);
}

}  // namespace
}  // namespace warpwright
