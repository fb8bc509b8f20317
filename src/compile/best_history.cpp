// The way down from exact to default.
#include "src/compile/best_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/compile/record_ranking.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

/// The best candidate on `rung` with that kind of evidence (any kind when none is given).
const Candidate* best_on(Rung rung, std::optional<Evidence> evidence, const std::vector<Candidate>& candidates,
                         const Workload& workload, const Target& target) {
  const Candidate* best = nullptr;
  double best_value = 0;
  for (const Candidate& candidate : candidates) {
    if ((candidate.card == Card::same) != (rung == Rung::exact)) continue;
    if (evidence && candidate.record->evidence != *evidence) continue;
    const double value = rung == Rung::exact ? candidate.relative_time : transferred_us(workload, candidate, target);
    const bool better =
        !best || value < best_value || (value == best_value && key(candidate.config) < key(best->config));
    if (!better) continue;
    best = &candidate;
    best_value = value;
  }
  return best;
}

struct Attempt {
  Rung rung;
  std::optional<Evidence> evidence;
};

std::vector<Attempt> attempts(EvidencePolicy policy, bool is_virtual) {
  const Evidence own = is_virtual ? Evidence::virtual_device : Evidence::silicon;
  const Evidence other = is_virtual ? Evidence::silicon : Evidence::virtual_device;
  switch (policy) {
    case EvidencePolicy::silicon:
      return {{Rung::exact, Evidence::silicon}, {Rung::arch, Evidence::silicon}};
    case EvidencePolicy::any:
      return {{Rung::exact, own}, {Rung::exact, other}, {Rung::arch, own}, {Rung::arch, other}};
    case EvidencePolicy::prefer:
      return {{Rung::exact, own}, {Rung::arch, own}, {Rung::exact, other}, {Rung::arch, other}};
  }
  throw InternalError("unknown evidence policy");
}

/// Why there is nothing better than the choice.
std::string explain(const Choice& choice, const Database* database, size_t records, const BuildTarget& target) {
  if (!database) return "no database is given";
  const Evidence own = target.is_virtual ? Evidence::virtual_device : Evidence::silicon;
  std::vector<std::string> parts;
  if (records == 0) {
    parts.push_back("no record of this task");
  } else if (choice.rung != Rung::exact) {
    parts.push_back(fmt::format("no usable record of {}", target.target.device_name));
  } else if (choice.evidence != own) {
    parts.push_back(fmt::format("no usable {} record", name(own)));
  }
  for (const auto& [reason, count] : choice.refused) parts.push_back(fmt::format("{} refused ({})", count, reason));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

BestHistory::BestHistory(const Database* database, BuildTarget target, EvidencePolicy policy)
    : database_(database), target_(std::move(target)), policy_(policy) {}

Choice BestHistory::choose(const Task& task) const {
  const std::vector<Record> records = database_ ? database_->records(task.key) : std::vector<Record>();
  Usable usable = usable_records(task.workload, records, target_.target);
  Choice choice;
  choice.refused = std::move(usable.refused);
  if (policy_ == EvidencePolicy::silicon) {
    const auto is_virtual = [](const Candidate& c) { return c.record->evidence == Evidence::virtual_device; };
    const auto count = std::erase_if(usable.candidates, is_virtual);
    if (count > 0) choice.refused["virtual evidence, silicon is asked for"] += static_cast<int64_t>(count);
  }
  const Candidate* best = nullptr;
  for (const Attempt& attempt : attempts(policy_, target_.is_virtual)) {
    best = best_on(attempt.rung, attempt.evidence, usable.candidates, task.workload, target_.target);
    if (!best) continue;
    choice.rung = attempt.rung;
    break;
  }
  if (!best) {
    choice.config = default_config(task.workload, target_.target);
    choice.why = explain(choice, database_, records.size(), target_);
    return choice;
  }
  const Record& record = *best->record;
  choice.config = best->config;
  choice.evidence = record.evidence;
  choice.measured_on = record.device_name;
  choice.environment = record.environment;
  choice.record_key = record.content_key;
  choice.measured = {record.source_hash, record.ptx_hash, record.cubin_hash};
  choice.best_us = record.outcome.median_us();
  choice.default_us = best->default_us;
  choice.trials = std::count_if(records.begin(), records.end(), [&](const Record& other) {
    return other.device_name == record.device_name && other.evidence == record.evidence;
  });
  const Evidence own = target_.is_virtual ? Evidence::virtual_device : Evidence::silicon;
  if (choice.rung != Rung::exact || choice.evidence != own)
    choice.why = explain(choice, database_, records.size(), target_);
  return choice;
}

bool is_hit(const Choice& choice, Rung least, const BuildTarget& target, EvidencePolicy policy) {
  if (choice.rung == Rung::default_config || choice.rung > least) return false;
  if (policy == EvidencePolicy::any) return true;
  return choice.evidence == Evidence::silicon || (target.is_virtual && policy == EvidencePolicy::prefer);
}

}  // namespace warpwright
