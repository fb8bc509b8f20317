// What of a database counts for a task.
#include "src/tuner/known_records.h"

#include <gtest/gtest.h>

#include "tests/tuner/fakes.h"

namespace warpwright {
namespace {

class KnownRecordsTest : public ::testing::Test {
 protected:
  Record record(int64_t a, double us, int64_t run_id = 1) const {
    Record record;
    record.workload_key = task_.key;
    record.config_json = key(Config{"fake", 1, {{"a", a}, {"b", 1}, {"c", 1}, {"d", 0}}});
    record.device_name = "virtual:rtx4090";
    record.target_key = key(target_);
    record.outcome.kind = OutcomeKind::ok;
    record.outcome.samples_us = {us};
    record.run_id = run_id;
    record.is_default = a == 1;
    return record;
  }
  std::vector<KnownResult> known(const std::vector<Record>& records) const {
    return known_results(records, search_, "virtual:rtx4090", target_);
  }

  const Target& target_ = target_preset("rtx4090");
  FakeFamily family_;
  Task task_ = fake_task(16);
  TaskSearch search_{task_, CandidateSpace(task_.workload, target_, {&family_}), 1};
};

TEST_F(KnownRecordsTest, ForeignDevicesStaleConfigsAndTransientFailuresTeachNothing) {
  Record foreign = record(2, 5), other_target = record(2, 5), illegal = record(2, 5), stale = record(2, 5),
         broken = record(2, 5), lost = record(2, 5);
  foreign.device_name = "NVIDIA A100";
  other_target.target_key = "t1-other";
  illegal.config_json = key(Config{"fake", 1, {{"a", 3}, {"b", 1}, {"c", 1}, {"d", 0}}});
  stale.config_json = key(Config{"fake", 0, {{"a", 2}, {"b", 1}, {"c", 1}, {"d", 0}}});
  broken.config_json = R"({"family":"fake"})";
  lost.outcome = Outcome{OutcomeKind::device_lost, "", "", {}, ""};
  const std::vector<KnownResult> results = known({foreign, other_target, illegal, stale, broken, lost, record(2, 7)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].us, 7);
}

TEST_F(KnownRecordsTest, TimesOfDifferentRunsCompareByTheirDefaults) {
  const std::vector<KnownResult> results =
      known({record(1, 10, 1), record(2, 5, 1), record(1, 20, 2), record(4, 8, 2)});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].us, 10);
  EXPECT_EQ(results[1].us, 5);
  EXPECT_EQ(results[2].us, 4);  // in a run that took twice as long for the default
}

TEST_F(KnownRecordsTest, AConfigThatFailedAnywhereIsLeftAlone) {
  Record failed = record(2, 5);
  failed.outcome = Outcome{OutcomeKind::wrong_result, "", "", {}, ""};
  EXPECT_EQ(known({record(2, 5), failed}).at(0).us, 0);
  EXPECT_EQ(known({failed, record(2, 5)}).at(0).us, 0);
}

}  // namespace
}  // namespace warpwright
