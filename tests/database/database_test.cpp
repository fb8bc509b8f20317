// Records in and out, content keys, runs, retractions, several files as one.
#include "database/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/content_key.h"
#include "database/file_system.h"
#include "database/sqlite_database.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "tests/database/database_fixture.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

TEST_F(DatabaseTest, GivesBackWhatWasAdded) {
  auto database = write();
  const RunInfo run = database->begin_run(make_run_key(), "digits");
  Record record = make_record(1, 12.5);
  record.run_id = run.id;
  record.trial_index = 3;
  record.is_default = true;
  record.ptx_hash = "p";
  record.cubin_hash = "c";
  record.spill_bytes = 8;
  record.smem_bytes = 4096;
  record.compile_seconds = 0.5;
  record.verify_seconds = 0.25;
  record.run_seconds = 0.125;
  const std::string key = database->add(record);
  database->close();

  const Record back = read()->records(workload_key()).at(0);
  EXPECT_EQ(back.content_key, key);
  EXPECT_EQ(back.workload_json, record.workload_json);
  EXPECT_EQ(back.config_json, record.config_json);
  EXPECT_EQ(back.device_name, record.device_name);
  EXPECT_EQ(back.target_key, record.target_key);
  EXPECT_EQ(back.target_json, record.target_json);
  EXPECT_EQ(back.arch, record.arch);
  EXPECT_EQ(back.evidence, record.evidence);
  EXPECT_EQ(back.environment, record.environment);
  EXPECT_EQ(back.outcome.samples_us, record.outcome.samples_us);
  EXPECT_EQ(back.outcome.limited_by, record.outcome.limited_by);
  EXPECT_EQ(back.objective, record.objective);
  EXPECT_EQ(back.source_hash, "s");
  EXPECT_EQ(back.ptx_hash, "p");
  EXPECT_EQ(back.cubin_hash, "c");
  EXPECT_EQ(back.registers, 64);
  EXPECT_EQ(back.spill_bytes, 8);
  EXPECT_EQ(back.smem_bytes, 4096);
  EXPECT_EQ(back.compile_seconds, 0.5);
  EXPECT_EQ(back.verify_seconds, 0.25);
  EXPECT_EQ(back.run_seconds, 0.125);
  EXPECT_EQ(back.run_id, run.id);
  EXPECT_EQ(back.trial_index, 3);
  EXPECT_TRUE(back.is_default);
}

TEST_F(DatabaseTest, KeepsFailuresWithTheirLogs) {
  auto database = write();
  database->add(failed_record(1, OutcomeKind::compile_error));
  const Record back = database->records(workload_key()).at(0);
  EXPECT_EQ(back.outcome.kind, OutcomeKind::compile_error);
  EXPECT_EQ(back.outcome.message, "did not go");
  EXPECT_EQ(back.outcome.log, "a log");
  EXPECT_TRUE(back.outcome.samples_us.empty());
}

TEST_F(DatabaseTest, RefusesRecordsThatContradictThemselves) {
  auto database = write();
  Record record = make_record(1);
  record.outcome.samples_us = {1.0, std::nan("")};
  EXPECT_THROW(database->add(record), InternalError);
  record.outcome.samples_us = {};
  EXPECT_THROW(database->add(record), InternalError);
  record = failed_record(1, OutcomeKind::crashed);
  record.outcome.samples_us = {1.0};
  EXPECT_THROW(database->add(record), InternalError);
  record = make_record(1);
  record.config_json = "{";
  EXPECT_THROW(database->add(record), InternalError);
  EXPECT_EQ(database->statistics().records, 0);
}

