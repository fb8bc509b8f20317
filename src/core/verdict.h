// Verdict: which of several Configs is the fastest, from times that were taken in turn. docs/measuring.md has the test.
#pragma once

#include <cstddef>
#include <vector>

namespace warpwright {

/// One candidate against the default, over the rounds that measured both: logarithms of their ratios, paired, so that a
/// drift which both share cancels.
struct PairedGain {
  size_t rounds = 0;
  double gain = 1;            // of the default's time to the candidate's; above 1: faster
  double standard_error = 0;  // of log(gain)
  double chance = 1;          // that a candidate no faster than the default would look so good: one-sided t-test
  double low = 1, high = 1;   // 95 % interval of gain
};
/// Fewer than two rounds tell nothing: `chance` stays 1.
PairedGain paired_gain(const std::vector<double>& default_us, const std::vector<double>& candidate_us);

struct Verdict {
  size_t winner = 0;       // index of a candidate; 0 is the default
  PairedGain gain;         // of the winner
  bool is_settled = true;  // more rounds would change nothing that matters
};

/// Chance that the default loses to a Config no faster than it, over all candidates and rounds of one task.
inline constexpr double kFalseWinRate = 0.01;
/// Times this close count as equal: the first of the candidates wins.
inline constexpr double kTie = 0.01;
inline constexpr size_t kLeastRounds = 5, kMostRounds = 40;

/// `rounds_us` by Config, the default first, then candidates in an order that does not depend on times; one that failed
/// is empty. A candidate wins only if it beats the default beyond noise.
Verdict judge(const std::vector<std::vector<double>>& rounds_us);

/// What `chance` must be below for one of so many candidates to beat the default, at whichever round the look is taken.
double winning_chance(size_t candidates);

/// P(T > t) of Student's distribution.
double student_tail(double t, double degrees);

}  // namespace warpwright
