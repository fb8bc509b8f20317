// The loop with a fake runner: determinism, resumption, limits, failures.
#include "src/tuner/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "src/core/file.h"
#include "tests/tuner/fakes.h"

namespace warpwright {
namespace {

class TunerTest : public ::testing::Test {
 protected:
  TunerTest() { use(family_); }

  void use(const KernelFamily& family) {
    options_.families = [&family](const Workload&, const Target&) { return std::vector<const KernelFamily*>{&family}; };
  }

  std::unique_ptr<Database> open(const std::string& file = "a.db") const {
    return open_database(folder_.path() / file, OpenMode::read_write);
  }

  TuneSummary tune_into(const std::string& file, FakeRunner& runner) {
    auto database = open(file);
    RunKey run_key{"digest", runner.device_name(), options_.seed, Json{{"trials", options_.limits.trials.value_or(0)}}};
    const RunInfo run = database->begin_run(run_key, "m");
    NearestCostModel model;
    runner.stop = options_.stop;
    return tune(tasks_, runner, model, *database, run, options_, progress_);
  }

  /// What the first run of the file recorded: Workload, Config and outcome by trial.
  std::vector<std::string> recorded(const std::string& file) const {
    auto database = open_database(folder_.path() / file, OpenMode::read_only);
    std::vector<std::string> lines;
    for (const Record& record : database->run_records(database->runs().at(0).id)) {
      lines.push_back(fmt::format("{} {} {} {}", record.trial_index, record.workload_key, record.config_json,
                                  name(record.outcome.kind)));
    }
    return lines;
  }

  TemporaryFolder folder_;
  FakeFamily family_;
  TinyFamily tiny_;
  TuneOptions options_;
  std::vector<Task> tasks_ = {fake_task(16), fake_task(32, 3), fake_task(48)};
  ProgressCallback progress_;
};

TEST_F(TunerTest, StopsAtTheTrialsOfTheRunAndSaysWhatItFound) {
  options_.limits.trials = 90;
  FakeRunner runner;
  const TuneSummary summary = tune_into("a.db", runner);
  EXPECT_EQ(summary.trials, 90);
  EXPECT_EQ(summary.end_reason, "trials");
  EXPECT_EQ(runner.measured, 90);
  EXPECT_EQ(recorded("a.db").size(), 90u);
  int64_t trials = 0;
  for (const TaskProgress& task : summary.tasks) {
    trials += task.trials;
    EXPECT_GT(task.trials, 8);
    EXPECT_EQ(task.ok, task.trials);
    EXPECT_GT(task.default_us, task.best_us);
    EXPECT_EQ(task.state, "trials");
  }
  EXPECT_EQ(trials, 90);
  EXPECT_NEAR(summary.seconds.compile, 18, 1e-6);
  EXPECT_NEAR(summary.seconds.wall, 63, 1e-6);
  EXPECT_EQ(open()->runs().at(0).end_reason, "trials");
}

TEST_F(TunerTest, MeasuresTheDefaultsFirst) {
  options_.limits.trials = 40;
  FakeRunner runner;
  tune_into("a.db", runner);
  auto database = open();
  const std::vector<Record> records = database->run_records(1);
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].is_default, i < tasks_.size()) << i;
}

TEST_F(TunerTest, SeedsMakeHalfOfTheFirstBatch) {
  const SeededFamily seeded;
  use(seeded);
  tasks_ = {fake_task(16)};
  options_.limits.trials = 33;
  FakeRunner runner;
  tune_into("a.db", runner);
  std::vector<size_t> seeds_at;
  for (const Config& seed : seeded.seeds(tasks_[0].workload, runner.target())) {
    const auto found = std::ranges::find(runner.sequence, tasks_[0].key + key(seed));
    if (found != runner.sequence.end()) seeds_at.push_back(static_cast<size_t>(found - runner.sequence.begin()));
  }
  // The default is trial 0, the first batch ends with trial 8; the stale seed is never measured.
  EXPECT_GE(std::ranges::count_if(seeds_at, [](size_t at) { return at <= 8; }), 4);
  EXPECT_LE(seeds_at.size(), 5u);
}

