// Files that are damaged, foreign, newer, read-only, copied without their log, or on a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "database/check.h"
#include "database/database.h"
#include "database/schema.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DamageTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "a.db"; }

  void fill(int records) const {
    auto database = open_database(file(), OpenMode::read_write);
    for (int i = 0; i < records; ++i) database->add(make_record(i));
    database->close();
  }

  /// Message of the error of type E that opening and reading gives.
  template <typename E>
  std::string message(OpenMode mode) const {
    try {
      open_database(file(), mode)->records(workload_key());
    } catch (const E& error) {
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  TemporaryFolder folder_;
};

TEST_F(DamageTest, AMissingFileIsAnErrorForReaders) {
  EXPECT_THAT(message<UsageError>(OpenMode::read_only), AllOf(HasSubstr(file().string()), HasSubstr("no such")));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(DamageTest, AMissingFolderIsAnEnvironmentError) {
  EXPECT_THROW(open_database(folder_.path() / "none" / "a.db", OpenMode::read_write), EnvironmentError);
}

TEST_F(DamageTest, AFolderIsNoDatabase) {
  EXPECT_THROW(open_database(folder_.path(), OpenMode::read_only), UsageError);
  EXPECT_THROW(open_database(folder_.path(), OpenMode::read_write), UsageError);
}

TEST_F(DamageTest, ATextFileIsRefusedAndLeftAlone) {
  const std::string text = "best tile: 64 by 64\n";
  write_file(file(), text);
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_THAT(message<UsageError>(mode), HasSubstr("is no database"));
    EXPECT_EQ(read_file(file()), text);
  }
}

TEST_F(DamageTest, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  execute_sql(file(), "CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('x')");
  const std::string before = read_file(file());
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_THAT(message<UsageError>(mode), HasSubstr("another program"));
    EXPECT_EQ(read_file(file()), before);
  }
}

TEST_F(DamageTest, T10ANewerSchemaIsRefusedWithBothVersions) {
  fill(1);
  execute_sql(file(), "PRAGMA user_version = 99");
  const std::string before = read_file(file());
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_THAT(message<UsageError>(mode), AllOf(HasSubstr("version 99"), HasSubstr(std::to_string(kSchemaVersion))));
    EXPECT_EQ(read_file(file()), before);
  }
}

TEST_F(DamageTest, T10ATruncatedFileIsNamedAndNotOverwritten) {
  fill(200);
  const std::string whole = read_file(file());
  for (const size_t size : {whole.size() / 2, size_t{5000}, size_t{50}}) {
    const std::string cut = whole.substr(0, size);
    write_file(file(), cut);
    EXPECT_THAT(message<UsageError>(OpenMode::read_only), HasSubstr(file().string()));
    EXPECT_EQ(read_file(file()), cut);
  }
}

