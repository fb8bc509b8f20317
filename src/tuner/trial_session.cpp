// Replay, measure, retry, commit.
#include "src/tuner/trial_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/core/error.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

constexpr int kRetries = 2;  // of a trial with a transient outcome
constexpr int kMostTransientInARow = 16;

bool is_of(const Record& record, const Proposal& proposal) {
  return record.workload_key == proposal.task->key && record.config_json == key(proposal.config);
}

/// A time that is no positive number is the device's fault, not the Config's.
void refuse_bad_times(Outcome& outcome) {
  if (!outcome.ok()) {
    outcome.samples_us.clear();
    return;
  }
  const auto is_bad = [](double us) { return !std::isfinite(us) || us <= 0; };
  if (!outcome.samples_us.empty() && std::none_of(outcome.samples_us.begin(), outcome.samples_us.end(), is_bad)) return;
  outcome = Outcome{OutcomeKind::infrastructure, "the device gave a time that is no positive number", "", {}, ""};
}

Record record_of(const Proposal& proposal, const TrialResult& result, const Runner& runner) {
  Record record;
  record.workload_key = proposal.task->key;
  record.workload_json = to_json(proposal.task->workload).dump();
  record.config_json = key(proposal.config);
  record.device_name = runner.device_name();
  record.target_key = key(runner.target());
  record.target_json = to_json(runner.target()).dump();
  record.arch = runner.target().arch();
  record.evidence = result.evidence;
  record.environment = result.environment;
  record.outcome = result.outcome;
  record.source_hash = result.source_hash;
  record.ptx_hash = result.ptx_hash;
  record.cubin_hash = result.cubin_hash;
  record.registers = result.kernel.registers;
  record.spill_bytes = result.kernel.spill_store_bytes + result.kernel.spill_load_bytes;
  record.smem_bytes = result.kernel.static_smem_bytes;
  record.compile_seconds = result.seconds.compile;
  record.verify_seconds = result.seconds.verify;
  record.run_seconds = result.seconds.run;
  record.is_default = proposal.is_default;
  return record;
}

}  // namespace

TrialSession::TrialSession(Runner& runner, Database& database, const RunInfo& run, const std::atomic<bool>* stop,
                           TrialEnded ended)
    : runner_(&runner), database_(&database), run_id_(run.id), stop_(stop), ended_(std::move(ended)) {
  for (Record& record : database.run_records(run.id)) {
    if (is_transient(record.outcome.kind)) continue;  // tried again, under the same index
    recorded_keys_.emplace(record.workload_key, record.config_json);
    recorded_.emplace(record.trial_index, std::move(record));
  }
}

bool TrialSession::has_recorded(const std::string& workload_key, const std::string& config_json) const {
  return recorded_keys_.contains({workload_key, config_json});
}

std::vector<std::optional<Outcome>> TrialSession::measure(const std::vector<Proposal>& batch) {
  if (!leads_on(batch)) strand_the_rest();
  std::vector<Slot> slots(batch.size());
  std::vector<Slot*> open;
  for (size_t i = 0; i < batch.size(); ++i) {
    slots[i] = {&batch[i], next_index_++, std::nullopt};
    slots[i].outcome = recall(batch[i], slots[i].trial_index);
    if (!slots[i].outcome) open.push_back(&slots[i]);
  }
  run(open);
  std::vector<std::optional<Outcome>> outcomes;
  for (Slot& slot : slots) outcomes.push_back(std::move(slot.outcome));
  return outcomes;
}

/// Whether the records of earlier sittings are those of this batch, as far as they go.
bool TrialSession::leads_on(const std::vector<Proposal>& batch) const {
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto found = recorded_.find(next_index_ + static_cast<int64_t>(i));
    if (found != recorded_.end() && !is_of(found->second, batch[i])) return false;
  }
  return true;
}

void TrialSession::strand_the_rest() {
  log_info("the run goes on from what the database holds now: {} trials of earlier sittings are kept as they are",
           recorded_.size());
  for (auto& [index, record] : recorded_) {
    next_index_ = std::max(next_index_, index + 1);
    ++trials_;
    stranded_.push_back(std::move(record));
  }
  recorded_.clear();
}

std::vector<Record> TrialSession::take_stranded() { return std::exchange(stranded_, {}); }

std::optional<Outcome> TrialSession::recall(const Proposal& proposal, int64_t trial_index) {
  if (const auto found = recorded_.find(trial_index); found != recorded_.end()) {
    Outcome outcome = std::move(found->second.outcome);
    recorded_.erase(found);
    ++trials_;
    ended_(proposal, outcome);
    return outcome;
  }
  const auto stranded =
      std::find_if(stranded_.begin(), stranded_.end(), [&](const Record& record) { return is_of(record, proposal); });
  if (stranded == stranded_.end()) return std::nullopt;
  Outcome outcome = std::move(stranded->outcome);
  stranded_.erase(stranded);
  ended_(proposal, outcome);
  return outcome;
}

void TrialSession::run(const std::vector<Slot*>& open) {
  std::vector<Slot*> left = open;
  for (int attempt = 0; attempt <= kRetries && !left.empty() && !should_stop(); ++attempt) {
    std::vector<Trial> trials;
    for (const Slot* slot : left) trials.push_back({slot->proposal->task->workload, slot->proposal->config});
    std::vector<bool> again(left.size(), false);
    const auto start = std::chrono::steady_clock::now();
    runner_->run(trials, [&](size_t i, const TrialResult& result) {
      again[i] = !settle(*left[i], result, attempt == kRetries);
    });
    runner_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::vector<Slot*> next;
    for (size_t i = 0; i < left.size(); ++i) {
      if (again[i]) next.push_back(left[i]);
    }
    left = std::move(next);
  }
}

bool TrialSession::settle(Slot& slot, TrialResult result, bool is_last_attempt) {
  seconds_.compile += result.seconds.compile;
  seconds_.verify += result.seconds.verify;
  seconds_.run += result.seconds.run;
  seconds_.wall += result.seconds.wall;
  refuse_bad_times(result.outcome);
  const bool interrupted = result.outcome.kind == OutcomeKind::interrupted;
  if (interrupted && should_stop()) return true;  // no trial: the next sitting makes it
  if (is_transient(result.outcome.kind)) {
    if (!is_last_attempt && !should_stop()) return false;
    if (++transient_in_a_row_ >= kMostTransientInARow) {
      throw EnvironmentError(
          fmt::format("{} trials in a row failed for reasons that are not the kernels' own; the last: "
                      "{}: {}",
                      transient_in_a_row_, name(result.outcome.kind), result.outcome.message));
    }
  } else {
    transient_in_a_row_ = 0;
  }
  commit(slot, result);
  ++trials_;
  slot.outcome = std::move(result.outcome);
  ended_(*slot.proposal, *slot.outcome);
  return true;
}

void TrialSession::commit(const Slot& slot, const TrialResult& result) {
  Record record = record_of(*slot.proposal, result, *runner_);
  record.run_id = run_id_;
  record.trial_index = slot.trial_index;
  database_->add(record);
}

}  // namespace warpwright
