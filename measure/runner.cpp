// Batches of trials over a Runner.
#include "measure/runner.h"

namespace warpwright {

std::vector<TrialResult> Runner::run(const std::vector<Trial>& trials,
                                     const std::function<void(size_t, const TrialResult&)>& done) {
  std::vector<TrialResult> results(trials.size());
  for (size_t i = 0; i < trials.size(); ++i) submit(i, trials[i]);
  try {
    for (size_t ended = 0; ended < trials.size(); ++ended) {
      FinishedTrial finished = next();
      const auto index = static_cast<size_t>(finished.ticket);
      results[index] = std::move(finished.result);
      if (done) done(index, results[index]);
    }
  } catch (...) {
    cancel();
    throw;
  }
  return results;
}

}  // namespace warpwright