TEST_F(DamageTest, T10FlippedBytesInEachPageNeverCrashNorGiveWrongRecords) {
  fill(60);
  const std::string whole = read_file(file());
  int survived = 0, refused = 0;
  constexpr size_t kPage = 4096;
  for (size_t page = 0; page < whole.size() / kPage; ++page) {
    for (const size_t offset : {size_t{page == 0 ? 101U : 1U}, size_t{10}, kPage / 2, kPage - 40}) {
      std::string flipped = whole;
      for (size_t i = 0; i < 4; ++i)
        flipped[page * kPage + offset + i] = static_cast<char>(~flipped[page * kPage + offset + i]);
      write_file(file(), flipped);
      try {
        ::testing::internal::CaptureStderr();
        for (const Record& record : open_database(file(), OpenMode::read_only)->records(workload_key())) {
          EXPECT_EQ(record.outcome.samples_us, make_record(0).outcome.samples_us);
        }
        ++survived;
      } catch (const UsageError&) {
        ++refused;
      }
      ::testing::internal::GetCapturedStderr();
      EXPECT_EQ(read_file(file()), flipped);
    }
  }
  EXPECT_GT(survived, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(DamageTest, ATruncationAtAnyLengthIsAClearErrorOrAWholeFile) {
  fill(20);
  const std::string whole = read_file(file());
  for (size_t size = 1; size < whole.size(); size += 1021) {
    write_file(file(), whole.substr(0, size));
    EXPECT_THAT(message<UsageError>(OpenMode::read_only), HasSubstr(file().string())) << size;
    EXPECT_EQ(read_file(file()).size(), size);
  }
}

TEST_F(DamageTest, AViewOrATriggerIsRefused) {
  for (const char* sql :
       {"CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM records; END",
        "CREATE INDEX i ON records (lower(outcome))", "CREATE TABLE more (x)",
        "DROP TABLE samples; CREATE VIEW samples AS SELECT 1 AS record_id, 0 AS is_warm, 0 AS position, 1.0 AS us"}) {
    std::filesystem::remove(file());
    fill(1);
    execute_sql(file(), sql);
    const std::string before = read_file(file());
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
      EXPECT_THAT(message<UsageError>(mode), HasSubstr("not laid out as version")) << sql;
    }
    EXPECT_EQ(read_file(file()), before);
  }
}

TEST_F(DamageTest, AnAbsurdValueIsRefused) {
  fill(2);
  execute_sql(file(), "UPDATE records SET log = hex(zeroblob(3000000)) WHERE id = 1");
  EXPECT_THAT(message<UsageError>(OpenMode::read_only), HasSubstr("more than"));
}

TEST_F(DamageTest, CheckNamesWhatIsWrong) {
  fill(5);
  EXPECT_TRUE(check_database(file(), [](const Record&) {}).faults.empty());
  execute_sql(file(), "UPDATE records SET median_us = 1 WHERE id = 1");
  execute_sql(file(), "UPDATE records SET registers = 65 WHERE id = 2");
  execute_sql(file(), "UPDATE records SET space = 'f/9' WHERE id = 3");
  execute_sql(file(), "INSERT INTO trials VALUES (7, 1, 99)");
  const CheckReport report = check_database(file(), [](const Record&) {});
  EXPECT_EQ(report.records, 4);
  EXPECT_EQ(report.faults.at("record: wrong median"), 1);
  EXPECT_EQ(report.faults.at("record: wrong space"), 1);
  EXPECT_EQ(report.faults.at("record: its content is not that of its key"), 1);
  EXPECT_EQ(report.faults.at("a row of trials refers to nothing in runs"), 1);
  EXPECT_EQ(report.faults.at("a row of trials refers to nothing in records"), 1);
}

TEST_F(DamageTest, DamagedRowsAreSkippedAndTheRestIsRead) {
  fill(5);
  execute_sql(file(), "UPDATE configs SET json = '{broken' WHERE id = (SELECT config_id FROM records WHERE id = 1)");
  execute_sql(file(), "UPDATE records SET outcome = 'splendid' WHERE id = 2");
  execute_sql(file(), "UPDATE samples SET us = us * 0.5 WHERE record_id = 3");
  execute_sql(file(), "DELETE FROM samples WHERE record_id = 4");
  auto database = open_database(file(), OpenMode::read_only);
  ::testing::internal::CaptureStderr();
  const std::vector<Record> records = database->records(workload_key());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("config is no JSON object"), HasSubstr("'splendid' is no outcome"),
                    HasSubstr("its content is not that of its key"), HasSubstr("samples and outcome contradict")));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].config_json, make_record(4).config_json);
}

TEST_F(DamageTest, ARowWithoutItsWorkloadIsSkipped) {
  fill(2);
  execute_sql(file(), "DELETE FROM workloads");
  EXPECT_TRUE(open_database(file(), OpenMode::read_only)->records(workload_key()).empty());
}

TEST_F(DamageTest, T10AMissingColumnIsNamed) {
  fill(1);
  execute_sql(file(), "ALTER TABLE records DROP COLUMN limited_by");
  EXPECT_THAT(message<UsageError>(OpenMode::read_only), HasSubstr("limited_by"));
}

