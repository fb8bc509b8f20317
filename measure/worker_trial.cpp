// A trial of a WorkerRunner from its Config to its outcome, and the comparison of several.
#include <fmt/format.h>

#include <chrono>

#include "measure/instruction_limit.h"
#include "measure/worker_runner.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/hash.h"

namespace warpwright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPrepareTimeout_s = 900;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Outcome outcome_of(OutcomeKind kind, std::string message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  return outcome;
}

/// Runs at the end of its scope.
template <typename Action>
class Guard {
 public:
  explicit Guard(Action action) : action_(std::move(action)) {}
  ~Guard() { action_(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Action action_;
};

}  // namespace

/// Whatever goes wrong is this trial's outcome, and costs no other.
Ended WorkerRunner::try_out(Work work, WorkerProcess& worker) {
  const Clock::time_point begin = Clock::now();
  double waited_s = 0;
  Ended ended;
  ended.ticket = work.ticket;
  TrialResult& result = ended.result;
  result.evidence = environment_.evidence;
  result.environment = environment();
  try {
    std::optional<CardPool::Place> place;
    if (compile_in_slot(work, worker, ended, place)) {
      result.outcome.kind = OutcomeKind::ok;  // until it is measured
      if (place) measure_on_card(*place, ended, waited_s);
      if (!is_card() && !work.only_compiled) measure_on_virtual_device(worker, ended);
    }
  } catch (const std::exception& error) {
    result.outcome = outcome_of(OutcomeKind::infrastructure, error.what());
  }
  if (!work.only_compiled) protocol::remove_binaries(ended.request.stem);
  result.seconds.wall = seconds_since(begin) - waited_s;
  return ended;
}

/// Ends the use of the slot. The place in the queue for a card is taken before: the next trial may be ready first.
bool WorkerRunner::compile_in_slot(const Work& work, WorkerProcess& worker, Ended& ended,
                                   std::optional<CardPool::Place>& place) {
  const Guard give_back([this] { give_slot_back(); });
  const bool is_compiled = compile(work.trial, worker, ended);
  if (is_compiled && is_card() && !work.only_compiled) place.emplace(cards_.line_up());
  return is_compiled;
}

/// Compiles and computes the expected output; false when the outcome is there already.
bool WorkerRunner::compile(const Trial& trial, WorkerProcess& worker, Ended& ended) {
  if (should_stop() || is_late()) {
    ended.result.outcome = outcome_of(OutcomeKind::interrupted, "interrupted before it began");
    return false;
  }
  if (auto reason = why_illegal(trial.workload, trial.config, target())) {
    ended.result.outcome = outcome_of(OutcomeKind::illegal, *std::move(reason));
    return false;
  }
  const Occupied working(*occupancy_, &Occupancy::change_slots);

  const KernelFamily& family = family_of(trial.config);
  protocol::MeasureRequest& request = ended.request;
  TrialResult& result = ended.result;
  request.prepared = {trial.workload, options_.seed, folder_.path()};
  request.config = trial.config;
  request.source = family.emit(trial.workload, trial.config, target());
  request.stem = folder_.path() / fmt::format("kernel-{}", stems_++);
  request.instruction_limit =
      instruction_limit(trial.workload, family.resources(trial.workload, trial.config, target()));
  request.device_jobs = device_jobs_;
  result.source_hash = sha256_hex(request.source.source);

  const Clock::time_point compile_begin = Clock::now();
  auto compiled = compile_in_worker(worker, {options_.nvrtc_path, target().arch(), request.source, request.stem},
                                    limits(options_.compile_timeout_s));
  result.seconds.compile = seconds_since(compile_begin);
  if (Outcome* outcome = std::get_if<Outcome>(&compiled)) {
    result.outcome = std::move(*outcome);
    return false;
  }
  result.kernel = std::get<CompiledKernel>(std::move(compiled));
  result.ptx_hash = sha256_hex(result.kernel.ptx);
  result.cubin_hash = sha256_hex(result.kernel.cubin);
  request.kernel = result.kernel;
  const Clock::time_point prepare_begin = Clock::now();
  if (auto outcome = prepare(request.prepared, worker)) {
    result.outcome = *std::move(outcome);
    return false;
  }
  result.seconds.verify = seconds_since(prepare_begin);
  return true;
}

/// Each case is computed once a run: lanes that need the same one wait here.
std::optional<Outcome> WorkerRunner::prepare(const protocol::PrepareRequest& request, WorkerProcess& worker) {
  std::unique_lock all(preparations_mutex_);
  Preparation& preparation = preparations_[key(request.workload)];
  all.unlock();
  const std::lock_guard lock(preparation.mutex);
  if (preparation.is_done) return std::nullopt;
  std::optional<Outcome> failure = prepare_in_worker(worker, request, limits(kPrepareTimeout_s));
  preparation.is_done = !failure;
  return failure;
}

void WorkerRunner::measure_on_virtual_device(WorkerProcess& worker, Ended& ended) {
  const Occupied working(*occupancy_, &Occupancy::change_slots);
  ended.request.device = options_.devices.front();
  note_answer(measure_in_worker(worker, ended.request, limits(options_.run_timeout_s)), ended.result);
}

/// A trial whose card is lost lines up for another one: as often as there are cards.
void WorkerRunner::measure_on_card(const CardPool::Place& place, Ended& ended, double& waited_s) {
  const Clock::time_point begin = Clock::now();
  auto lease = cards_.take(place, [this] { return should_stop() || is_late(); });
  waited_s += seconds_since(begin);
  if (!lease) {
    ended.result.outcome = should_stop() || is_late() ? outcome_of(OutcomeKind::interrupted, "interrupted")
                                                      : outcome_of(OutcomeKind::device_lost, "no device is left");
    return;
  }
  {
    const Occupied timing(*occupancy_, &Occupancy::change_cards);
    ended.request.device = lease->card().device;
    ended.result.environment = lease->card().environment;
    try {
      note_answer(measure_in_worker(*lease->card().worker, ended.request, limits(options_.run_timeout_s)),
                  ended.result);
    } catch (const EnvironmentError& error) {  // the card does not open
      ended.result.outcome = outcome_of(OutcomeKind::device_lost, error.what());
    }
  }
  if (!cards_.is_lost(lease->card(), ended.result.outcome)) return;
  lease.reset();
  measure_on_card(cards_.line_up(), ended, waited_s);
}

void WorkerRunner::note_answer(protocol::MeasureAnswer answer, TrialResult& result) const {
  result.outcome = std::move(answer.outcome);
  result.seconds.verify += answer.verify_s;
  result.seconds.run += answer.run_s;
  result.warm_samples_us = std::move(answer.warm_samples_us);
  result.clocks = std::move(answer.clocks);
}

std::vector<TrialResult> WorkerRunner::interleave(const Workload& workload, const std::vector<Config>& configs,
                                                  const IsDecided& is_decided) {
  for (size_t i = 0; i < configs.size(); ++i) submit({i, {workload, configs[i]}, true});
  std::vector<Ended> all(configs.size());
  for (size_t i = 0; i < configs.size(); ++i) {
    Ended ended = wait_for_end();
    const auto index = static_cast<size_t>(ended.ticket);
    all[index] = std::move(ended);
  }
  std::vector<std::vector<double>> rounds_us(configs.size());
  for (size_t round = 0; measure_round(all, round, rounds_us); ++round) {
    if (is_decided(rounds_us)) break;
  }
  std::vector<TrialResult> results;
  for (size_t i = 0; i < all.size(); ++i) {
    protocol::remove_binaries(all[i].request.stem);
    all[i].result.outcome.samples_us = rounds_us[i];
    results.push_back(std::move(all[i].result));
  }
  return results;
}

/// Each Config that still takes part once, another one first in each round; false when no round was made.
bool WorkerRunner::measure_round(std::vector<Ended>& all, size_t round, std::vector<std::vector<double>>& rounds_us) {
  size_t measured = 0;
  for (size_t turn = 0; turn < all.size(); ++turn) {
    const size_t index = (turn + round) % all.size();
    Ended& each = all[index];
    if (!each.result.outcome.ok()) continue;
    const auto lease = cards_.take_first([this] { return should_stop(); });
    if (!lease || should_stop()) return false;
    const Occupied timing(*occupancy_, &Occupancy::change_cards);
    each.request.device = lease->card().device;
    try {
      note_answer(measure_in_worker(*lease->card().worker, each.request, limits(options_.run_timeout_s)), each.result);
    } catch (const std::exception& error) {
      each.result.outcome = outcome_of(OutcomeKind::infrastructure, error.what());
    }
    if (each.result.outcome.kind == OutcomeKind::interrupted) return false;
    if (each.result.outcome.ok()) {
      rounds_us[index].push_back(each.result.outcome.median_us());
      ++measured;
    } else {
      rounds_us[index].clear();
    }
  }
  return measured > 0;
}

}  // namespace warpwright
