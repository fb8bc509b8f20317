// A run over several sittings and beside other runs: what it goes on from, measures again and leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/tuner/tuner_fixture.h"

namespace warpwright {
namespace {

TEST_F(TunerTest, AKilledRunGoesOnAsIfNothingHadHappened) {
  options_.limits.trials = 60;
  FakeRunner whole;
  tune_into("whole.db", whole);
  for (const int kill_after : {1, 2, 3, 7, 20, 59}) {
    const std::string file = fmt::format("{}.db", kill_after);
    FakeRunner killed(8), resumed(1);
    killed.kill_after = kill_after;
    EXPECT_THROW(tune_into(file, killed), Killed);
    const TuneSummary summary = tune_into(file, resumed);
    EXPECT_EQ(summary.trials, 60);
    EXPECT_EQ(resumed.measured, 60 - kill_after);
    EXPECT_EQ(recorded(file), recorded("whole.db")) << kill_after;
  }
}

TEST_F(TunerTest, NothingBeginsAfterItsTimeAndTheRunGoesOn) {
  options_.limits.trials = 60;
  FakeRunner whole;
  tune_into("whole.db", whole);
  options_.limits.seconds = 1.5;
  FakeRunner first;
  first.late_after = 21;
  const TuneSummary summary = tune_into("a.db", first);
  EXPECT_EQ(summary.end_reason, "time");
  EXPECT_EQ(summary.trials, 21);
  EXPECT_EQ(first.measured, 21);
  EXPECT_EQ(recorded("a.db").size(), 21u);
  options_.limits.seconds.reset();
  FakeRunner rest;
  EXPECT_EQ(tune_into("a.db", rest).trials, 60);
  EXPECT_EQ(rest.measured, 39);
  EXPECT_EQ(recorded("a.db"), recorded("whole.db"));
}

TEST_F(TunerTest, WhatIsRetractedIsMeasuredNoMoreWhereItWouldComeOutTheSame) {
  options_.limits.trials = 24;
  FakeRunner first;
  tune_into("a.db", first);
  auto database = open();
  std::set<std::string> retracted;
  for (const Record& record : database->run_records(1)) {
    database->retract(record.content_key, "overheated");
    retracted.insert(record.workload_key + record.config_json);
  }
  EXPECT_EQ(database->runs().at(0).trials_done, 0);
  database->close();
  FakeRunner second;
  const TuneSummary summary = tune_into("a.db", second);
  EXPECT_EQ(summary.trials, 24);
  EXPECT_EQ(summary.retracted, 24);
  EXPECT_EQ(second.measured, 24);
  for (const std::string& measured : second.sequence) EXPECT_FALSE(retracted.contains(measured)) << measured;
  EXPECT_EQ(recorded("a.db").size(), 24u);
  FakeRunner third;
  EXPECT_EQ(tune_into("a.db", third).trials, 24);
  EXPECT_EQ(third.measured, 0);
  EXPECT_EQ(recorded("a.db").size(), 24u);
}

TEST_F(TunerTest, ATrialThatComesToARetractedRecordIsNone) {
  options_.limits.trials = 24;
  FakeRunner first, second, third;
  tune_into("a.db", first);
  {  // only what is retracted is known here, as after a merge
    const auto of_others = open();
    const auto database = open("b.db");
    for (const Record& record : of_others->run_records(1)) database->retract(record.content_key, "overheated");
  }
  const TuneSummary summary = tune_into("b.db", second);
  EXPECT_EQ(summary.trials, 24);
  EXPECT_GT(summary.retracted, 0);
  EXPECT_EQ(second.measured, 24 + summary.retracted);
  EXPECT_EQ(recorded("b.db").size(), 24u);
  const TuneSummary again = tune_into("b.db", third);
  EXPECT_EQ(again.trials, 24);
  EXPECT_EQ(third.measured, 0);
  EXPECT_EQ(again.retracted, summary.retracted);
}

TEST_F(TunerTest, WhatIsRetractedOnACardMayComeOutOtherwiseAndIsMeasured) {
  options_.limits.trials = 12;
  FakeRunner first, second;
  first.evidence_ = second.evidence_ = Evidence::silicon;
  tune_into("a.db", first);
  auto database = open();
  for (const Record& record : database->run_records(1)) database->retract(record.content_key, "overheated");
  database->close();
  second.rule = [](const Trial& trial) {
    Outcome outcome;
    outcome.kind = OutcomeKind::ok;
    outcome.samples_us = {1.5 * fake_time_us(trial.workload, trial.config)};
    return outcome;
  };
  const TuneSummary summary = tune_into("a.db", second);
  EXPECT_EQ(summary.retracted, 0);
  EXPECT_EQ(summary.trials, 12);
  EXPECT_GT(summary.tasks[0].default_us, 0);
}

TEST_F(TunerTest, AnInterruptedRunEndsWithItsSummaryAndGoesOn) {
  options_.limits.trials = 60;
  FakeRunner whole;
  tune_into("whole.db", whole);
  std::atomic<bool> stop = false;
  options_.stop = &stop;
  FakeRunner first;
  first.stop_after = 21;
  const TuneSummary summary = tune_into("a.db", first);
  EXPECT_EQ(summary.end_reason, "interrupted");
  EXPECT_EQ(summary.trials, 21);
  EXPECT_EQ(recorded("a.db").size(), 21u);
  stop = false;
  FakeRunner second;
  EXPECT_EQ(tune_into("a.db", second).end_reason, "trials");
  EXPECT_EQ(second.measured, 39);
  EXPECT_EQ(recorded("a.db"), recorded("whole.db"));
}

TEST_F(TunerTest, ACompleteRunMeasuresNothingAgain) {
  options_.limits.trials = 30;
  FakeRunner first, second;
  tune_into("a.db", first);
  const TuneSummary summary = tune_into("a.db", second);
  EXPECT_EQ(second.measured, 0);
  EXPECT_EQ(summary.trials, 30);
  EXPECT_GT(summary.tasks[0].best_us, 0);
}

TEST_F(TunerTest, MoreTrialsGoOnWhereTheRunEnded) {
  auto database = open();
  const RunInfo run = database->begin_run({"digest", "virtual:rtx4090", 1, Json::object()}, "m");
  NearestCostModel model, model_of_more, model_of_whole;
  FakeRunner first, second, whole;
  options_.limits.trials = 21;  // ends inside a batch
  tune(tasks_, first, model, *database, run, options_, {});
  options_.limits.trials = 50;
  tune(tasks_, second, model_of_more, *database, run, options_, {});
  EXPECT_EQ(second.measured, 29);
  database->close();

  auto other = open("other.db");
  const RunInfo run_of_whole = other->begin_run({"digest", "virtual:rtx4090", 1, Json::object()}, "m");
  tune(tasks_, whole, model_of_whole, *other, run_of_whole, options_, {});
  other->close();
  EXPECT_EQ(recorded("a.db"), recorded("other.db"));
}

TEST_F(TunerTest, ATrialThatStaysTransientIsRecordedAndMadeAgainInTheNextSitting) {
  options_.limits.trials = 10;
  FakeRunner first, second;
  const auto good = first.rule;
  int count = 0;
  first.rule = [&](const Trial& trial) {
    const bool is_victim =
        trial.config == family_.default_config(trial.workload, first.target()) && key(trial.workload) == tasks_[0].key;
    count += is_victim;
    return is_victim ? Outcome{OutcomeKind::out_of_memory, "full", "", {}, ""} : good(trial);
  };
  const TuneSummary summary = tune_into("a.db", first);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(summary.tasks[0].failures.at("out_of_memory"), 1);
  const TuneSummary again = tune_into("a.db", second);
  EXPECT_GE(second.measured, 1);
  EXPECT_GT(again.tasks[0].default_us, 0);
}

TEST_F(TunerTest, KnownRecordsAreUsedNotMeasuredAndNoTrialsOfThisRun) {
  options_.limits.trials = 60;
  FakeRunner first, second;
  tune_into("a.db", first);
  options_.seed = 2;
  options_.limits.trials = 50;
  const TuneSummary summary = tune_into("a.db", second);
  EXPECT_EQ(summary.trials, 50);
  EXPECT_EQ(second.measured, 50);
  std::set<std::string> known(first.sequence.begin(), first.sequence.end());
  for (const std::string& trial : second.sequence) EXPECT_FALSE(known.contains(trial)) << trial;
  for (const TaskProgress& task : summary.tasks) EXPECT_GT(task.default_us, 0);
}

TEST_F(TunerTest, ARunWhoseDatabaseLearntFromOthersKeepsItsTrials) {
  options_.limits.trials = 60;
  FakeRunner killed, other, resumed;
  killed.kill_after = 30;
  EXPECT_THROW(tune_into("a.db", killed), Killed);
  options_.seed = 2;
  tune_into("a.db", other);
  options_.seed = 1;
  const TuneSummary summary = tune_into("a.db", resumed);
  EXPECT_EQ(summary.trials, 60);
  EXPECT_EQ(resumed.measured, 30);
  std::set<std::string> known(killed.sequence.begin(), killed.sequence.end());
  known.insert(other.sequence.begin(), other.sequence.end());
  for (const std::string& trial : resumed.sequence) EXPECT_FALSE(known.contains(trial)) << trial;
}

TEST_F(TunerTest, ARunWhoseTasksAreDoneMeasuresNothingWhateverOthersFound) {
  options_.limits.trials_per_task = 12;
  FakeRunner first, other, again;
  EXPECT_EQ(tune_into("a.db", first).trials, 36);
  options_.seed = 7;
  options_.limits.trials_per_task = 4;
  tune_into("a.db", other);
  options_.seed = 1;
  options_.limits.trials_per_task = 12;
  const TuneSummary summary = tune_into("a.db", again);
  EXPECT_EQ(summary.trials, 36);
  EXPECT_EQ(again.measured, 0);
  EXPECT_EQ(summary.end_reason, "trials");
}

}  // namespace
}  // namespace warpwright
