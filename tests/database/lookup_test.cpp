// Look-ups: groups and their streams, defaults, objections, like shapes, outcomes.
#include <gmock/gmock.h>

#include "database/content_key.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "tests/database/database_fixture.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

TEST_F(DatabaseTest, GroupsStreamFromTheFastestOn) {
  auto database = write();
  const std::string slow = database->add(make_record(1, 30)), fast = database->add(make_record(2, 10));
  database->add(failed_record(3, OutcomeKind::crashed));
  Record newer = make_record(4, 5);
  newer.config_json = R"({"family":"f","knobs":{"n":4},"space_version":2})";
  database->add(newer);
  Record foreign = make_record(5, 1);
  foreign.arch = "sm_80";
  database->add(foreign);
  database->add(make_record(6, 1, "b"));
  const std::vector<RecordGroup> groups = database->groups(workload_key());
  ASSERT_EQ(groups.size(), 3u);
  for (const RecordGroup& group : groups) {
    if (group.device.arch != "sm_89" || group.space != "f/1") continue;
    const auto stream = database->fastest(group);
    EXPECT_EQ(stream->next()->content_key, fast);
    EXPECT_EQ(stream->next()->content_key, slow);
    EXPECT_FALSE(stream->next().has_value());
  }
  EXPECT_TRUE(database->groups(workload_key("z")).empty());
  EXPECT_EQ(database->effort(workload_key(), "virtual:rtx4090"), 5);
}

TEST_F(DatabaseTest, TheDefaultOfARunIsTheMedianOfAllItsMeasurements) {
  auto database = write();
  const RunInfo run = database->begin_run(make_run_key(1), "m"), other = database->begin_run(make_run_key(2), "m");
  for (const double us : {10.0, 20.0, 40.0}) {  // the default, measured again to see drift
    Record record = make_record(0, us);
    record.run_id = run.id;
    record.is_default = true;
    database->add(record);
  }
  Record faster = make_record(1, 1);
  faster.run_id = run.id;
  faster.trial_index = 1;
  database->add(faster);
  EXPECT_EQ(database->default_us(workload_key(), run.uid), 21);
  EXPECT_EQ(database->default_us(workload_key(), other.uid), std::nullopt);
  EXPECT_EQ(database->default_us(workload_key("b"), run.uid), std::nullopt);
  EXPECT_EQ(database->runs().at(0).trials_done, 2);
}

TEST_F(DatabaseTest, AWrongResultQuarantinesUntilItIsCleared) {
  auto database = write();
  const std::string ok = database->add(make_record(1));
  const std::string wrong = database->add(failed_record(1, OutcomeKind::wrong_result));
  const std::string failed = database->add(failed_record(2, OutcomeKind::crashed));
  const std::string config = make_record(1).config_json;
  EXPECT_EQ(database->objections(workload_key(), config, "sm_89"), std::vector<std::string>{wrong});
  EXPECT_TRUE(database->objections(workload_key(), config, "sm_80").empty());
  EXPECT_TRUE(database->objections(workload_key(), make_record(2).config_json, "sm_89").empty());
  database->clear(wrong, failed);
  EXPECT_EQ(database->objections(workload_key(), config, "sm_89").size(), 1u);  // that record verified nothing
  database->clear(wrong, ok);
  EXPECT_TRUE(database->objections(workload_key(), config, "sm_89").empty());
  const std::string second = database->add(make_record(1, 11));
  database->retract(ok, "overheated");
  EXPECT_EQ(database->objections(workload_key(), config, "sm_89").size(), 1u);  // nor does one that counts no more
  database->clear(wrong, second);
  database->close();
  auto elsewhere = write("b.db");
  const std::string fault = elsewhere->add(failed_record(1, OutcomeKind::memory_fault));
  elsewhere->close();
  EXPECT_EQ(open_databases({file(), file("b.db")})->objections(workload_key(), config, "sm_89"),
            std::vector<std::string>{fault});
}

