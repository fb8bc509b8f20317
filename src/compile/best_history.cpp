// The way down from exact to default.
#include "src/compile/best_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cost_model/cost_model.h"
#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/compile/record_ranking.h"
#include "src/core/error.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr int kMostNear = 8;        // like shapes that are looked at
constexpr size_t kMostReasons = 6;  // of refused records in a text

struct Attempt {
  Rung rung;
  Evidence evidence;
};

std::vector<Attempt> attempts(EvidencePolicy policy, Evidence own) {
  constexpr Rung kRungs[] = {Rung::exact, Rung::arch, Rung::near, Rung::stale};
  const Evidence other = own == Evidence::silicon ? Evidence::virtual_device : Evidence::silicon;
  std::vector<Attempt> list;
  switch (policy) {
    case EvidencePolicy::silicon:
      for (const Rung rung : kRungs) list.push_back({rung, Evidence::silicon});
      return list;
    case EvidencePolicy::any:
      for (const Rung rung : kRungs) list.insert(list.end(), {{rung, own}, {rung, other}});
      return list;
    case EvidencePolicy::prefer:
      for (const Evidence evidence : {own, other}) {
        for (const Rung rung : kRungs) list.push_back({rung, evidence});
      }
      return list;
  }
  throw InternalError("unknown evidence policy");
}

/// The lesser value; of equals the first by the text of the Config, so that every file order gives the same.
class Least {
 public:
  void offer(const Candidate& candidate, double value) {
    const bool is_less = !best_ || value < value_ || (value == value_ && key(candidate.config) < key(best_->config));
    if (!is_less) return;
    best_ = &candidate;
    value_ = value;
  }
  const Candidate* best() const { return best_; }

 private:
  const Candidate* best_ = nullptr;
  double value_ = 0;
};

using Candidates = std::vector<const Candidate*>;

Candidates on_card(const std::vector<Candidate>& candidates, Card card, Evidence evidence) {
  Candidates chosen;
  for (const Candidate& candidate : candidates) {
    if (candidate.card == card && candidate.record.evidence == evidence) chosen.push_back(&candidate);
  }
  return chosen;
}

/// The fastest of those that beat their default. What was not measured in turn gives way to a winner that was, unless
/// it is faster at its worst.
const Candidate* fastest_winner(const Candidates& candidates) {
  Least winners, others;
  for (const Candidate* candidate : candidates) {
    if (candidate->won) winners.offer(*candidate, candidate->relative_time);
    if (!candidate->was_final && candidate->standing == Standing::faster) {
      others.offer(*candidate, candidate->relative_time);
    }
  }
  const Candidate *winner = winners.best(), *other = others.best();
  if (winner == nullptr || other == nullptr) return winner != nullptr ? winner : other;
  return other->relative_high < winner->relative_time ? other : winner;
}

const Candidate* fastest_with(const Candidates& candidates, Standing standing) {
  Least least;
  for (const Candidate* candidate : candidates) {
    if (candidate->standing == standing) least.offer(*candidate, candidate->relative_time);
  }
  return least.best();
}

/// That the default stands, and by how little it was missed.
std::string why_default_won(const Candidates& candidates) {
  const Candidate* closest = fastest_with(candidates, Standing::not_faster);
  if (closest == nullptr) return {};
  return fmt::format("no Config beats the default beyond noise, the closest takes {:.2f} of its time{}",
                     closest->relative_time, closest->was_final ? " measured in turn" : "");
}

}  // namespace

/// One task on its way down. Looks are taken when a rung asks for them, once for both kinds of evidence.
class BestHistory::Climb {
 public:
  Climb(const BestHistory& history, const Task& task)
      : database_(*history.database_), target_(history.target_.target), task_(task), times_(task_.workload, target_) {}

