// WorkerRunner: threads of this process, each with a worker process; on a card one worker more does all the timing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "measure/instruction_limit.h"
#include "measure/runner.h"
#include "measure/worker_requests.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kEnvironmentTimeout_s = 120;
constexpr double kPrepareTimeout_s = 900;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Outcome outcome_of(OutcomeKind kind, std::string message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  return outcome;
}

class WorkerRunner final : public Runner {
 public:
  explicit WorkerRunner(const RunnerOptions& options);
  ~WorkerRunner() override;

  const Target& target() const override { return environment_.target; }
  std::string device_name() const override {
    return is_card() ? environment_.target.device_name : "virtual:" + environment_.target.name;
  }
  std::vector<TrialResult> run(const std::vector<Trial>& trials,
                               const std::function<void(size_t, const TrialResult&)>& done) override;

 private:
  struct Job {
    size_t index = 0;
    const Trial* trial = nullptr;
  };
  struct Finished {
    size_t index = 0;
    TrialResult result;
    std::exception_ptr failure;
  };

  bool is_card() const { return environment_.evidence == Evidence::silicon; }
  void open_environment(WorkerProcess& worker);
  void serve(size_t lane);
  /// Lets the threads of the lanes end; their destructors wait for that.
  void close_lanes();
  TrialResult try_out(const Trial& trial, WorkerProcess& worker);
  void compile_and_measure(const Trial& trial, WorkerProcess& worker, TrialResult& result, double& waited_s);
  std::optional<Outcome> prepare(const protocol::PrepareRequest& request, WorkerProcess& worker);
  protocol::MeasureAnswer measure(const protocol::MeasureRequest& request, WorkerProcess& worker, double& waited_s);
  Finished next_finished();
  size_t drop_waiting();

  const RunnerOptions options_;
  const std::string program_;
  const TemporaryFolder folder_{"warpwright-run"};
  protocol::EnvironmentAnswer environment_;
  int device_jobs_ = 1;
  std::atomic<uint64_t> stems_{0};

  std::mutex card_mutex_;  // one process times on a card at a time
  std::unique_ptr<WorkerProcess> card_worker_;

  std::mutex prepare_mutex_;
  std::set<std::string> prepared_;

  std::mutex queue_mutex_;
  std::condition_variable job_waits_, job_ended_;
  std::deque<Job> jobs_;
  std::deque<Finished> finished_;
  bool closing_ = false;
  std::vector<std::jthread> lanes_;  // as long as the runner: a worker dies with the thread that started it
};

WorkerRunner::WorkerRunner(const RunnerOptions& options)
    : options_(options), program_(options.worker_program.empty() ? this_program() : options.worker_program) {
  {
    WorkerProcess worker(program_, folder_.path() / "environment.log");
    open_environment(worker);
  }
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int jobs = options_.jobs > 0 ? options_.jobs : cores;
  device_jobs_ = std::max(1, cores / jobs);
  if (is_card()) card_worker_ = std::make_unique<WorkerProcess>(program_, folder_.path() / "card.log");
  try {
    for (int lane = 0; lane < jobs; ++lane) {
      lanes_.emplace_back([this, lane] { serve(static_cast<size_t>(lane)); });
    }
  } catch (const std::system_error& error) {
    close_lanes();
    throw EnvironmentError(fmt::format("a thread cannot be started: {}", error.what()));
  }
}

WorkerRunner::~WorkerRunner() { close_lanes(); }

void WorkerRunner::close_lanes() {
  {
    const std::lock_guard lock(queue_mutex_);
    closing_ = true;
  }
  job_waits_.notify_all();
}

void WorkerRunner::open_environment(WorkerProcess& worker) {
  const WorkerReply reply = worker.call(to_json(protocol::EnvironmentRequest{options_.device, options_.nvrtc_path}),
                                        kEnvironmentTimeout_s, options_.stop);
  if (!reply.answered()) {
    throw EnvironmentError(fmt::format("opening the compiler and the device {}: the worker {}{}{}", options_.device,
                                       reply.how(), reply.log_tail.empty() ? "" : ": ", reply.log_tail));
  }
  protocol::throw_if_error(reply.json);
  environment_ = protocol::environment_answer_from_json(reply.json);
  const auto is_this = [this](const Target& preset) { return preset.name == target().name; };
  if (is_card() && std::none_of(target_presets().begin(), target_presets().end(), is_this)) {
    log_warning("{} ({}) has no preset: it is tuned by the limits that its driver gives", target().device_name,
                target().arch());
  }
}