TEST_F(DatabaseTest, ContentKeyIsOfWhatWasMeasuredOnly) {
  const std::string key = content_key(make_record(1));
  Record same = make_record(1);
  same.run_id = 7;
  same.trial_index = 9;
  same.is_default = true;
  same.compile_seconds = 3;
  same.outcome.log = "chatter";
  EXPECT_EQ(content_key(same), key);
  EXPECT_NE(content_key(make_record(2)), key);
  EXPECT_NE(content_key(make_record(1, 11)), key);
  EXPECT_NE(content_key(make_record(1, 10, "b")), key);
  Record other = make_record(1);
  other.evidence = Evidence::silicon;
  EXPECT_NE(content_key(other), key);
  other = make_record(1);
  other.environment = "driver 580";
  EXPECT_NE(content_key(other), key);
  other = make_record(1);
  other.cubin_hash = "x";
  EXPECT_NE(content_key(other), key);
}

TEST_F(DatabaseTest, ContentKeyStaysTheSameAcrossVersions) {
  Record record = make_record(1);
  record.workload_key = "w1-aa";
  EXPECT_EQ(content_key(record), "f89ee2337554270b327376c1df81ab5b33bd66315f14927e36bf86df4ba92ca7");
}

TEST_F(DatabaseTest, EqualRecordsAreOneRow) {
  auto database = write();
  EXPECT_EQ(database->add(make_record(1)), database->add(make_record(1)));
  EXPECT_EQ(database->records(workload_key()).size(), 1u);
  EXPECT_EQ(database->statistics().records, 1);
}

TEST_F(DatabaseTest, BestIsSortedByMedianAndHoldsOnlyTheArch) {
  auto database = write();
  database->add(make_record(1, 30));
  const std::string fastest = database->add(make_record(2, 10));
  const std::string second = database->add(make_record(3, 20));
  database->add(failed_record(4, OutcomeKind::wrong_result));
  Record foreign = make_record(5, 1);
  foreign.arch = "sm_80";
  database->add(foreign);
  EXPECT_EQ(keys_of(database->best(workload_key(), "sm_89", 2)), (std::vector<std::string>{fastest, second}));
  EXPECT_EQ(database->best(workload_key(), "", 10).size(), 4u);
  EXPECT_TRUE(database->best(workload_key("z"), "sm_89", 2).empty());
}

TEST_F(DatabaseTest, ListsAndFinds) {
  auto database = write();
  const std::string first = database->add(make_record(1));
  const std::string second = database->add(failed_record(2, OutcomeKind::crashed));
  EXPECT_EQ(keys_of(database->list("", "", 10)), (std::vector<std::string>{second, first}));
  EXPECT_EQ(keys_of(database->list("", "", 1)), (std::vector<std::string>{second}));
  EXPECT_EQ(keys_of(database->list(workload_key(), "ok", 10)), (std::vector<std::string>{first}));
  EXPECT_THROW(database->list("", "fine", 10), UsageError);
  EXPECT_EQ(database->find(first.substr(0, 12))->content_key, first);
  EXPECT_EQ(database->find("0123456789abcdef0123"), std::nullopt);
  EXPECT_THROW(database->find(""), UsageError);
  EXPECT_THROW(database->find("' OR 1"), UsageError);
}

TEST_F(DatabaseTest, AnAmbiguousPrefixIsRefused) {
  auto database = write();
  for (int i = 0; i < 40; ++i) database->add(make_record(i));  // more keys than first digits
  bool refused = false;
  for (const char digit : std::string("0123456789abcdef")) {
    try {
      database->find(std::string(1, digit));
    } catch (const UsageError& error) {
      refused = true;
      EXPECT_THAT(error.what(), ::testing::HasSubstr("more digits"));
    }
  }
  EXPECT_TRUE(refused);
}

TEST_F(DatabaseTest, ARunIsKnownByItsKey) {
  auto database = write();
  const RunInfo run = database->begin_run(make_run_key(), "digits");
  EXPECT_EQ(run.trials_done, 0);
  Record record = make_record(1);
  record.run_id = run.id;
  database->add(record);
  database->end_run(run.id, "interrupted");
  EXPECT_EQ(database->runs().at(0).end_reason, "interrupted");
  EXPECT_FALSE(database->runs().at(0).ended_utc.empty());

  const RunInfo again = database->begin_run(make_run_key(), "digits");
  EXPECT_EQ(again.id, run.id);
  EXPECT_EQ(again.trials_done, 1);
  EXPECT_TRUE(again.ended_utc.empty());
  EXPECT_EQ(again.key.limits, make_run_key().limits);
  const RunInfo other = database->begin_run(make_run_key(UINT64_MAX), "digits");
  EXPECT_NE(other.id, run.id);
  EXPECT_EQ(other.key.seed, UINT64_MAX);
  EXPECT_EQ(database->runs().size(), 2u);
}