  /// What serves on that rung, if anything.
  const Candidate* best(const Attempt& attempt) {
    switch (attempt.rung) {
      case Rung::exact:
        return exact(attempt.evidence);
      case Rung::arch:
        return promising(on_card(found().candidates, Card::same_arch, attempt.evidence), "of other cards");
      case Rung::near:
        return near(attempt.evidence);
      case Rung::stale:
        return stale(attempt.evidence);
      case Rung::default_config:
        break;
    }
    throw InternalError("the default has no candidates");
  }

  const Found& found() {
    if (!found_) found_ = look_up(database_, lookup(task_.key, task_.workload, false));
    return *found_;
  }

  /// Reasons from all looks so far.
  std::map<std::string, int64_t> refused() {
    std::map<std::string, int64_t> sum = found().refused;
    const auto add = [&](const Found& more, const std::string& where) {
      for (const auto& [why, count] : more.refused) sum[where + why] += count;
    };
    if (near_) {
      for (const Found& each : *near_) add(each, "of a like shape: ");
    }
    if (stale_) add(*stale_, "of an older space version: ");
    return sum;
  }

  int64_t virtual_configs() {
    const auto is_virtual = [](const Candidate& candidate) {
      return candidate.record.evidence == Evidence::virtual_device;
    };
    return std::count_if(found().candidates.begin(), found().candidates.end(), is_virtual);
  }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Lookup lookup(const std::string& workload_key, const Workload& workload, bool is_stale) const {
    return {workload_key, workload, task_.key, task_.workload, target_, is_stale};
  }

  const Candidate* exact(Evidence evidence) {
    const Candidates candidates = on_card(found().candidates, Card::same, evidence);
    if (const Candidate* winner = fastest_winner(candidates)) return winner;
    if (const Candidate* of_default = fastest_with(candidates, Standing::is_default)) {
      note(why_default_won(candidates));
      return of_default;
    }
    const Candidate* alone = fastest_with(candidates, Standing::no_default);
    if (alone != nullptr) note("measured without a default beside it");
    if (alone == nullptr) note(why_default_won(candidates));
    return alone;
  }

  /// By estimate for this card and shape: the best of those that beat their default where they were measured, and are
  /// expected to beat it here. The default itself counts where it was measured.
  const Candidate* promising(const Candidates& candidates, std::string_view whose) {
    if (candidates.empty()) return nullptr;
    const double default_us = analytic_us(task_.workload, default_config(), target_);
    Least least;
    for (const Candidate* candidate : candidates) {
      const double us = times_.us(*candidate);
      const bool is_default = candidate->standing == Standing::is_default && candidate->config == default_config();
      const bool may_gain = candidate->standing == Standing::faster || candidate->standing == Standing::no_default;
      if (is_default || (may_gain && us < default_us)) least.offer(*candidate, us);
    }
    if (least.best() == nullptr) note(fmt::format("no Config {} is expected to beat the default here", whose));
    return least.best();
  }

  const Candidate* near(Evidence evidence) {
    if (!near_) look_near();
    for (const Card card : {Card::same, Card::same_arch}) {
      for (const Found& each : *near_) {
        const Candidate* best = promising(on_card(each.candidates, card, evidence), "of like shapes");
        if (best != nullptr) return best;
      }
    }
    return nullptr;
  }

  void look_near() {
    near_.emplace();
    for (const StoredWorkload& stored : database_.near(to_json(task_.workload).dump(), kMostNear)) {
      try {
        const Workload workload = workload_from_json(parse_json(stored.json));
        check(workload);
        if (key(workload) == stored.key) near_->push_back(look_up(database_, lookup(stored.key, workload, false)));
      } catch (const Error&) {
        continue;  // a Workload of another program: no like shape
      }
    }
  }

  const Candidate* stale(Evidence evidence) {
    if (!stale_) stale_ = look_up(database_, lookup(task_.key, task_.workload, true));
    if (const Candidate* winner = fastest_winner(on_card(stale_->candidates, Card::same, evidence))) return winner;
    return promising(on_card(stale_->candidates, Card::same_arch, evidence), "of an older space version");
  }