std::vector<TrialResult> WorkerRunner::run(const std::vector<Trial>& trials,
                                           const std::function<void(size_t, const TrialResult&)>& done) {
  std::vector<TrialResult> results(trials.size());
  {
    const std::lock_guard lock(queue_mutex_);
    for (size_t i = 0; i < trials.size(); ++i) jobs_.push_back({i, &trials[i]});
  }
  job_waits_.notify_all();
  std::exception_ptr failure;
  for (size_t pending = trials.size(); pending > 0; --pending) {
    Finished finished = next_finished();
    if (failure) continue;  // only waits for what still reads `trials`
    failure = finished.failure;
    if (!failure) {
      results[finished.index] = std::move(finished.result);
      try {
        if (done) done(finished.index, results[finished.index]);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    if (failure) pending -= drop_waiting();
  }
  if (failure) std::rethrow_exception(failure);
  return results;
}

WorkerRunner::Finished WorkerRunner::next_finished() {
  std::unique_lock lock(queue_mutex_);
  job_ended_.wait(lock, [this] { return !finished_.empty(); });
  Finished finished = std::move(finished_.front());
  finished_.pop_front();
  return finished;
}

size_t WorkerRunner::drop_waiting() {
  const std::lock_guard lock(queue_mutex_);
  const size_t dropped = jobs_.size();
  jobs_.clear();
  return dropped;
}

void WorkerRunner::serve(size_t lane) {
  WorkerProcess worker(program_, folder_.path() / fmt::format("worker-{}.log", lane));
  while (true) {
    std::unique_lock lock(queue_mutex_);
    job_waits_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
    if (closing_) return;
    const Job job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    Finished finished{job.index, {}, nullptr};
    try {
      finished.result = try_out(*job.trial, worker);
    } catch (...) {
      finished.failure = std::current_exception();
    }
    lock.lock();
    finished_.push_back(std::move(finished));
    lock.unlock();
    job_ended_.notify_one();
  }
}

TrialResult WorkerRunner::try_out(const Trial& trial, WorkerProcess& worker) {
  const Clock::time_point begin = Clock::now();
  double waited_s = 0;
  TrialResult result;
  result.evidence = environment_.evidence;
  result.environment = environment_.device_description + ", " + environment_.compiler;
  if (options_.stop != nullptr && options_.stop->load()) {
    result.outcome = outcome_of(OutcomeKind::interrupted, "interrupted before it began");
  } else if (auto reason = why_illegal(trial.workload, trial.config, target())) {
    result.outcome = outcome_of(OutcomeKind::illegal, *std::move(reason));
  } else {
    compile_and_measure(trial, worker, result, waited_s);
  }
  result.seconds.wall = seconds_since(begin) - waited_s;
  return result;
}

void WorkerRunner::compile_and_measure(const Trial& trial, WorkerProcess& worker, TrialResult& result,
                                       double& waited_s) {
  const KernelFamily& family = family_of(trial.config);
  protocol::MeasureRequest request;
  request.prepared = {trial.workload, options_.seed, folder_.path()};
  request.device = options_.device;
  request.config = trial.config;
  request.source = family.emit(trial.workload, trial.config, target());
  request.stem = folder_.path() / fmt::format("kernel-{}", stems_++);
  request.instruction_limit =
      instruction_limit(trial.workload, family.resources(trial.workload, trial.config, target()));
  request.device_jobs = device_jobs_;
  result.source_hash = sha256_hex(request.source.source);

  const Clock::time_point compile_begin = Clock::now();
  auto compiled = compile_in_worker(worker, {options_.nvrtc_path, target().arch(), request.source, request.stem},
                                    {options_.compile_timeout_s, options_.stop});
  result.seconds.compile = seconds_since(compile_begin);
  if (Outcome* outcome = std::get_if<Outcome>(&compiled)) {
    result.outcome = std::move(*outcome);
  } else {
    result.kernel = std::get<CompiledKernel>(std::move(compiled));
    result.ptx_hash = sha256_hex(result.kernel.ptx);
    result.cubin_hash = sha256_hex(result.kernel.cubin);
    request.kernel = result.kernel;
    const Clock::time_point prepare_begin = Clock::now();
    if (auto outcome = prepare(request.prepared, worker)) {
      result.outcome = *std::move(outcome);
    } else {
      result.seconds.verify = seconds_since(prepare_begin);
      protocol::MeasureAnswer answer = measure(request, worker, waited_s);
      result.outcome = std::move(answer.outcome);
      result.seconds.verify += answer.verify_s;
      result.seconds.run = answer.run_s;
    }
  }
  protocol::remove_binaries(request.stem);
}

/// Each case is computed once a run: lanes that need the same one wait here.
std::optional<Outcome> WorkerRunner::prepare(const protocol::PrepareRequest& request, WorkerProcess& worker) {
  const std::string identity = key(request.workload);
  const std::lock_guard lock(prepare_mutex_);
  if (prepared_.contains(identity)) return std::nullopt;
  std::optional<Outcome> failure = prepare_in_worker(worker, request, {kPrepareTimeout_s, options_.stop});
  if (!failure) prepared_.insert(identity);
  return failure;
}

protocol::MeasureAnswer WorkerRunner::measure(const protocol::MeasureRequest& request, WorkerProcess& worker,
                                              double& waited_s) {
  const RequestLimits limits{options_.run_timeout_s, options_.stop};
  if (!is_card()) return measure_in_worker(worker, request, limits);
  const Clock::time_point begin = Clock::now();
  const std::lock_guard lock(card_mutex_);
  waited_s = seconds_since(begin);
  return measure_in_worker(*card_worker_, request, limits);
}

}  // namespace

std::unique_ptr<Runner> open_worker_runner(const RunnerOptions& options) {
  return std::make_unique<WorkerRunner>(options);
}

}  // namespace warpwright
