// The loop with a fake runner: determinism, limits, failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/tuner/tuner_fixture.h"

namespace warpwright {
namespace {

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
