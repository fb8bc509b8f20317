// Validation of records, and their times against the default's.
#include "src/compile/record_ranking.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "cost_model/cost_model.h"
#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/verdict.h"

namespace warpwright {
namespace {

constexpr size_t kMostConfigs = 16;  // of a card and space version, the fastest

template <typename Parse>
auto parsed(const std::string& text, const Parse& parse) -> std::optional<decltype(parse(Json()))> {
  try {
    return parse(parse_json(text));
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// A Config that may serve, on the card of its group.
struct Entry {
  Config config;            // as today's space has it
  std::string config_json;  // as it is recorded
  StoredDevice device;
  Target measured_target;
};

bool is_same_card(const StoredDevice& device, const Target& measured, const Target& target) {
  return device.target_key == key(target) || (measured.device_name == target.device_name &&
                                              measured.arch() == target.arch() && measured.sm_count == target.sm_count);
}

bool is_of(const Record& record, const StoredDevice& device) {
  return record.device_name == device.name && record.target_key == device.target_key;
}

/// Goes through the groups of a task for Configs that may serve.
class Gathering {
 public:
  Gathering(const Database& database, const Lookup& lookup) : database_(database), lookup_(lookup) {}

  void gather() {
    for (const RecordGroup& group : database_.groups(lookup_.workload_key)) {
      has_records_ = true;
      if (const auto measured = target_of(group)) gather_from(group, *measured);
    }
  }

  const std::vector<Entry>& entries() const { return entries_; }
  const std::map<std::string, int64_t>& refused() const { return refused_; }
  bool has_records() const { return has_records_; }

 private:
  void refuse(const std::string& why, int64_t count = 1) {
    if (count > 0) refused_[why] += count;
  }

  void refuse_group(const RecordGroup& group, const std::string& why) {
    int64_t count = 0;
    for (const auto& [outcome, of_outcome] : database_.outcomes(group)) count += of_outcome;
    refuse(why, count);
  }

  /// The card of a group that may serve; counts those that may not.
  std::optional<Target> target_of(const RecordGroup& group) {
    const bool is_first_look = !lookup_.is_stale;
    const auto refuse_once = [&](const std::string& why) {
      if (is_first_look) refuse_group(group, why);
      return std::nullopt;
    };
    if (group.device.arch != lookup_.target.arch()) return refuse_once("another architecture: " + group.device.arch);
    auto measured = parsed(group.device.target_json, target_from_json);
    if (!measured) return refuse_once("damaged record: its Target cannot be read");
    const size_t slash = group.space.rfind('/');
    int version = 0;
    if (slash == std::string::npos) return refuse_once("damaged record: its Config has no space version");
    std::from_chars(group.space.data() + slash + 1, group.space.data() + group.space.size(), version);
    const KernelFamily* family = family_named(group.space.substr(0, slash));
    if (family == nullptr) return refuse_once("unknown family: " + group.space.substr(0, slash));
    const int today = family->space_version();
    if (lookup_.is_stale) return version < today ? measured : std::nullopt;
    if (version != today) return refuse_once(fmt::format("space version {}, today's is {}", version, today));
    return measured;
  }

  void gather_from(const RecordGroup& group, const Target& measured) {
    std::set<std::string> seen;
    size_t taken = 0;
    const std::unique_ptr<RecordStream> stream = database_.fastest(group);
    std::set<std::string> runs;
    while (taken < kMostConfigs) {
      const std::optional<Record> record = stream->next();
      if (!record) break;
      runs.insert(record->run_uid);
      if (seen.insert(record->config_json).second) taken += take(record->config_json, group, measured);
    }
    for (const auto& [why, count] : stream->damaged()) refuse("damaged record: " + why, count);
    for (const std::string& run : runs) {
      for (const Record& record : database_.defaults(lookup_.workload_key, run)) {
        const bool is_new = is_of(record, group.device) && seen.insert(record.config_json).second;
        if (is_new) take(record.config_json, group, measured);
      }
    }
    if (lookup_.is_stale) return;
    for (const auto& [outcome, count] : database_.outcomes(group)) {
      if (outcome != name(OutcomeKind::ok)) refuse(failure_text(outcome), count);
    }
  }

  static std::string failure_text(const std::string& outcome) {
    try {
      const bool may_come_right = is_transient(outcome_kind_from_name(outcome));
      return (may_come_right ? "not measured to the end: " : "failed: ") + outcome;
    } catch (const UsageError&) {
      return "damaged record: no such outcome";
    }
  }

  /// Whether the Config may serve.
  bool take(const std::string& config_json, const RecordGroup& group, const Target& measured) {
    auto config = parsed(config_json, config_from_json);
    if (!config) {
      refuse("damaged record: its Config cannot be read");
      return false;
    }
    if (const KernelFamily* family = family_named(config->family); lookup_.is_stale && family != nullptr) {
      config->space_version = family->space_version();
    }
    if (const auto why = why_illegal(lookup_.built_workload, *config, lookup_.target)) {
      refuse("illegal today: " + *why);
      return false;
    }
    if (is_quarantined(config_json) || is_quarantined(key(*config))) {
      refuse("quarantined: the Config gave wrong results on this architecture and was not verified since");
      return false;
    }
    const bool is_known_otherwise = lookup_.is_stale || lookup_.workload_key != lookup_.built_key;
    if (is_known_otherwise && has_failed_here(*config)) {
      refuse("failed for the task itself in today's space");
      return false;
    }
    entries_.push_back({*config, config_json, group.device, measured});
    return true;
  }

  bool is_quarantined(const std::string& config_json) const {
    const std::string arch = lookup_.target.arch();
    return !database_.objections(lookup_.workload_key, config_json, arch).empty() ||
           !database_.objections(lookup_.built_key, config_json, arch).empty();
  }

  bool has_failed_here(const Config& config) const {
    const std::vector<Record> records = database_.of_config(lookup_.built_key, key(config));
    const auto is_permanent = [](const Record& record) {
      return !record.outcome.ok() && !is_transient(record.outcome.kind);
    };
    return std::any_of(records.begin(), records.end(), is_permanent);
  }

  const Database& database_;
  const Lookup& lookup_;
  std::vector<Entry> entries_;
  std::map<std::string, int64_t> refused_;
  bool has_records_ = false;
};

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

/// Times of the default by run, and pooled for runs that have none.
class Baselines {
 public:
  Baselines(const Database& database, const std::string& workload_key)
      : database_(database), workload_key_(workload_key) {}

  /// Samples of the default in the run of `record` on its card, taken as those of `record` were, if there are any such.
  std::vector<double> of_run(const Record& record) {
    std::vector<double> alike, all;
    for (const Record& of_default : defaults(record.run_uid)) {
      if (of_default.device_name != record.device_name || of_default.target_key != record.target_key ||
          of_default.evidence != record.evidence) {
        continue;
      }
      const std::vector<double>& samples = of_default.outcome.samples_us;
      all.insert(all.end(), samples.begin(), samples.end());
      if (of_default.objective == record.objective) alike.insert(alike.end(), samples.begin(), samples.end());
    }
    return alike.empty() ? all : alike;
  }

  /// A time each round, of the latest time that the default was measured in turn with others in that run.
  std::vector<double> rounds(const Record& record) {
    std::vector<double> latest;
    for (const Record& of_default : defaults(record.run_uid)) {
      const bool is_alike = of_default.device_name == record.device_name && of_default.evidence == record.evidence;
      if (is_alike && of_default.objective == kFinalObjective) latest = of_default.outcome.samples_us;
    }
    return latest;
  }

 private:
  const std::vector<Record>& defaults(const std::string& run_uid) {
    const auto [place, is_new] = by_run_.try_emplace(run_uid);
    if (is_new && !run_uid.empty()) place->second = database_.defaults(workload_key_, run_uid);
    return place->second;
  }

  const Database& database_;
  const std::string& workload_key_;
  std::map<std::string, std::vector<Record>> by_run_;
};

/// A candidate with the records that it is made of.
struct Measured {
  Candidate candidate;
  std::vector<Record> records;
};

std::vector<Measured> measured_of(const Database& database, const Lookup& lookup, const Entry& entry) {
  std::map<Evidence, Measured> by_evidence;
  for (Record& record : database.of_config(lookup.workload_key, entry.config_json)) {
    if (!record.outcome.ok() || !is_of(record, entry.device)) continue;
    Measured& measured = by_evidence[record.evidence];
    measured.candidate.config = entry.config;
    measured.candidate.measured_workload = lookup.measured_workload;
    measured.candidate.measured_target = entry.measured_target;
    measured.candidate.card =
        is_same_card(entry.device, entry.measured_target, lookup.target) ? Card::same : Card::same_arch;
    measured.records.push_back(std::move(record));
  }
  std::vector<Measured> list;
  for (auto& [evidence, measured] : by_evidence) list.push_back(std::move(measured));
  return list;
}

std::string device_of(const Record& record) {
  return fmt::format("{}\n{}\n{}", record.device_name, record.target_key, name(record.evidence));
}

/// Fills times and standing from the samples; `pooled` are the default's samples by device, for runs without one.
void compare_samples(Measured& measured, Baselines& baselines,
                     const std::map<std::string, std::vector<double>>& pooled) {
  Candidate& candidate = measured.candidate;
  std::vector<double> ratios, highs;
  double least = 0;
  bool is_default = false, has_default = false;
  for (const Record& record : measured.records) {
    std::vector<double> base = baselines.of_run(record);
    const auto elsewhere = pooled.find(device_of(record));
    if (base.empty() && elsewhere != pooled.end()) base = elsewhere->second;
    const double unit = base.empty() ? 1 : median(base), low_unit = base.empty() ? 1 : quantile(base, 0.25);
    for (const double us : record.outcome.samples_us) {
      ratios.push_back(us / unit);
      highs.push_back(us / low_unit);
    }
    has_default = has_default || !base.empty();
    is_default = is_default || record.is_default;
    const double relative = record.outcome.median_us() / unit;
    if (candidate.record.content_key.empty() || relative < least) {
      candidate.record = record;
      candidate.default_us = base.empty() ? 0 : unit;
      least = relative;
    }
  }
  candidate.relative_time = median(ratios);
  candidate.relative_high = quantile(std::move(highs), 0.75);
  if (is_default) {
    candidate.standing = Standing::is_default;
  } else if (has_default) {
    candidate.standing = candidate.relative_high < 1 ? Standing::faster : Standing::not_faster;
  }
}

/// Finalists of one run on one card: which of them measured in turn with the default beat it, and which is the best.
void apply_verdict(const std::vector<double>& default_us, std::vector<std::pair<Measured*, const Record*>> finalists) {
  std::sort(finalists.begin(), finalists.end(), [](const auto& a, const auto& b) {
    return key(a.first->candidate.config) < key(b.first->candidate.config);
  });
  std::vector<std::vector<double>> rounds_us{default_us};
  for (const auto& [measured, record] : finalists) rounds_us.push_back(record->outcome.samples_us);
  const Verdict verdict = judge(rounds_us);
  for (size_t i = 0; i < finalists.size(); ++i) {
    Candidate& candidate = finalists[i].first->candidate;
    const PairedGain gain = paired_gain(rounds_us[0], rounds_us[i + 1]);
    if (candidate.was_final && candidate.relative_time <= 1 / gain.gain) continue;  // another run says more for it
    const bool beats = gain.chance < winning_chance(finalists.size());
    candidate.was_final = true;
    candidate.won = verdict.winner == i + 1;
    candidate.standing = beats ? Standing::faster : Standing::not_faster;
    candidate.relative_time = 1 / gain.gain;
    candidate.relative_high = 1 / gain.low;
    candidate.record = *finalists[i].second;
    candidate.default_us = median(default_us);
  }
}

void apply_verdicts(std::vector<Measured>& all, Baselines& baselines) {
  std::map<std::string, std::vector<std::pair<Measured*, const Record*>>> runs;  // by run and device
  for (Measured& measured : all) {
    if (measured.candidate.standing == Standing::is_default) continue;
    std::map<std::string, const Record*> latest;
    for (const Record& record : measured.records) {
      if (record.objective == kFinalObjective) latest[record.run_uid + "\n" + device_of(record)] = &record;
    }
    for (const auto& [run, record] : latest) runs[run].emplace_back(&measured, record);
  }
  for (auto& [run, finalists] : runs) {
    const std::vector<double> default_us = baselines.rounds(*finalists.front().second);
    if (!default_us.empty()) apply_verdict(default_us, std::move(finalists));
  }
}

}  // namespace

Found look_up(const Database& database, const Lookup& lookup) {
  Gathering gathering(database, lookup);
  gathering.gather();
  Baselines baselines(database, lookup.workload_key);
  std::vector<Measured> all;
  std::map<std::string, std::vector<double>> pooled;
  for (const Entry& entry : gathering.entries()) {
    for (Measured& measured : measured_of(database, lookup, entry)) {
      for (const Record& record : measured.records) {
        if (!record.is_default) continue;
        std::vector<double>& samples = pooled[device_of(record)];
        samples.insert(samples.end(), record.outcome.samples_us.begin(), record.outcome.samples_us.end());
      }
      all.push_back(std::move(measured));
    }
  }
  for (Measured& measured : all) compare_samples(measured, baselines, pooled);
  apply_verdicts(all, baselines);
  Found found;
  for (Measured& measured : all) found.candidates.push_back(std::move(measured.candidate));
  found.refused = gathering.refused();
  found.has_records = gathering.has_records();
  return found;
}

double TransferredTimes::default_us_there(const Candidate& candidate) {
  const Workload& measured = candidate.measured_workload;
  const Target& there = candidate.measured_target;
  const auto [place, is_new] = defaults_us_.try_emplace({key(measured), key(there)});
  if (!is_new) return place->second;
  try {
    place->second = analytic_us(measured, default_config(measured, there), there);
  } catch (const UsageError&) {  // a card as nobody has it: the prior is left uncorrected
  }
  return place->second;
}

double TransferredTimes::us(const Candidate& candidate) {
  const double here = analytic_us(workload_, candidate.config, target_);
  const Workload& measured = candidate.measured_workload;
  const Target& there = candidate.measured_target;
  if (candidate.standing == Standing::no_default || why_illegal(measured, candidate.config, there)) return here;
  const double default_us = default_us_there(candidate), expected_us = analytic_us(measured, candidate.config, there);
  return default_us > 0 && expected_us > 0 ? here * candidate.relative_time * default_us / expected_us : here;
}

}  // namespace warpwright
