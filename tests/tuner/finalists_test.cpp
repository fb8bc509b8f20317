// The end of a run where times vary: finalists in turn, drift, and S3 of the fault tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/core/file.h"
#include "tests/tuner/fakes.h"

namespace warpwright {
namespace {

constexpr int kSamples = 15;

/// A card whose samples vary by `noise`, and each measurement as a whole by a sixth of it.
class NoisyCard : public FakeRunner {
 public:
  NoisyCard(double noise, uint64_t seed) : random_(seed), normal_(0, noise) {
    evidence_ = Evidence::silicon;
    rule = [this](const Trial& trial) {
      Outcome outcome;
      outcome.kind = OutcomeKind::ok;
      const double level = true_us(trial.config) * (1 + normal_(random_) / 6);
      for (int i = 0; i < kSamples; ++i) outcome.samples_us.push_back(level * (1 + normal_(random_)));
      return outcome;
    };
  }

  std::function<double(const Config&)> true_us;

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

class FinalistsTest : public ::testing::Test {
 protected:
  TuneSummary tune_on(FakeRunner& runner, const KernelFamily& family, const std::string& file,
                      const TuneLimits& limits) {
    auto database = open_database(folder_.path() / file, OpenMode::read_write);
    TuneOptions options;
    options.limits = limits;
    options.drift_interval_s = drift_interval_s_;
    options.families = [&family](const Workload&, const Target&) { return std::vector<const KernelFamily*>{&family}; };
    const RunInfo run = database->begin_run({"digest", runner.device_name(), 1, Json::object()}, "m");
    NearestCostModel model;
    return tune(tasks_, runner, model, *database, run, options, {});
  }

  TemporaryFolder folder_;
  TinyFamily tiny_;
  FakeFamily family_;
  std::vector<Task> tasks_ = {fake_task(16)};
  double drift_interval_s_ = 1e9;
  const TuneLimits all_{100, std::nullopt, std::nullopt, std::nullopt};
};

/// Times of the five Configs, the default first.
std::function<double(const Config&)> times(std::vector<double> us) {
  return [us](const Config& config) { return us.at(static_cast<size_t>(config.at("a")) - 1); };
}

TEST_F(FinalistsTest, S3NoiseDoesNotChangeTheWinner) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    NoisyCard card(0.03, seed);
    card.true_us = times({100, 104, 94, 96, 98});  // the next best is 2 % slower
    const TuneSummary summary = tune_on(card, tiny_, std::to_string(seed) + ".db", all_);
    wrong += summary.tasks[0].best.at("a") != 3;
  }
  EXPECT_LE(wrong, 1);
}

TEST_F(FinalistsTest, S3TiesGoToTheSameConfig) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    NoisyCard card(0.03, seed);
    card.true_us = times({100, 104, 90.1, 90, 94});
    const TuneSummary summary = tune_on(card, tiny_, std::to_string(seed) + ".db", all_);
    wrong += summary.tasks[0].best.at("a") != 3;
  }
  EXPECT_LE(wrong, 1);
}

TEST_F(FinalistsTest, S3WinnerIsNeverSlowerThanTheDefault) {
  int false_wins = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    NoisyCard card(0.03, seed);
    card.true_us = times({100, 100, 100.6, 101, 100.2});
    const TuneSummary summary = tune_on(card, tiny_, std::to_string(seed) + ".db", all_);
    const int64_t winner = summary.tasks[0].best.at("a");
    EXPECT_TRUE(winner != 3 && winner != 4) << "slower than the default by more than half a percent";
    false_wins += winner != 1;
  }
  EXPECT_LE(false_wins, 2);
}

TEST_F(FinalistsTest, StartedAgainMeasuresNoRoundTwice) {
  NoisyCard first(0.01, 1), second(0.01, 2);
  first.true_us = second.true_us = times({100, 104, 94, 96, 98});
  const TuneSummary before = tune_on(first, tiny_, "a.db", all_);
  const TuneSummary after = tune_on(second, tiny_, "a.db", all_);
  EXPECT_GT(first.rounds, 0);
  EXPECT_EQ(second.rounds, 0);
  EXPECT_EQ(second.measured, 0);
  EXPECT_EQ(after.tasks[0].best, before.tasks[0].best);
  EXPECT_EQ(after.tasks[0].best_us, before.tasks[0].best_us);
  ASSERT_TRUE(after.tasks[0].gain);
  EXPECT_EQ(after.tasks[0].gain->gain, before.tasks[0].gain->gain);
}

TEST_F(FinalistsTest, DefaultIsMeasuredAgainAndItsDriftSeen) {
  drift_interval_s_ = 0;
  NoisyCard card(1e-6, 1);
  card.true_us = [&card](const Config& config) {
    return (100.0 + static_cast<double>(config.at("b"))) * (card.measured > 8 ? 1.05 : 1);
  };
  const TuneSummary summary = tune_on(card, family_, "a.db", {40, std::nullopt, std::nullopt, std::nullopt});
  EXPECT_EQ(summary.trials, 40) << "what is repeated is no trial";
  EXPECT_GT(card.measured, 40);
  EXPECT_NEAR(summary.tasks[0].drift, 0.05, 1e-3);
}

TEST_F(FinalistsTest, TimesOfAVirtualClockNeedNoRounds) {
  FakeRunner runner;
  const TuneSummary summary = tune_on(runner, tiny_, "a.db", all_);
  EXPECT_EQ(runner.rounds, 0);
  EXPECT_FALSE(summary.tasks[0].gain);
}

}  // namespace
}  // namespace warpwright
