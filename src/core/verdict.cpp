// The paired t-test, corrected for the number of candidates and of looks.
#include "src/core/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warpwright {
namespace {

constexpr double kWorthwhile = 0.005;  // a gain below is none that anybody waits for
constexpr double kClear = 3;           // standard errors that settle a question other than that of the win

/// Continued fraction of the incomplete beta function (Lentz); Numerical constants only bound its accuracy.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kAccuracy = 1e-12;
  constexpr int kMostTerms = 500;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < kAccuracy) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// The t whose tail is `share`, by bisection.
double student_quantile(double share, double degrees) {
  double low = 0, high = 1e4;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (student_tail(middle, degrees) > share ? low : high) = middle;
  }
  return low;
}

/// Whether the ratio is known to lie on one side of the border.
bool is_clear_of(const PairedGain& gain, double border) {
  return std::abs(std::log(gain.gain) - std::log(border)) > kClear * gain.standard_error;
}

}  // namespace

double student_tail(double t, double degrees) {
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t >= 0 ? tail : 1 - tail;
}

PairedGain paired_gain(const std::vector<double>& default_us, const std::vector<double>& candidate_us) {
  PairedGain result;
  result.rounds = std::min(default_us.size(), candidate_us.size());
  if (result.rounds == 0) return result;
  const auto n = static_cast<double>(result.rounds);
  const auto log_ratio = [&](size_t i) { return std::log(default_us[i] / candidate_us[i]); };
  double mean = 0, squares = 0;
  for (size_t i = 0; i < result.rounds; ++i) mean += log_ratio(i) / n;
  for (size_t i = 0; i < result.rounds; ++i) squares += std::pow(log_ratio(i) - mean, 2);
  result.gain = result.low = result.high = std::exp(mean);
  if (result.rounds < 2) return result;
  result.standard_error = std::sqrt(squares / (n - 1) / n);
  if (result.standard_error == 0) {
    result.chance = mean > 0 ? 0 : 1;
    return result;
  }
  result.chance = student_tail(mean / result.standard_error, n - 1);
  const double width = student_quantile(0.025, n - 1) * result.standard_error;
  result.low = std::exp(mean - width);
  result.high = std::exp(mean + width);
  return result;
}

/// Each look at each candidate is a chance to be wrong, so that each gets its share of the rate.
double winning_chance(size_t candidates) {
  return kFalseWinRate / static_cast<double>(candidates) / static_cast<double>(kMostRounds - kLeastRounds + 1);
}

Verdict judge(const std::vector<std::vector<double>>& rounds_us) {
  Verdict verdict;
  if (rounds_us.empty() || rounds_us[0].empty()) return verdict;
  size_t best = 0, taking_part = 0;
  std::vector<PairedGain> gains(rounds_us.size());
  for (size_t i = 1; i < rounds_us.size(); ++i) {
    if (rounds_us[i].empty()) continue;
    ++taking_part;
    gains[i] = paired_gain(rounds_us[0], rounds_us[i]);
    if (best == 0 || gains[i].gain > gains[best].gain) best = i;
  }
  if (best == 0) return verdict;
  const size_t rounds = rounds_us[0].size();
  for (size_t i = 1; i < best; ++i) {  // the first within a tie of the best takes its place
    if (rounds_us[i].empty() || paired_gain(rounds_us[i], rounds_us[best]).gain > 1 + kTie) continue;
    best = i;
    break;
  }
  const bool wins = gains[best].chance < winning_chance(taking_part);
  if (wins) {
    verdict.winner = best;
    verdict.gain = gains[best];
  }
  verdict.is_settled =
      wins || (!is_clear_of(gains[best], 1 + kWorthwhile) ? false : gains[best].gain < 1 + kWorthwhile);
  for (size_t i = 1; i < rounds_us.size() && verdict.is_settled && wins; ++i) {
    if (i == best || rounds_us[i].empty()) continue;
    // Whether it ties with the winner, and if it does not, that it is the slower one.
    const PairedGain against = paired_gain(rounds_us[i], rounds_us[best]);
    verdict.is_settled = is_clear_of(against, 1 + kTie) && is_clear_of(against, 1 - kTie);
  }
  verdict.is_settled = rounds >= kMostRounds || (rounds >= kLeastRounds && verdict.is_settled);
  return verdict;
}

}  // namespace warpwright
