// Runner: measures Configs of Workloads in disposable worker processes. The parent never opens a driver.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/core/config.h"
#include "src/core/kernel.h"
#include "src/core/outcome.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {

struct Trial {
  Workload workload;
  Config config;
};

/// Seconds that a trial spent in each part, for `tune`'s summary and the overhead benchmark.
struct TrialSeconds {
  double compile = 0, verify = 0, run = 0;
  double wall = 0;  // of the trial, without waiting for the card
};

struct TrialResult {
  Outcome outcome;
  CompiledKernel kernel;  // hashes and resources; empty when compiling failed
  std::string source_hash, ptx_hash, cubin_hash;
  Evidence evidence = Evidence::virtual_device;
  std::string environment;  // driver or `virtual`, and compiler, for people
  TrialSeconds seconds;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const Target& target() const = 0;
  virtual std::string device_name() const = 0;
  /// All trials, in the order given; `done` is called from this thread as each one ends (any order, index first).
  virtual std::vector<TrialResult> run(const std::vector<Trial>& trials,
                                       const std::function<void(size_t, const TrialResult&)>& done) = 0;
};

struct RunnerOptions {
  std::string device = "auto";
  std::string nvrtc_path;
  int jobs = 0;  // worker processes, 0: one a core; on cuda they compile, and one more times on the card
  double compile_timeout_s = 60, run_timeout_s = 120;
  std::string worker_program;               // path of the program with the `worker` verb; empty: this program
  uint64_t seed = 1;                        // of the inputs, beside the Workload's key
  const std::atomic<bool>* stop = nullptr;  // set by a signal: trials not yet ended become `interrupted`
};
/// Starts a worker and opens compiler and device in it: throws EnvironmentError when one is missing or they do not fit.
std::unique_ptr<Runner> open_worker_runner(const RunnerOptions& options);

}  // namespace warpwright
