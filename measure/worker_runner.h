// WorkerRunner: threads of this process, each with a worker process; one worker more for each card does its timing.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "measure/card_pool.h"
#include "measure/occupancy.h"
#include "measure/runner.h"
#include "measure/worker_requests.h"
#include "src/core/file.h"

namespace warpwright {

/// A trial on its way through a lane.
struct Work {
  uint64_t ticket = 0;
  Trial trial;
  bool only_compiled = false;  // for interleave, which measures it later
};

/// A trial after its lane: `request` and its files still stand when it was only compiled.
struct Ended {
  uint64_t ticket = 0;
  TrialResult result;
  protocol::MeasureRequest request;
};

class WorkerRunner final : public Runner {
 public:
  explicit WorkerRunner(const RunnerOptions& options);
  ~WorkerRunner() override;

  const Target& target() const override { return environment_.target; }
  std::string device_name() const override;
  Evidence evidence() const override { return environment_.evidence; }
  void submit(uint64_t ticket, Trial trial) override { submit({ticket, std::move(trial)}); }
  FinishedTrial next() override;
  std::string environment() const override;
  void begin_nothing_after(std::optional<std::chrono::steady_clock::time_point> deadline) override;
  void cancel() override;
  std::vector<TrialResult> interleave(const Workload& workload, const std::vector<Config>& configs,
                                      const IsDecided& is_decided) override;
  double idle_seconds() const override { return occupancy_->idle_seconds(); }

 private:
  bool is_card() const { return environment_.evidence == Evidence::silicon; }
  bool should_stop() const { return is_closing_ || is_cancelling_ || (options_.stop != nullptr && *options_.stop); }
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_.load(); }
  RequestLimits limits(double timeout_s) const {
    return {timeout_s, [this] { return should_stop(); }};
  }
  void open_devices();
  void open_lanes(int jobs);
  void close_lanes();

  void submit(Work work);
  Ended wait_for_end();
  void serve(size_t lane);
  Ended try_out(Work work, WorkerProcess& worker);
  bool compile_in_slot(const Work& work, WorkerProcess& worker, Ended& ended, std::optional<CardPool::Place>& place);
  bool compile(const Trial& trial, WorkerProcess& worker, Ended& ended);
  void give_slot_back();
  std::optional<Outcome> prepare(const protocol::PrepareRequest& request, WorkerProcess& worker);
  void measure_on_virtual_device(WorkerProcess& worker, Ended& ended);
  void measure_on_card(const CardPool::Place& place, Ended& ended, double& waited_s);
  void note_answer(protocol::MeasureAnswer answer, TrialResult& result) const;
  bool measure_round(std::vector<Ended>& all, size_t round, std::vector<std::vector<double>>& rounds_us);

  const RunnerOptions options_;
  const std::string program_;
  const TemporaryFolder folder_{"warpwright-run"};
  protocol::EnvironmentAnswer environment_;
  int device_jobs_ = 1;
  std::atomic<uint64_t> stems_{0};
  CardPool cards_;  // of a virtual device: one, which only interleave uses
  std::unique_ptr<Occupancy> occupancy_;

  struct Preparation {
    std::mutex mutex;
    bool is_done = false;
  };
  std::mutex preparations_mutex_;
  std::map<std::string, Preparation> preparations_;  // by Workload and seed

  std::mutex queue_mutex_;
  std::condition_variable work_waits_, work_ended_;
  std::deque<Work> work_;
  std::deque<Ended> ended_;
  size_t under_way_ = 0;
  int free_slots_ = 0;  // of what compiles: on a card there are more lanes, since some wait for it
  std::atomic<std::chrono::steady_clock::time_point> deadline_{std::chrono::steady_clock::time_point::max()};
  std::atomic<bool> is_closing_{false}, is_cancelling_{false};
  std::vector<std::jthread> lanes_;  // as long as the runner: a worker dies with the thread that started it
};

}  // namespace warpwright
