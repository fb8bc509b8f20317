// Fault tests T20 and S2: data that teaches the cost model nothing, and a space that is smaller than the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "src/core/file.h"
#include "tests/tuner/fakes.h"

namespace warpwright {
namespace {

class TunerFaultTests : public ::testing::Test {
 protected:
  /// With the real cost model and the real families.
  TuneSummary tune_with(FakeRunner& runner, int64_t trials) {
    auto database = open_database(folder_.path() / "a.db", OpenMode::read_write);
    options_.limits = {trials, std::nullopt, std::nullopt, std::nullopt};
    const RunInfo run = database->begin_run({"digest", runner.device_name(), 1, Json::object()}, "m");
    const auto model = make_xgboost_cost_model(1);
    return tune(tasks_, runner, *model, *database, run, options_, {});
  }

  TemporaryFolder folder_;
  TuneOptions options_;
  std::vector<Task> tasks_ = {fake_task(16), fake_task(32)};
};

Outcome timed(std::vector<double> samples_us) {
  Outcome outcome;
  outcome.kind = OutcomeKind::ok;
  outcome.samples_us = std::move(samples_us);
  return outcome;
}

class T20DegenerateData : public TunerFaultTests, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(TunerFaultTests, T20DegenerateData,
                         ::testing::Values("all_fail", "equal", "huge", "odd", "one_good"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(T20DegenerateData, TheSearchGoesOn) {
  const std::string kind = GetParam();
  FakeRunner runner;
  int count = 0;
  runner.rule = [&](const Trial&) {
    ++count;
    const Outcome failed{OutcomeKind::compile_error, "no", "", {}, ""};
    if (kind == "all_fail") return failed;
    if (kind == "equal") return timed({10});
    if (kind == "huge") return timed({count % 2 == 0 ? 1e30 : 1e-30});
    if (kind == "one_good") return count == 5 ? timed({7}) : failed;
    const double times[] = {0, std::nan(""), std::numeric_limits<double>::infinity(), -1, 12};
    return timed({times[count % 5]});
  };
  const TuneSummary summary = tune_with(runner, 60);
  EXPECT_EQ(summary.trials, 60);
  EXPECT_EQ(summary.end_reason, "trials");
  for (const TaskProgress& task : summary.tasks) {
    EXPECT_TRUE(task.best_us == 0 || (std::isfinite(task.best_us) && task.best_us > 0));
  }
}

TEST_F(TunerFaultTests, ARunThatEndsByAnErrorSaysSo) {
  FakeRunner runner;
  runner.rule = [&](const Trial& trial) {
    if (runner.measured <= 4)
      return timed({fake_time_us(trial.workload, Config{"f", 1, {{"a", 1}, {"b", 1}, {"c", 1}}})});
    return Outcome{OutcomeKind::infrastructure, "no room in /tmp", "", {}, ""};
  };
  EXPECT_THROW(tune_with(runner, 60), EnvironmentError);
  const RunInfo run = open_database(folder_.path() / "a.db", OpenMode::read_only)->runs().at(0);
  EXPECT_THAT(run.end_reason, ::testing::StartsWith("environment: 16 trials in a row failed"));
  EXPECT_THAT(run.end_reason, ::testing::HasSubstr("no room in /tmp"));
  EXPECT_NE(run.ended_utc, "");
  EXPECT_EQ(run.trials_done, 4);
  EXPECT_EQ(run.summary.at("end_reason"), run.end_reason);
  EXPECT_GE(run.summary.at("trials"), 4);
}

TEST_F(TunerFaultTests, S2TinySpaceIsExhausted) {
  const TinyFamily tiny;
  options_.families = [&tiny](const Workload&, const Target&) { return std::vector<const KernelFamily*>{&tiny}; };
  tasks_ = {fake_task(16)};
  FakeRunner runner(4);
  auto database = open_database(folder_.path() / "a.db", OpenMode::read_write);
  options_.limits = {100, std::nullopt, std::nullopt, std::nullopt};
  const RunInfo run = database->begin_run({"digest", runner.device_name(), 1, Json::object()}, "m");
  NearestCostModel model;
  const TuneSummary summary = tune(tasks_, runner, model, *database, run, options_, {});
  EXPECT_EQ(summary.end_reason, "exhausted");
  EXPECT_EQ(summary.tasks[0].state, "exhausted");
  EXPECT_EQ(database->run_records(run.id).size(), 5u);
  EXPECT_EQ(database->runs().at(0).summary.at("end_reason"), "exhausted");
}

}  // namespace
}  // namespace warpwright
