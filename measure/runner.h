// Runner: measures Configs of Workloads in disposable worker processes. The parent never opens a driver.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/card_clocks.h"
#include "src/core/config.h"
#include "src/core/error.h"
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
  double wall = 0;  // of the trial, without waiting for a turn at compiling or on the card
};

struct TrialResult {
  Outcome outcome;
  CompiledKernel kernel;  // hashes and resources; empty when compiling failed
  std::string source_hash, ptx_hash, cubin_hash;
  Evidence evidence = Evidence::virtual_device;
  std::string environment;  // driver or `virtual`, and compiler, for people
  TrialSeconds seconds;
  std::vector<double> warm_samples_us;  // with a warm L2; empty on a virtual device
  CardClocks clocks;                    // while it was timed
};

/// A trial that ended, by the ticket that it was submitted under.
struct FinishedTrial {
  uint64_t ticket = 0;
  TrialResult result;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const Target& target() const = 0;
  virtual std::string device_name() const = 0;
  /// Where its times come from; those of a virtual device do not vary.
  virtual Evidence evidence() const = 0;
  /// As TrialResult has it.
  virtual std::string environment() const = 0;

  /// Queues a trial and returns at once. What goes wrong with a trial is its outcome.
  virtual void submit(uint64_t ticket, Trial trial) = 0;
  /// Waits for the next trial to end, in whatever order they do. Call only while one is submitted and not returned.
  virtual FinishedTrial next() = 0;
  /// Trials that have not begun by then become `interrupted`; what is under way goes on. nullopt: no such time.
  virtual void begin_nothing_after(std::optional<std::chrono::steady_clock::time_point> deadline) = 0;
  /// Drops what was submitted and not returned; what is under way is interrupted.
  virtual void cancel() = 0;

  /// Asked after each round with the samples of each Config so far, one a round, in microseconds; empty for one that
  /// failed and takes part no longer.
  using IsDecided = std::function<bool(const std::vector<std::vector<double>>& rounds_us)>;
  /// Measures the Configs one after the other on one device, round after round, until `is_decided`. Each result has the
  /// median of each round as a sample, or what went wrong first. Call only while no trial is submitted.
  virtual std::vector<TrialResult> interleave(const Workload& workload, const std::vector<Config>& configs,
                                              const IsDecided& is_decided) = 0;

  /// Wall seconds in which nobody worked at all, counted by share: with half of the workers idle, half.
  virtual double idle_seconds() const { return 0; }

  /// All trials, in the order given; `done` is called from this thread as each one ends (any order, index first).
  std::vector<TrialResult> run(const std::vector<Trial>& trials,
                               const std::function<void(size_t, const TrialResult&)>& done);
};

struct RunnerOptions {
  std::vector<std::string> devices = {"auto"};  // several: cards of one kind, each trial goes to one that is free
  std::string nvrtc_path;
  int jobs = 0;  // trials that compile at a time, and on a virtual device run; 0: one a core
  double compile_timeout_s = 60, run_timeout_s = 120;
  std::string worker_program;               // path of the program with the `worker` verb; empty: this program
  uint64_t seed = 1;                        // of the inputs, beside the Workload's key
  const std::atomic<bool>* stop = nullptr;  // set by a signal: trials not yet ended become `interrupted`
};
/// Thrown when RunnerOptions::stop was set while compiler and device were being opened: nothing is wrong with them.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// Starts a worker and opens compiler and devices in it: throws EnvironmentError when one is missing or they do not
/// fit, UsageError for devices that are not alike, Interrupted.
std::unique_ptr<Runner> open_worker_runner(const RunnerOptions& options);

/// What a device name stands for, asked of a worker: the parent opens no driver.
struct DeviceIdentity {
  std::string name;         // as given
  std::string record_name;  // as records have it: `NVIDIA GeForce RTX 4090`, `virtual:rtx4090`
  Target target;
  bool is_card = false;
  std::string card_id;  // of a card
};
/// Throws as open_worker_runner does.
DeviceIdentity identify_device(const std::string& device, const RunnerOptions& options);

}  // namespace warpwright
