// Files that others change while they are written to, and damage that gives way to sound records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "database/check.h"
#include "database/database.h"
#include "database/schema.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/database/database_fixture.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ReplacedFileTest : public DatabaseTest {
 protected:
  /// Message of the error that the next record gives after `change`, and the copy that it names.
  std::string error_after(const std::function<void()>& change) {
    auto database = open_database(file(), OpenMode::read_write);
    for (int i = 0; i < 20; ++i) database->add(make_record(i));
    change();
    std::string message;
    try {
      database->add(make_record(20));
    } catch (const EnvironmentError& error) {
      message = error.what();
    }
    EXPECT_THROW(database->add(make_record(21)), EnvironmentError);
    EXPECT_THROW(database->retract("abc", "x"), EnvironmentError);
    EXPECT_NO_THROW(database->close()) << "what was told already";
    return message;
  }
  std::vector<std::filesystem::path> copies() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(file().parent_path())) {
      if (entry.path().string().find("rescued") != std::string::npos) found.push_back(entry.path());
    }
    return found;
  }
  void expect_saved(const std::string& message) const {
    ASSERT_EQ(copies().size(), 1u);
    EXPECT_THAT(message, AllOf(HasSubstr(file().string()), HasSubstr(copies().front().string())));
    EXPECT_GE(open_database(copies().front(), OpenMode::read_only)->records(workload_key()).size(), 20u);
    EXPECT_TRUE(check_database(copies().front(), [](const Record&) {}).faults.empty());
    EXPECT_FALSE(read_file_header(copies().front()).is_wal);
  }
};

TEST_F(ReplacedFileTest, ADeletedFileIsSaidAndItsRecordsAreSaved) {
  const std::string message = error_after([&] {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file().string() + suffix);
  });
  EXPECT_THAT(message, HasSubstr("deleted"));
  expect_saved(message);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(ReplacedFileTest, AFileInItsPlaceIsLeftAsItIs) {
  const auto other = file("other.db");
  {
    auto database = open_database(other, OpenMode::read_write);
    database->add(make_record(100));
    database->close();
  }
  const std::string bytes = read_file(other);
  const std::string message = error_after([&] { std::filesystem::rename(other, file()); });
  EXPECT_THAT(message, HasSubstr("replaced"));
  expect_saved(message);
  EXPECT_EQ(read_file(file()), bytes);
  EXPECT_FALSE(std::filesystem::exists(file().string() + "-wal")) << "the other one would take it for its own";
  EXPECT_EQ(open_database(file(), OpenMode::read_only)->records(workload_key()).size(), 1u);
}

TEST_F(ReplacedFileTest, ACutFileIsSaid) {
  for (const uintmax_t bytes : {0, 5000}) {
    const std::string message = error_after([&] { std::filesystem::resize_file(file(), bytes); });
    EXPECT_THAT(message, AllOf(HasSubstr(file().string()), HasSubstr("cut from")));
    EXPECT_EQ(std::filesystem::file_size(file()), bytes) << "not written to any more";
    for (const auto& copy : copies()) {
      EXPECT_TRUE(check_database(copy, [](const Record&) {}).faults.empty());
      std::filesystem::remove(copy);
    }
    std::filesystem::remove(file());
    std::filesystem::remove(file().string() + "-wal");
  }
}

TEST_F(ReplacedFileTest, AFileThatGoesBeforeTheEndIsSaidAtTheEnd) {
  auto database = open_database(file(), OpenMode::read_write);
  database->add(make_record(0));
  std::filesystem::rename(file(), file("moved.db"));
  EXPECT_THROW(database->close(), EnvironmentError);
  ASSERT_EQ(copies().size(), 1u);
  EXPECT_EQ(open_database(copies().front(), OpenMode::read_only)->records(workload_key()).size(), 1u);
}

TEST_F(ReplacedFileTest, OtherWritersAndAVacuumAreNoFault) {
  auto database = open_database(file(), OpenMode::read_write);
  Record large = make_record(0);
  large.outcome.log = std::string(kMostLogBytes, 'l');
  for (int i = 0; i < 40; ++i) {
    large.config_json = make_record(i).config_json;
    database->add(large);
  }
  execute_sql(file(), "PRAGMA wal_checkpoint; UPDATE records SET log = ''; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  EXPECT_NO_THROW(database->add(make_record(50)));
  {
    auto another = open_database(file(), OpenMode::read_write);
    for (int i = 60; i < 69; ++i) another->add(make_record(i));
    another->close();
  }
  EXPECT_NO_THROW(database->add(make_record(70)));
  EXPECT_NO_THROW(database->close());
  EXPECT_TRUE(copies().empty());
}

class GivingWayTest : public DatabaseTest, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    Damage, GivingWayTest,
    ::testing::Values(
        "UPDATE samples SET us = -1 WHERE record_id = 2", "DELETE FROM samples WHERE record_id = 2",
        "UPDATE samples SET us = 17 WHERE record_id = 2", "UPDATE records SET outcome = 'great' WHERE id = 2",
        "UPDATE records SET registers = -5, source_hash = 'x' WHERE id = 2",
        "UPDATE records SET workload_id = 77 WHERE id = 2", "UPDATE records SET outcome = 'compile_error' WHERE id = 2",
        "UPDATE workloads SET json = '{\"kind\":\"other\"}'", "UPDATE configs SET json = '{}' WHERE id = 2",
        "UPDATE devices SET name = 'another', target_json = 'x'", "UPDATE environments SET description = 'another'",
        "UPDATE provenance SET host = CAST(x'ff' AS TEXT) WHERE record_id = 2", "DELETE FROM records WHERE id = 3",
        "DELETE FROM records", "DELETE FROM runs",
        "DELETE FROM records; DELETE FROM runs; DELETE FROM workloads; DELETE FROM configs",
        "UPDATE runs SET limits_json = 'x', summary_json = '{'"));

/// Whatever was done to the rows, the same records once more make the database whole.
TEST_P(GivingWayTest, DamageGivesWayToSoundRecords) {
  const auto record_all = [&] {
    auto database = open_database(file(), OpenMode::read_write);
    const RunInfo run = database->begin_run(make_run_key(), "model");
    for (int i = 0; i < 3; ++i) {
      Record record = make_record(i);
      record.run_id = run.id;
      record.trial_index = i;
      record.is_default = i == 0;
      database->add(record);
    }
    EXPECT_EQ(database->run_records(run.id).size(), 3u);
    database->end_run(run.id, "trials");
    database->close();
  };
  record_all();
  execute_sql(file(), GetParam());
  ::testing::internal::CaptureStderr();
  record_all();
  ::testing::internal::GetCapturedStderr();
  const CheckReport report = check_database(file(), [](const Record&) {});
  EXPECT_TRUE(report.faults.empty() || std::string(GetParam()).starts_with("UPDATE runs"))
      << report.faults.begin()->first;
  EXPECT_EQ(report.records, 3);
  const std::vector<Record> records = open_database(file(), OpenMode::read_only)->records(workload_key());
  ASSERT_EQ(records.size(), 3u);
  for (const Record& record : records) {
    EXPECT_EQ(record.outcome.samples_us, make_record(0).outcome.samples_us);
    EXPECT_NE(record.run_uid, "");
  }
}

}  // namespace
}  // namespace warpwright
