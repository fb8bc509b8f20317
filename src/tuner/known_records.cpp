// From records to results that can be compared.
#include "src/tuner/known_records.h"

#include <map>
#include <optional>
#include <string>

#include "src/core/error.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

/// The Config of a record, if today's space holds it.
std::optional<Config> legal_config(const Record& record, const CandidateSpace& space) {
  try {
    const Json json = try_parse_json(record.config_json);
    if (json.is_discarded()) return std::nullopt;
    Config config = config_from_json(json);
    if (!space.contains(config)) return std::nullopt;
    return config;
  } catch (const UsageError&) {
    return std::nullopt;  // written by another version: no Config of today
  }
}

/// Times of the default by the run that measured it.
std::map<int64_t, double> defaults_by_run(const std::vector<const Record*>& records) {
  std::map<int64_t, double> defaults;
  for (const Record* record : records) {
    if (record->is_default && record->outcome.ok()) defaults.emplace(record->run_id, record->outcome.median_us());
  }
  return defaults;
}

}  // namespace

std::vector<KnownResult> known_results(const std::vector<Record>& records, const TaskSearch& task,
                                       const std::string& device_name, const Target& target) {
  const std::string target_key = key(target);
  std::vector<const Record*> ours;
  for (const Record& record : records) {
    if (record.device_name == device_name && record.target_key == target_key && !is_transient(record.outcome.kind)) {
      ours.push_back(&record);
    }
  }
  const std::map<int64_t, double> defaults = defaults_by_run(ours);
  const double reference = defaults.empty() ? 0 : defaults.begin()->second;

  std::vector<KnownResult> results;
  std::map<std::string, size_t> index_by_config;
  std::map<size_t, std::vector<double>> times;
  for (const Record* record : ours) {
    const std::optional<Config> config = legal_config(*record, task.space());
    if (!config) continue;
    const auto [found, is_new] = index_by_config.emplace(key(*config), results.size());
    if (is_new) results.push_back({*config, 0});
    std::vector<double>& of_config = times[found->second];
    if (!record->outcome.ok()) {
      of_config.assign(1, 0);  // wrong on one host: left alone until it is verified again
    } else if (of_config.empty() || of_config.front() > 0) {
      const auto own_default = defaults.find(record->run_id);
      const double scale = own_default == defaults.end() ? 1 : reference / own_default->second;
      of_config.push_back(record->outcome.median_us() * scale);
    }
  }
  for (const auto& [index, of_config] : times) results[index].us = median(of_config);
  return results;
}

std::vector<Config> retracted_configs(const std::vector<Record>& retracted, const TaskSearch& task,
                                      const Runner& runner) {
  const std::string target_key = key(runner.target());
  std::vector<Config> configs;
  for (const Record& record : retracted) {
    const bool is_ours = record.device_name == runner.device_name() && record.target_key == target_key &&
                         record.evidence == runner.evidence() && record.environment == runner.environment();
    const bool comes_out_the_same = record.evidence == Evidence::virtual_device
                                        ? !is_transient(record.outcome.kind)
                                        : record.outcome.kind == OutcomeKind::compile_error;
    if (!is_ours || !comes_out_the_same) continue;
    if (std::optional<Config> config = legal_config(record, task.space())) configs.push_back(*std::move(config));
  }
  return configs;
}

}  // namespace warpwright