  const Config& default_config() {
    if (!default_config_) default_config_ = warpwright::default_config(task_.workload, target_);
    return *default_config_;
  }

  void note(std::string text) {
    if (!text.empty() && std::find(notes_.begin(), notes_.end(), text) == notes_.end())
      notes_.push_back(std::move(text));
  }

  const Database& database_;
  const Target& target_;
  const Task& task_;
  TransferredTimes times_;
  std::optional<Config> default_config_;
  std::optional<Found> found_, stale_;
  std::optional<std::vector<Found>> near_;
  std::vector<std::string> notes_;
};

namespace {

void take(Choice& choice, const Candidate& candidate, const Database& database) {
  const Record& record = candidate.record;
  choice.config = candidate.config;
  choice.evidence = record.evidence;
  choice.measured_on = record.device_name;
  choice.environment = record.environment;
  choice.record_key = record.content_key;
  choice.measured = {record.source_hash, record.ptx_hash, record.cubin_hash};
  choice.best_us = record.outcome.median_us();
  choice.default_us = candidate.default_us;
  choice.trials = database.effort(record.workload_key, record.device_name);
  if (choice.rung == Rung::near) choice.measured_workload = candidate.measured_workload.summary();
}

/// Why there is nothing better than the choice.
std::string explain(const Choice& choice, bool has_records, const BuildTarget& target,
                    const std::vector<std::string>& notes) {
  const Evidence own = target.is_virtual ? Evidence::virtual_device : Evidence::silicon;
  const bool is_best = choice.rung == Rung::exact && choice.evidence == own;
  std::vector<std::string> parts;
  if (!has_records) {
    parts.emplace_back("no record of this task");
  } else if (choice.rung != Rung::exact) {
    parts.push_back(fmt::format("no usable record of {}", target.target.device_name));
  }
  if (choice.evidence && choice.evidence != own) parts.push_back(fmt::format("no usable {} record", name(own)));
  parts.insert(parts.end(), notes.begin(), notes.end());
  if (is_best) return fmt::format("{}", fmt::join(parts, "; "));
  size_t told = 0;
  for (const auto& [reason, count] : choice.refused) {
    if (++told > kMostReasons) break;
    parts.push_back(fmt::format("{} refused ({})", count, reason));
  }
  if (told > kMostReasons) parts.push_back(fmt::format("{} more reasons", choice.refused.size() - kMostReasons));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

BestHistory::BestHistory(const Database* database, BuildTarget target, EvidencePolicy policy)
    : database_(database), target_(std::move(target)), policy_(policy) {}

Choice BestHistory::choose(const Task& task) const {
  Choice choice;
  if (database_ == nullptr) {
    choice.config = default_config(task.workload, target_.target);
    choice.why = "no database is given";
    return choice;
  }
  Climb climb(*this, task);
  const Candidate* best = nullptr;
  for (const Attempt& attempt : attempts(policy_, target_.is_virtual ? Evidence::virtual_device : Evidence::silicon)) {
    best = climb.best(attempt);
    if (best == nullptr) continue;
    choice.rung = attempt.rung;
    break;
  }
  if (best != nullptr) {
    take(choice, *best, *database_);
  } else {
    choice.config = default_config(task.workload, target_.target);
  }
  choice.refused = climb.refused();
  const int64_t not_silicon = policy_ == EvidencePolicy::silicon ? climb.virtual_configs() : 0;
  if (not_silicon > 0) choice.refused["virtual evidence, silicon is asked for"] = not_silicon;
  choice.why = explain(choice, climb.found().has_records, target_, climb.notes());
  return choice;
}

bool is_hit(const Choice& choice, Rung least, const BuildTarget& target, EvidencePolicy policy) {
  if (choice.rung == Rung::default_config || choice.rung > least) return false;
  if (policy == EvidencePolicy::any) return true;
  return choice.evidence == Evidence::silicon || (target.is_virtual && policy == EvidencePolicy::prefer);
}

}  // namespace warpwright