TEST_F(DamageTest, AClosedFileIsWholeByItself) {
  fill(3);
  EXPECT_FALSE(read_file_header(file()).is_wal);
  EXPECT_FALSE(std::filesystem::exists(file().string() + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(file().string() + "-shm"));
}

TEST_F(DamageTest, AWriterUsesALogAndReadersSeeItsCommits) {
  auto writer = open_database(file(), OpenMode::read_write);
  writer->add(make_record(1));
  EXPECT_TRUE(read_file_header(file()).is_wal);
  EXPECT_EQ(open_database(file(), OpenMode::read_only)->records(workload_key()).size(), 1u);
  writer->add(make_record(2));
  EXPECT_EQ(open_database(file(), OpenMode::read_only)->records(workload_key()).size(), 2u);
}

TEST_F(DamageTest, T08ACopyWithoutItsLogSaysSo) {
  fill(3);
  auto writer = open_database(file(), OpenMode::read_write);
  writer->add(make_record(7));
  const auto copy = folder_.path() / "copy.db";
  std::filesystem::copy_file(file(), copy);
  ::testing::internal::CaptureStderr();
  auto reader = open_database(copy, OpenMode::read_only);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("-wal file is missing"));
  EXPECT_EQ(reader->records(workload_key()).size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(copy.string() + "-wal"));
}

/// Exit status of `body` in a child process without root's power over permissions.
int as_nobody(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(9);
    bool done = false;
    try {
      done = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(done ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DamageTest, T08AReadOnlyFolderCanBeRead) {
  fill(3);
  chmod(file().c_str(), 0444);
  chmod(folder_.path().c_str(), 0555);
  EXPECT_EQ(as_nobody([&] {
              if (access(folder_.path().c_str(), W_OK) == 0) return false;  // the test would show nothing
              return open_database(file(), OpenMode::read_only)->records(workload_key()).size() == 3;
            }),
            0);
  EXPECT_EQ(as_nobody([&] {
              try {
                open_database(file(), OpenMode::read_write);
              } catch (const EnvironmentError&) {
                return true;
              }
              return false;
            }),
            0);
  execute_sql(file(), "PRAGMA journal_mode = WAL");  // its mark stays in the header, the log goes with the last reader
  chmod(file().c_str(), 0444);
  ASSERT_TRUE(read_file_header(file()).is_wal);
  EXPECT_EQ(as_nobody([&] { return open_database(file(), OpenMode::read_only)->records(workload_key()).size() == 3; }),
            0);
  chmod(folder_.path().c_str(), 0700);
}

TEST_F(DamageTest, ANewFileInAReadOnlyFolderIsAnEnvironmentError) {
  chmod(folder_.path().c_str(), 0555);
  EXPECT_EQ(as_nobody([&] {
              try {
                open_database(folder_.path() / "new.db", OpenMode::read_write);
              } catch (const EnvironmentError&) {
                return true;
              }
              return false;
            }),
            0);
  chmod(folder_.path().c_str(), 0700);
}

TEST_F(DamageTest, T09AFullDiskIsSaidAndCostsNothingThatWasCommitted) {
  const auto disk = folder_.path() / "disk";
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  }
  const auto path = disk / "a.db";
  const auto ballast = disk / "ballast";
  { std::ofstream(ballast) << std::string(256 * 1024, 'x'); }
  size_t committed = 0;
  std::string message;
  {
    auto database = open_database(path, OpenMode::read_write);
    Record record = make_record(0);
    record.outcome.log = std::string(8 * 1024, 'l');
    try {
      for (; committed < 1000; ++committed) {
        record.config_json = make_record(static_cast<int>(committed)).config_json;
        database->add(record);
      }
    } catch (const EnvironmentError& error) {
      message = error.what();
    }
    EXPECT_THAT(message, AllOf(HasSubstr(path.string()), HasSubstr("full")));
    EXPECT_EQ(database->records(workload_key()).size(), committed);
    std::filesystem::remove(ballast);
    record.config_json = make_record(5000).config_json;
    EXPECT_NO_THROW(database->add(record));
    database->close();
  }
  EXPECT_EQ(open_database(path, OpenMode::read_only)->records(workload_key()).size(), committed + 1);
  umount(disk.c_str());
}

}  // namespace
}  // namespace warpwright
