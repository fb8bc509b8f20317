// Validation and ranking of records.
#include "src/compile/record_ranking.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "cost_model/cost_model.h"
#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

std::string device_of(const Record& record) { return fmt::format("{}\n{}", record.device_name, name(record.evidence)); }

std::string run_of(const Record& record) {
  return fmt::format("{}\n{}\n{}", device_of(record), record.environment, record.run_id);
}

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

bool is_same_card(const Record& record, const Target& measured, const Target& target) {
  return record.target_key == key(target) || (measured.device_name == target.device_name &&
                                              measured.arch() == target.arch() && measured.sm_count == target.sm_count);
}

bool is_wrong(OutcomeKind kind) { return kind == OutcomeKind::wrong_result || kind == OutcomeKind::memory_fault; }

/// Configs that some card of this architecture computed wrongly.
std::set<std::string> quarantined(const std::vector<Record>& records, const Target& target) {
  std::set<std::string> configs;
  for (const Record& record : records) {
    if (is_wrong(record.outcome.kind) && record.arch == target.arch()) configs.insert(record.config_json);
  }
  return configs;
}

/// Why the record does not serve, else the candidate that it alone would make.
std::optional<std::string> refuse(const Workload& workload, const Record& record, const Target& target,
                                  const std::set<std::string>& wrong, Candidate& candidate) {
  if (is_transient(record.outcome.kind)) return "not measured to the end: " + std::string(name(record.outcome.kind));
  if (!record.outcome.ok()) return "failed: " + std::string(name(record.outcome.kind));
  if (record.outcome.samples_us.empty()) return "damaged record: ok without samples";
  if (record.arch != target.arch()) return "another architecture: " + record.arch;
  const auto config = parsed(record.config_json, config_from_json);
  if (!config) return "damaged record: its Config cannot be read";
  const auto measured = parsed(record.target_json, target_from_json);
  if (!measured) return "damaged record: its Target cannot be read";
  const KernelFamily* family = family_named(config->family);
  if (family && family->space_version() != config->space_version) {
    return fmt::format("space version {}, today's is {}", config->space_version, family->space_version());
  }
  if (const auto why = why_illegal(workload, *config, target)) return "illegal today: " + *why;
  if (wrong.contains(record.config_json)) return "quarantined: the same Config gave wrong results in another record";
  candidate.config = *config;
  candidate.record = &record;
  candidate.measured_target = *measured;
  candidate.card = is_same_card(record, *measured, target) ? Card::same : Card::same_arch;
  return std::nullopt;
}

}  // namespace

Baselines::Baselines(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (!record.is_default || !record.outcome.ok() || record.outcome.samples_us.empty()) continue;
    for (double sample : record.outcome.samples_us) {
      by_run_[run_of(record)].push_back(sample);
      by_device_[device_of(record)].push_back(sample);
    }
  }
}

double Baselines::default_us(const Record& record) const {
  if (const auto run = by_run_.find(run_of(record)); run != by_run_.end()) return median(run->second);
  if (const auto device = by_device_.find(device_of(record)); device != by_device_.end()) return median(device->second);
  return 0;
}

Usable usable_records(const Workload& workload, const std::vector<Record>& records, const Target& target) {
  const Baselines baselines(records);
  const std::set<std::string> wrong = quarantined(records, target);
  Usable usable;
  using Group = std::tuple<std::string, std::string>;  // device with evidence, Config
  std::map<Group, size_t> groups;
  std::map<Group, std::vector<double>> samples;
  std::map<Group, double> fastest;
  for (const Record& record : records) {
    Candidate candidate;
    if (const auto why = refuse(workload, record, target, wrong, candidate)) {
      ++usable.refused[*why];
      continue;
    }
    candidate.default_us = baselines.default_us(record);
    candidate.has_default = candidate.default_us > 0;
    const double unit = candidate.has_default ? candidate.default_us : 1.0;
    const Group group{device_of(record), key(candidate.config)};
    for (double sample : record.outcome.samples_us) samples[group].push_back(sample / unit);
    const double relative = record.outcome.median_us() / unit;
    const auto [place, is_new] = groups.try_emplace(group, usable.candidates.size());
    if (is_new) {
      usable.candidates.push_back(candidate);
      fastest[group] = relative;
    } else if (relative < fastest[group]) {
      usable.candidates[place->second] = candidate;
      fastest[group] = relative;
    }
  }
  for (const auto& [group, index] : groups) usable.candidates[index].relative_time = median(samples[group]);
  return usable;
}

double transferred_us(const Workload& workload, const Candidate& candidate, const Target& target) {
  const double here = analytic_us(workload, candidate.config, target);
  const Target& there = candidate.measured_target;
  if (!candidate.has_default || why_illegal(workload, candidate.config, there)) return here;
  const Config start = default_config(workload, there);
  const double expected = analytic_us(workload, candidate.config, there) / analytic_us(workload, start, there);
  return expected > 0 ? here * candidate.relative_time / expected : here;
}

}  // namespace warpwright