TEST_F(TunerTest, FewerTrialsThanTasksIsKept) {
  options_.limits.trials = 2;
  FakeRunner runner;
  EXPECT_EQ(tune_into("a.db", runner).end_reason, "trials");
  EXPECT_EQ(runner.measured, 2);
}

TEST_F(TunerTest, TheSameSeedProposesTheSameWhateverTheJobs) {
  options_.limits.trials = 80;
  FakeRunner one(1), many(8);
  tune_into("a.db", one);
  tune_into("b.db", many);
  EXPECT_NE(one.sequence, many.sequence);
  EXPECT_EQ(recorded("a.db"), recorded("b.db"));
  options_.seed = 2;
  FakeRunner other;
  tune_into("c.db", other);
  EXPECT_NE(recorded("a.db"), recorded("c.db"));
}

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

TEST_F(TunerTest, NeverMeasuresAKernelTwice) {
  options_.limits = {400, std::nullopt, std::nullopt, std::nullopt};
  tasks_ = {fake_task(16)};
  FakeRunner runner;
  tune_into("a.db", runner);
  std::set<std::string> configs(runner.sequence.begin(), runner.sequence.end());
  EXPECT_EQ(configs.size(), runner.sequence.size());
  std::set<std::string> sources;
  for (const Record& record : open()->run_records(1)) {
    const Config config = config_from_json(Json::parse(record.config_json));
    sources.insert(family_.emit(tasks_[0].workload, config, runner.target()).source);
  }
  EXPECT_EQ(sources.size(), runner.sequence.size());
}

TEST_F(TunerTest, ATinySpaceIsExhausted) {
  use(tiny_);
  options_.limits.trials = 100;
  tasks_ = {fake_task(16)};
  FakeRunner runner(4);
  const TuneSummary summary = tune_into("a.db", runner);
  EXPECT_EQ(summary.end_reason, "exhausted");
  EXPECT_EQ(summary.trials, 5);
  EXPECT_EQ(summary.tasks[0].state, "exhausted");
  EXPECT_EQ(recorded("a.db").size(), 5u);
}

TEST_F(TunerTest, PatienceEndsTasksThatGainNoMore) {
  options_.limits = {std::nullopt, std::nullopt, std::nullopt, 24};
  FakeRunner runner;
  const TuneSummary summary = tune_into("a.db", runner);
  EXPECT_EQ(summary.end_reason, "patience");
  EXPECT_LT(summary.trials, 1000);
  for (const TaskProgress& task : summary.tasks) EXPECT_EQ(task.state, "patience");
}

TEST_F(TunerTest, TrialsPerTaskGivesEachTaskTheSame) {
  options_.limits = {std::nullopt, 13, std::nullopt, std::nullopt};
  FakeRunner runner;
  const TuneSummary summary = tune_into("a.db", runner);
  EXPECT_EQ(summary.end_reason, "trials");
  for (const TaskProgress& task : summary.tasks) EXPECT_EQ(task.trials, 13);
}

TEST_F(TunerTest, TimeEndsTheRun) {
  options_.limits = {std::nullopt, std::nullopt, 0.0, std::nullopt};
  FakeRunner runner;
  EXPECT_EQ(tune_into("a.db", runner).end_reason, "time");
  EXPECT_EQ(runner.measured, 0);
}

TEST_F(TunerTest, ATaskThatOnlyFailsDoesNotHoldUpTheOthers) {
  options_.limits = {200, std::nullopt, std::nullopt, 30};
  FakeRunner runner;
  const auto good = runner.rule;
  runner.rule = [&](const Trial& trial) {
    if (key(trial.workload) != tasks_[1].key) return good(trial);
    return Outcome{OutcomeKind::wrong_result, "index 3", "", {}, ""};
  };
  const TuneSummary summary = tune_into("a.db", runner);
  EXPECT_EQ(summary.tasks[1].best_us, 0);
  EXPECT_EQ(summary.tasks[1].ok, 0);
  EXPECT_EQ(summary.tasks[1].failures.at("wrong_result"), summary.tasks[1].trials);
  EXPECT_EQ(summary.tasks[1].state, "patience");
  EXPECT_GT(summary.tasks[0].ok, 20);
}