TEST_F(DatabaseTest, ARecordOfTwoRunsCountsInBoth) {
  auto database = write();
  for (const uint64_t seed : {1, 2}) {
    Record record = make_record(1);
    record.run_id = database->begin_run(make_run_key(seed), "digits").id;
    record.trial_index = static_cast<int64_t>(seed);
    database->add(record);
  }
  EXPECT_EQ(database->records(workload_key()).size(), 1u);
  EXPECT_EQ(database->list("", "", 10).size(), 1u);
  for (const RunInfo& run : database->runs()) {
    EXPECT_EQ(run.trials_done, 1);
    ASSERT_EQ(database->run_records(run.id).size(), 1u);
    EXPECT_EQ(database->run_records(run.id)[0].trial_index, static_cast<int64_t>(run.key.seed));
  }
}

TEST_F(DatabaseTest, RetractedRecordsCountNoMore) {
  auto database = write();
  const std::string key = database->add(make_record(1, 5));
  database->add(make_record(2, 10));
  database->retract(key, "overheated");
  EXPECT_EQ(database->best(workload_key(), "sm_89", 1)[0].outcome.median_us(), 11);
  EXPECT_EQ(database->statistics().records, 1);
  EXPECT_EQ(database->find(key), std::nullopt);
}

TEST_F(DatabaseTest, SeveralFilesReadAsOne) {
  auto a = write("a.db");
  auto b = write("b.db");
  a->add(make_record(1, 30));
  b->add(make_record(1, 30));
  b->add(make_record(2, 10, "a"));
  b->add(make_record(3, 10, "b"));
  const std::string bad = a->add(make_record(4, 1));
  b->retract(bad, "wrong");
  a->begin_run(make_run_key(1), "m");
  b->begin_run(make_run_key(2), "m");
  a->close();
  b->close();
  for (const auto& order : {std::vector{file("a.db"), file("b.db")}, std::vector{file("b.db"), file("a.db")}}) {
    auto merged = open_databases(order);
    EXPECT_EQ(merged->records(workload_key()).size(), 2u);
    EXPECT_EQ(merged->best(workload_key(), "sm_89", 1)[0].outcome.median_us(), 11);
    EXPECT_THAT(merged->workload_keys(), ::testing::UnorderedElementsAre(workload_key(), workload_key("b")));
    EXPECT_EQ(merged->workload_json(workload_key("b")), workload_json("b"));
    EXPECT_EQ(merged->statistics().records, 3);
    EXPECT_EQ(merged->statistics().runs, 2);
    EXPECT_EQ(merged->runs().size(), 2u);
    EXPECT_THROW(merged->add(make_record(9)), InternalError);
  }
  auto writing = open_databases({file("a.db"), file("b.db")}, OpenMode::read_write);
  writing->add(make_record(9));
  EXPECT_EQ(writing->records(workload_key()).size(), 3u);
  writing->close();
  EXPECT_EQ(read("b.db")->records(workload_key()).size(), 2u);
}

