// What the suites of this folder share: small tasks, and a run over them.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "database/database.h"
#include "measure/runner.h"
#include "src/tuner/tuner.h"

namespace warpwright {

/// Small operators whose kernels compile fast, with large spaces.
std::vector<Task> small_tasks();

struct NightOptions {
  std::string worker, database, device = "virtual:rtx4090";
  int64_t trials = 0;
  uint64_t seed = 1;
  int jobs = 2;
  Strategy strategy = Strategy::model_guided;
  double compile_timeout_s = 60, run_timeout_s = 60;
};
/// Begins or goes on with the run, as `tune` does.
TuneSummary run_night(const NightOptions& options, const ProgressCallback& progress);

}  // namespace warpwright
