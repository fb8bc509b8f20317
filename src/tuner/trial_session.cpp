// Replay, measure, retry, commit.
#include "src/tuner/trial_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.h"
#include "src/core/log.h"
#include "src/tuner/contested.h"

namespace warpwright {
namespace {

constexpr int kAttempts = 3;  // at a trial with a transient outcome
constexpr int kMostTransientInARow = 16;
constexpr double kLongestTime_us = 1e9;  // no run timeout lets a launch live so long
constexpr size_t kMostMessageBytes = 4096;

bool is_of(const Record& record, const Proposal& proposal) {
  return record.workload_key == proposal.task->key && record.config_json == key(proposal.config);
}

/// A time that cannot be one is the device's fault, not the Config's.
void refuse_bad_times(Outcome& outcome) {
  if (!outcome.ok()) {
    outcome.samples_us.clear();
    return;
  }
  const auto is_bad = [](double us) { return !std::isfinite(us) || us <= 0 || us > kLongestTime_us; };
  if (!outcome.samples_us.empty() && std::none_of(outcome.samples_us.begin(), outcome.samples_us.end(), is_bad)) return;
  outcome = Outcome{OutcomeKind::infrastructure, "the device gave a time that cannot be one", "", {}, ""};
}

Json conditions_json(const CardClocks& clocks) {
  if (clocks == CardClocks{}) return {};
  return {{"sm_mhz", clocks.sm_mhz}, {"memory_mhz", clocks.memory_mhz}, {"throttled_by", clocks.throttled_by}};
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
  record.outcome.message.resize(std::min(record.outcome.message.size(), kMostMessageBytes));
  record.warm_samples_us = result.warm_samples_us;
  record.conditions = conditions_json(result.clocks);
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
                           TrialEnded ended, Repeated repeated)
    : runner_(&runner),
      database_(&database),
      run_id_(run.id),
      stop_(stop),
      ended_(std::move(ended)),
      repeated_(std::move(repeated)) {
  for (Record& record : database.run_records(run.id)) {
    if (is_transient(record.outcome.kind)) continue;  // tried again, under the same index
    const std::pair identity(record.workload_key, record.config_json);
    index_of_.emplace(identity, record.trial_index);
    if (record.objective == kFinalObjective) {
      finals_[identity] = record.outcome.samples_us;
    } else {
      recorded_.emplace(record.trial_index, std::move(record));
    }
  }
}

TrialSession::~TrialSession() {
  if (!open_.empty()) runner_->cancel();
}

bool TrialSession::has_recorded(const std::string& workload_key, const std::string& config_json) const {
  return index_of_.contains({workload_key, config_json});
}

void TrialSession::submit(std::vector<Proposal> proposals) {
  if (!leads_on(proposals)) strand_the_rest();
  Batch& batch = batches_.emplace_back();
  for (Proposal& proposal : proposals) {
    Slot& slot = batch.emplace_back();
    slot.proposal = std::move(proposal);
    slot.trial_index = next_index_++;
    slot.outcome = recall(slot.proposal, slot.trial_index);
    if (slot.outcome || !may_begin(slot.proposal)) continue;
    ++waiting_;
    ++counts_[slot.proposal.task->key].waiting;
    start(slot);
  }
}

bool TrialSession::may_begin(const Proposal& proposal) const {
  return (!most_trials_ || proposed() < *most_trials_) &&
         (!most_of_workload_ || proposed_of(proposal.task->key) < *most_of_workload_);
}

int64_t TrialSession::trials_of(const std::string& workload_key) const {
  const auto found = counts_.find(workload_key);
  return found == counts_.end() ? 0 : found->second.trials;
}

int64_t TrialSession::proposed_of(const std::string& workload_key) const {
  const auto found = counts_.find(workload_key);
  return found == counts_.end() ? 0 : found->second.trials + found->second.waiting;
}

std::vector<MeasuredProposal> TrialSession::collect() {
  Batch& batch = batches_.front();
  while (std::any_of(batch.begin(), batch.end(), [](const Slot& slot) { return slot.is_open; })) wait_for_one();
  std::vector<MeasuredProposal> measured;
  for (Slot& slot : batch) measured.push_back({std::move(slot.proposal), std::move(slot.outcome)});
  batches_.pop_front();
  return measured;
}

void TrialSession::repeat(const Proposal& proposal) {
  const auto found = index_of_.find({proposal.task->key, key(proposal.config)});
  if (found == index_of_.end()) return;
  Slot& slot = repeats_.emplace_back();
  slot.proposal = proposal;
  slot.trial_index = found->second;
  slot.is_repeat = true;
  start(slot);
}

void TrialSession::finish_repeats() {
  while (!open_.empty()) wait_for_one();
}

void TrialSession::record_final(const Proposal& proposal, const TrialResult& result) {
  const auto found = index_of_.find({proposal.task->key, key(proposal.config)});
  if (found != index_of_.end()) commit(proposal, found->second, result, kFinalObjective);
}

std::vector<double> TrialSession::recorded_final(const Proposal& proposal) const {
  const auto found = finals_.find({proposal.task->key, key(proposal.config)});
  return found == finals_.end() ? std::vector<double>() : found->second;
}

void TrialSession::start(Slot& slot) {
  slot.is_open = true;
  ++slot.attempts;
  open_.emplace(tickets_, &slot);
  runner_->submit(tickets_++, {slot.proposal.task->workload, slot.proposal.config});
}

void TrialSession::wait_for_one() {
  FinishedTrial finished = runner_->next();
  const auto found = open_.find(finished.ticket);
  Slot& slot = *found->second;
  open_.erase(found);
  slot.is_open = false;
  if (!settle(slot, std::move(finished.result))) start(slot);
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
    ++counts_[record.workload_key].trials;
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
    ++counts_[proposal.task->key].trials;
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

bool TrialSession::settle(Slot& slot, TrialResult result) {
  seconds_.compile += result.seconds.compile;
  seconds_.verify += result.seconds.verify;
  seconds_.run += result.seconds.run;
  seconds_.wall += result.seconds.wall;
  refuse_bad_times(result.outcome);
  if (slot.is_repeat) {  // its Config is known already: only times that it ran again are worth keeping
    if (!result.outcome.ok()) return true;
    commit(slot.proposal, slot.trial_index, result, kTrialObjective);
    repeated_(slot.proposal, result.outcome.median_us());
    return true;
  }
  Count& count = counts_[slot.proposal.task->key];
  if (result.outcome.kind == OutcomeKind::interrupted && (should_stop() || is_late())) {
    --waiting_;
    --count.waiting;
    return true;  // no trial: the next sitting makes it
  }
  if (is_transient(result.outcome.kind)) {
    if (slot.attempts < kAttempts && !should_stop()) return false;
    note_transient(result.outcome);
  } else {
    transient_in_a_row_ = 0;
  }
  const bool counts = commit(slot.proposal, slot.trial_index, result, kTrialObjective);
  --waiting_;
  --count.waiting;
  ++measured_;
  if (!counts) {
    ++retracted_;
    return true;
  }
  ++trials_;
  ++count.trials;
  slot.outcome = std::move(result.outcome);
  ended_(slot.proposal, *slot.outcome);
  return true;
}

void TrialSession::note_transient(const Outcome& outcome) {
  if (++transient_in_a_row_ < kMostTransientInARow) return;
  throw EnvironmentError(
      fmt::format("{} trials in a row failed for reasons that are not the kernels' own; the last: {}: {}. What was "
                  "measured is kept, and the same command goes on from there.",
                  transient_in_a_row_, name(outcome.kind), outcome.message));
}

void TrialSession::begin_nothing_after(std::optional<std::chrono::steady_clock::time_point> deadline) {
  deadline_ = deadline;
  runner_->begin_nothing_after(deadline);
}

bool TrialSession::commit(const Proposal& proposal, int64_t trial_index, const TrialResult& result,
                          const std::string& objective) {
  Record record = record_of(proposal, result, *runner_);
  record.objective = objective;
  record.run_id = run_id_;
  record.trial_index = trial_index;
  index_of_.emplace(std::pair(record.workload_key, record.config_json), trial_index);
  const std::string content_key = database_->add(record);
  if (database_->is_retracted(content_key)) return false;
  if (record.outcome.ok()) clear_objections(*database_, record, content_key);
  return true;
}

}  // namespace warpwright