TEST_F(TunerTest, OddTimesAndFailuresNeverStopTheSearch) {
  options_.limits.trials = 120;
  FakeRunner runner;
  const auto good = runner.rule;
  int count = 0;
  runner.rule = [&](const Trial& trial) {
    Outcome outcome = good(trial);
    switch (++count % 9) {
      case 0:
        outcome.samples_us = {std::nan("")};
        break;
      case 1:
        outcome.samples_us = {0};
        break;
      case 2:
        outcome.samples_us = {std::numeric_limits<double>::infinity()};
        break;
      case 3:
        outcome.samples_us = {};
        break;
      case 4:
        outcome.samples_us = {1e30};
        break;
      case 5:
        return Outcome{OutcomeKind::compile_error, "", "", {}, ""};
      default:
        break;
    }
    return outcome;
  };
  const TuneSummary summary = tune_into("a.db", runner);
  EXPECT_EQ(summary.trials, 120);
  for (const TaskProgress& task : summary.tasks) EXPECT_GT(task.best_us, 0);
}

TEST_F(TunerTest, TransientOutcomesAreTriedAgainAndNotHeldAgainstTheConfig) {
  options_.limits.trials = 40;
  FakeRunner runner;
  const auto good = runner.rule;
  std::map<std::string, int> tries;
  runner.rule = [&](const Trial& trial) {
    if (++tries[key(trial.workload) + key(trial.config)] <= 2) {
      return Outcome{OutcomeKind::device_lost, "gone", "", {}, ""};
    }
    return good(trial);
  };
  const TuneSummary summary = tune_into("a.db", runner);
  EXPECT_EQ(summary.trials, 40);
  EXPECT_EQ(runner.measured, 120);
  for (const Record& record : open()->run_records(1)) EXPECT_TRUE(record.outcome.ok());
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

TEST_F(TunerTest, ABrokenEnvironmentEndsTheRunWithItsReason) {
  options_.limits.trials = 1000;
  FakeRunner runner;
  runner.rule = [](const Trial&) { return Outcome{OutcomeKind::infrastructure, "no worker", "", {}, ""}; };
  try {
    tune_into("a.db", runner);
    FAIL() << "no error";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no worker"));
  }
  EXPECT_LT(runner.measured, 200);
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

TEST_F(TunerTest, TheModelFindsBetterThanChance) {
  options_.limits = {std::nullopt, 40, std::nullopt, std::nullopt};
  FakeRunner guided, random;
  const TuneSummary by_model = tune_into("a.db", guided);
  options_.strategy = Strategy::random;
  const TuneSummary by_chance = tune_into("b.db", random);
  double model_us = 0, chance_us = 0;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    model_us += by_model.tasks[i].best_us;
    chance_us += by_chance.tasks[i].best_us;
  }
  EXPECT_LT(model_us, chance_us);
}

TEST_F(TunerTest, TellsProgressAfterEveryTrial) {
  options_.limits.trials = 25;
  std::vector<int64_t> seen;
  progress_ = [&](const TuneSummary& summary) { seen.push_back(summary.trials); };
  FakeRunner runner;
  tune_into("a.db", runner);
  ASSERT_EQ(seen.size(), 25u);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i) + 1);
}

TEST_F(TunerTest, ATaskThatNoFamilyTakesIsAUsageError) {
  options_.families = [](const Workload&, const Target&) { return std::vector<const KernelFamily*>{}; };
  FakeRunner runner;
  EXPECT_THROW(tune_into("a.db", runner), UsageError);
}

}  // namespace
}  // namespace warpwright