TEST_F(DatabaseTest, AClearanceItsVerifierAndARetractionMayStandInThreeFiles) {
  auto accusing = write("wrong.db");
  const std::string wrong = accusing->add(failed_record(1, OutcomeKind::wrong_result));
  accusing->close();
  auto verifying = write("ok.db");
  const std::string ok = verifying->add(make_record(1));
  verifying->close();
  auto clearing = write("cleared.db");
  clearing->clear(wrong, ok);
  clearing->close();
  auto retracting = write("retracted.db");
  retracting->retract(ok, "overheated");
  retracting->close();
  const auto objections = [&](const std::vector<std::filesystem::path>& files) {
    return open_databases(files)->objections(workload_key(), make_record(1).config_json, "sm_89").size();
  };
  EXPECT_EQ(objections({file("wrong.db"), file("ok.db")}), 1u);
  EXPECT_EQ(objections({file("wrong.db"), file("cleared.db")}), 1u);
  EXPECT_EQ(objections({file("wrong.db"), file("ok.db"), file("cleared.db")}), 0u);
  EXPECT_EQ(objections({file("retracted.db"), file("cleared.db"), file("wrong.db"), file("ok.db")}), 1u);
}

TEST_F(DatabaseTest, NearWorkloadsAreOfTheSameFormNearestFirst) {
  const auto conv = [](int64_t channels, const char* dtype) {
    const Json tensor{{"dtype", dtype}, {"layout", "nhwc"}, {"nhwc", {1, 8, 8, channels}}, {"pixel_stride", channels}};
    return Json{{"kind", "conv2d"}, {"inputs", {tensor}}, {"output", tensor}, {"weight_dtype", "s8"}, {"groups", 1}};
  };
  auto database = write();
  for (const int64_t channels : {16, 32, 128, 512}) {
    Record record = make_record(1);
    record.workload_json = conv(channels, "s8").dump();
    record.workload_key = "w1-" + key_hex(record.workload_json);
    database->add(record);
  }
  const std::vector<StoredWorkload> near = database->near(conv(64, "s8").dump(), 2);
  ASSERT_EQ(near.size(), 2u);
  EXPECT_EQ(Json::parse(near[0].json), conv(32, "s8"));
  EXPECT_EQ(Json::parse(near[1].json), conv(128, "s8"));
  EXPECT_EQ(database->near(conv(32, "s8").dump(), 9).size(), 3u);  // without itself
  EXPECT_TRUE(database->near(conv(64, "u8").dump(), 9).empty());
  EXPECT_TRUE(database->near("{}", 9).empty());
}

TEST_F(DatabaseTest, ALookUpCountsOutcomesAndReadsOneConfig) {
  auto database = write();
  const RunInfo run = database->begin_run(make_run_key(), "m.onnx");
  Record of_default = make_record(1, 10);
  of_default.is_default = true;
  of_default.run_id = run.id;
  const std::string first = database->add(of_default);
  database->add(make_record(2, 9));
  const std::string other_time = database->add(make_record(2, 8));
  database->add(failed_record(3, OutcomeKind::launch_error));
  database->add(failed_record(4, OutcomeKind::launch_error));
  const RecordGroup group = database->groups(workload_key()).at(0);
  EXPECT_EQ(database->outcomes(group), (std::map<std::string, int64_t>{{"launch_error", 2}, {"ok", 3}}));
  EXPECT_EQ(database->of_config(workload_key(), make_record(2).config_json).size(), 2u);
  EXPECT_EQ(keys_of(database->defaults(workload_key(), run.uid)), std::vector<std::string>{first});
  EXPECT_TRUE(database->defaults(workload_key(), "no run").empty());
  database->retract(other_time, "overheated");
  EXPECT_EQ(database->outcomes(group).at("ok"), 2);
  auto other = write("b.db");  // the same records once more, the retracted one too, and one of its own
  for (const Record& record : {make_record(2, 9), make_record(2, 8), make_record(7, 6)}) other->add(record);
  other->close();
  database->close();
  const auto merged = open_databases({file("a.db"), file("b.db")});
  EXPECT_EQ(merged->outcomes(group), (std::map<std::string, int64_t>{{"launch_error", 2}, {"ok", 3}}));
  EXPECT_EQ(merged->effort(workload_key(), "virtual:rtx4090"), 6);
  EXPECT_EQ(merged->of_config(workload_key(), make_record(2).config_json).size(), 1u);
  database = write();
  EXPECT_EQ(database->of_config(workload_key(), make_record(2).config_json).size(), 1u);
}

}  // namespace
}  // namespace warpwright
