// The test that a winner must pass, and how often it is wrong.
#include "src/core/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace warpwright {
namespace {

TEST(Verdict, StudentsTailIsThatOfTheTables) {
  EXPECT_NEAR(student_tail(0, 7), 0.5, 1e-12);
  EXPECT_NEAR(student_tail(2.7764451, 4), 0.025, 1e-5);
  EXPECT_NEAR(student_tail(6.314, 1), 0.05, 1e-5);
  EXPECT_NEAR(student_tail(3.307, 40), 0.001, 1e-5);
  EXPECT_NEAR(student_tail(-2.7764451, 4), 0.975, 1e-5);
}

TEST(Verdict, PairedGainOfKnownNumbers) {
  const PairedGain gain = paired_gain({110, 121, 132}, {100, 110, 120});
  EXPECT_EQ(gain.rounds, 3u);
  EXPECT_NEAR(gain.gain, 1.1, 1e-12);
  const PairedGain apart = paired_gain({100, 104, 108, 100}, {100, 100, 100, 100});
  EXPECT_NEAR(std::log(apart.gain), 0.0290454, 1e-6);
  EXPECT_NEAR(apart.standard_error, 0.0184543, 1e-6);
  EXPECT_NEAR(apart.chance, student_tail(0.0290454 / 0.0184543, 3), 1e-4);
  EXPECT_LT(apart.low, 1);
  EXPECT_GT(apart.high, 1.05);
  EXPECT_EQ(paired_gain({1}, {0.5}).chance, 1) << "one round tells nothing";
}

/// Rounds until the verdict is settled; `true_us` by Config, the default first.
Verdict rounds_of(const std::vector<double>& true_us, double noise, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, noise);
  std::vector<std::vector<double>> rounds_us(true_us.size());
  Verdict verdict;
  do {
    const double drift = 1 + normal(random);  // of the whole round
    for (size_t i = 0; i < true_us.size(); ++i) rounds_us[i].push_back(true_us[i] * drift * (1 + normal(random)));
    verdict = judge(rounds_us);
  } while (!verdict.is_settled);
  EXPECT_LE(rounds_us[0].size(), kMostRounds);
  return verdict;
}

TEST(Verdict, OfExactTimesNeedsTheLeastRounds) {
  std::vector<std::vector<double>> rounds_us{std::vector<double>(kLeastRounds, 100),
                                             std::vector<double>(kLeastRounds, 98)};
  EXPECT_EQ(judge(rounds_us).winner, 1u);
  EXPECT_TRUE(judge(rounds_us).is_settled);
  rounds_us[0].pop_back(), rounds_us[1].pop_back();
  EXPECT_FALSE(judge(rounds_us).is_settled);
}

TEST(Verdict, OfTiesIsTheFirst) {
  std::vector<std::vector<double>> rounds_us;
  for (const double us : {100.0, 90.5, 90.0, 95.0}) rounds_us.emplace_back(kLeastRounds, us);
  EXPECT_EQ(judge(rounds_us).winner, 1u);
  std::swap(rounds_us[1], rounds_us[2]);
  EXPECT_EQ(judge(rounds_us).winner, 1u);
}

TEST(Verdict, WhatFailedTakesNoPart) {
  EXPECT_EQ(judge({std::vector<double>(5, 100), {}, std::vector<double>(5, 90)}).winner, 2u);
  EXPECT_EQ(judge({std::vector<double>(5, 100), {}}).winner, 0u);
  EXPECT_EQ(judge({{}, std::vector<double>(5, 90)}).winner, 0u);
}

TEST(Verdict, EqualConfigsHardlyEverBeatTheDefault) {
  std::mt19937_64 random(7);
  int wins = 0;
  for (int run = 0; run < 2000; ++run) wins += rounds_of({100, 100, 100, 100, 100}, 0.03, random).winner != 0;
  EXPECT_LE(wins, 2000 * kFalseWinRate);
}

TEST(Verdict, SlowerConfigsNeverBeatTheDefault) {
  std::mt19937_64 random(8);
  int wins = 0;
  for (int run = 0; run < 2000; ++run) wins += rounds_of({100, 100.5, 100.5, 102, 104}, 0.03, random).winner != 0;
  EXPECT_LE(wins, 2);
}

TEST(Verdict, CostsLittleWhereTimesHardlyVary) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal(0, 0.002);
  std::vector<std::vector<double>> rounds_us(3);
  do {
    for (size_t i = 0; i < 3; ++i) rounds_us[i].push_back((100 - 4.0 * static_cast<double>(i)) * (1 + normal(random)));
  } while (!judge(rounds_us).is_settled);
  EXPECT_EQ(judge(rounds_us).winner, 2u);
  EXPECT_LE(rounds_us[0].size(), 8u);
}

}  // namespace
}  // namespace warpwright