TEST_F(DatabaseTest, ASummaryThatIsTooLargeIsCutAndSaysSo) {
  auto database = write();
  const int64_t run = database->begin_run(make_run_key(), "m.onnx", "tune m.onnx --db a.db").id;
  Json tasks = Json::array();
  for (int i = 0; i < 3000; ++i) tasks.push_back({{"key", std::to_string(i)}, {"why", std::string(1000, 'x')}});
  database->end_run(run, "trials", {{"trials", 5}, {"tasks", tasks}});
  const RunInfo cut = database->runs().at(0);
  EXPECT_EQ(cut.arguments, "tune m.onnx --db a.db");
  EXPECT_EQ(cut.end_reason, "trials");
  EXPECT_EQ(cut.summary.at("trials"), 5);
  EXPECT_EQ(cut.summary.at("tasks_of"), 3000);
  EXPECT_GT(cut.summary.at("tasks").size(), 500u);
  EXPECT_LT(cut.summary.at("tasks").size(), 1100u);
  EXPECT_EQ(cut.summary.at("tasks").at(7).at("key"), "7");
  database->end_run(run, "trials", {{"note", std::string(2000000, 'x')}});
  EXPECT_EQ(database->runs().at(0).summary, (Json{{"cut", true}}));
  database->end_run(run, "trials", {{"note", "\xff"}});  // no UTF-8: replaced, not thrown
  EXPECT_TRUE(database->runs().at(0).summary.contains("note"));
}

TEST_F(DatabaseTest, ARetriedTrialKeepsItsIndexAndIsNoTrialDone) {
  auto database = write();
  const RunInfo run = database->begin_run(make_run_key(), "m", "tune m.onnx");
  Record record = failed_record(1, OutcomeKind::device_lost);
  record.run_id = run.id;
  record.trial_index = 4;
  database->add(record);
  EXPECT_EQ(database->runs().at(0).trials_done, 0);
  Record again = make_record(1);
  again.run_id = run.id;
  again.trial_index = 4;
  again.warm_samples_us = {3, 4};
  again.conditions = Json{{"sm_clock_mhz", 2520}, {"throttle", {"power"}}};
  database->add(again);
  EXPECT_EQ(database->runs().at(0).trials_done, 1);
  EXPECT_EQ(database->run_records(run.id).size(), 2u);
  const Record back = database->best(workload_key(), "", 1).at(0);
  EXPECT_EQ(back.conditions, again.conditions);
  EXPECT_EQ(back.warm_samples_us, again.warm_samples_us);
  EXPECT_EQ(back.run_uid, run.uid);
  database->end_run(run.id, "time", Json{{"trials", 1}});
  EXPECT_EQ(database->runs().at(0).summary, (Json{{"trials", 1}}));
  EXPECT_EQ(database->runs().at(0).arguments, "tune m.onnx");
}

TEST_F(DatabaseTest, LogsAreCutAndMadeReadable) {
  auto database = write();
  Record record = failed_record(1, OutcomeKind::compile_error);
  record.outcome.log = std::string(kMostLogBytes, 'x') + "more";
  record.outcome.message = "bad \xff byte";
  const std::string key = database->add(record);
  EXPECT_EQ(database->find(key)->outcome.log, std::string(kMostLogBytes, 'x'));
  EXPECT_EQ(database->find(key)->outcome.message, "bad \uFFFD byte");
}

TEST_F(DatabaseTest, WhereALogIsNotSafeAJournalIsUsed) {
  SqliteDatabase database(file(), OpenMode::read_write, [](const std::filesystem::path&) { return false; });
  database.add(make_record(1));
  EXPECT_FALSE(read_file_header(file()).is_wal);
  EXPECT_FALSE(std::filesystem::exists(file().string() + "-wal"));
  EXPECT_EQ(read()->records(workload_key()).size(), 1u);
  database.close();
}

TEST(FileSystem, WireFileSystemsAreNotLocal) {
  EXPECT_TRUE(is_local_file_system(0xEF53));      // ext4
  EXPECT_TRUE(is_local_file_system(0x9123683E));  // btrfs
  EXPECT_TRUE(is_local_file_system(0x01021994));  // tmpfs
  EXPECT_FALSE(is_local_file_system(0x6969));
  EXPECT_FALSE(is_local_file_system(0xFF534D42));
  EXPECT_FALSE(is_local_file_system(0x01021997));
  EXPECT_FALSE(is_local_file_system(0x65735546));
}

}  // namespace
}  // namespace warpwright
