// WorkerRunner: its devices, its lanes, and the queue between them and the caller.
#include "measure/worker_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "src/core/core_count.h"
#include "src/core/error.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

constexpr double kEnvironmentTimeout_s = 120;
constexpr int kCompiledAhead = 2;  // for each card, beside what compiles

std::string record_name(const protocol::EnvironmentAnswer& answer) {
  return answer.evidence == Evidence::silicon ? answer.target.device_name : "virtual:" + answer.target.name;
}

/// Asks a worker of its own, which ends with the answer.
protocol::EnvironmentAnswer open_environment(const std::string& program, const std::filesystem::path& folder,
                                             const std::string& device, const RunnerOptions& options) {
  WorkerProcess worker(program, folder / "environment.log");
  const std::atomic<bool>* stop = options.stop;
  const WorkerReply reply = worker.call(to_json(protocol::EnvironmentRequest{device, options.nvrtc_path}),
                                        kEnvironmentTimeout_s, [stop] { return stop != nullptr && *stop; });
  if (reply.end == WorkerReply::End::stopped) throw Interrupted();
  if (!reply.answered()) {
    throw EnvironmentError(fmt::format("opening the compiler and the device {}: the worker {}{}{}", device, reply.how(),
                                       reply.log_tail.empty() ? "" : ": ", reply.log_tail));
  }
  protocol::throw_if_error(reply.json);
  return protocol::environment_answer_from_json(reply.json);
}

}  // namespace

std::string WorkerRunner::device_name() const { return record_name(environment_); }

std::string WorkerRunner::environment() const { return environment_.device_description + ", " + environment_.compiler; }

WorkerRunner::WorkerRunner(const RunnerOptions& options)
    : options_(options), program_(options.worker_program.empty() ? this_program() : options.worker_program) {
  open_devices();
  const int cores = core_count();
  const int jobs = options_.jobs > 0 ? options_.jobs : cores;
  device_jobs_ = std::max(1, cores / jobs);
  free_slots_ = jobs;
  occupancy_ = std::make_unique<Occupancy>(jobs, is_card() ? static_cast<int>(cards_.size()) : 0);
  open_lanes(jobs + (is_card() ? kCompiledAhead * static_cast<int>(cards_.size()) : 0));
}

WorkerRunner::~WorkerRunner() { close_lanes(); }

void WorkerRunner::open_devices() {
  if (options_.devices.empty()) throw UsageError("name at least one device");
  std::set<std::string> ids;
  for (const std::string& device : options_.devices) {
    const protocol::EnvironmentAnswer answer = open_environment(program_, folder_.path(), device, options_);
    if (cards_.size() == 0) environment_ = answer;
    if (record_name(answer) != device_name() || key(answer.target) != key(target())) {
      throw UsageError(fmt::format("{} is {}, and {} is {}: unlike devices are tuned apart", options_.devices.front(),
                                   device_name(), device, record_name(answer)));
    }
    if (!ids.insert(answer.card_id).second) throw UsageError(fmt::format("{} is named twice", device));
    CardPool::Card card;
    card.device = device;
    card.environment = answer.device_description + ", " + answer.compiler;
    card.worker = std::make_unique<WorkerProcess>(program_, folder_.path() / fmt::format("card-{}.log", ids.size()));
    if (!answer.card_id.empty()) {
      card.lock = std::make_unique<NamedLock>(answer.card_id);
      card.turn = std::make_unique<NamedLock>(answer.card_id + " turn");
    }
    cards_.add(std::move(card));
  }
  const auto is_this = [this](const Target& preset) { return preset.name == target().name; };
  if (is_card() && std::none_of(target_presets().begin(), target_presets().end(), is_this)) {
    log_warning("{} ({}) has no preset: it is tuned by the limits that its driver gives", target().device_name,
                target().arch());
  }
}

void WorkerRunner::open_lanes(int lanes) {
  try {
    for (int lane = 0; lane < lanes; ++lane) {
      lanes_.emplace_back([this, lane] { serve(static_cast<size_t>(lane)); });
    }
  } catch (const std::system_error& error) {
    close_lanes();
    throw EnvironmentError(fmt::format("a thread cannot be started: {}", error.what()));
  }
}

/// Lets the threads of the lanes end, and what they wait for; their destructors wait for them.
void WorkerRunner::close_lanes() {
  {
    const std::lock_guard lock(queue_mutex_);
    is_closing_ = true;
  }
  work_waits_.notify_all();
}

void WorkerRunner::submit(Work work) {
  {
    const std::lock_guard lock(queue_mutex_);
    work_.push_back(std::move(work));
  }
  work_waits_.notify_one();
}

FinishedTrial WorkerRunner::next() {
  Ended ended = wait_for_end();
  return {ended.ticket, std::move(ended.result)};
}

Ended WorkerRunner::wait_for_end() {
  std::unique_lock lock(queue_mutex_);
  if (work_.empty() && under_way_ == 0 && ended_.empty()) throw InternalError("no trial is submitted");
  work_ended_.wait(lock, [this] { return !ended_.empty(); });
  Ended ended = std::move(ended_.front());
  ended_.pop_front();
  return ended;
}

void WorkerRunner::begin_nothing_after(std::optional<std::chrono::steady_clock::time_point> deadline) {
  deadline_ = deadline.value_or(std::chrono::steady_clock::time_point::max());
}

void WorkerRunner::cancel() {
  std::unique_lock lock(queue_mutex_);
  work_.clear();
  is_cancelling_ = true;
  work_ended_.wait(lock, [this] { return under_way_ == 0; });
  ended_.clear();
  is_cancelling_ = false;
}

void WorkerRunner::give_slot_back() {
  {
    const std::lock_guard lock(queue_mutex_);
    ++free_slots_;
  }
  work_waits_.notify_one();
}

/// A lane takes the next trial together with a slot to compile it in, so that trials come to a card in their order.
void WorkerRunner::serve(size_t lane) {
  WorkerProcess worker(program_, folder_.path() / fmt::format("worker-{}.log", lane));
  std::unique_lock lock(queue_mutex_);
  while (true) {
    work_waits_.wait(lock, [this] { return is_closing_ || (!work_.empty() && free_slots_ > 0); });
    if (is_closing_) return;
    Work work = std::move(work_.front());
    work_.pop_front();
    ++under_way_;
    --free_slots_;
    lock.unlock();
    Ended ended = try_out(std::move(work), worker);
    lock.lock();
    ended_.push_back(std::move(ended));
    --under_way_;
    work_ended_.notify_all();
  }
}

std::unique_ptr<Runner> open_worker_runner(const RunnerOptions& options) {
  return std::make_unique<WorkerRunner>(options);
}

DeviceIdentity identify_device(const std::string& device, const RunnerOptions& options) {
  const TemporaryFolder folder("warpwright-run");
  const std::string program = options.worker_program.empty() ? this_program() : options.worker_program;
  const protocol::EnvironmentAnswer answer = open_environment(program, folder.path(), device, options);
  return {device, record_name(answer), answer.target, answer.evidence == Evidence::silicon, answer.card_id};
}

}  // namespace warpwright
