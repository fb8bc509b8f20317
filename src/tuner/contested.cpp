// Who said what of a Config.
#include "src/tuner/contested.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

struct Voices {
  bool is_wrong = false, is_ours = false;
  double least_us = 0;  // 0: ok in none
};

std::optional<Config> legal_config(const std::string& config_json, const CandidateSpace& space) {
  try {
    Config config = config_from_json(parse_json(config_json));
    return space.contains(config) ? std::optional<Config>(std::move(config)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // no Config of today
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

bool is_objection(const Record& record) {
  return record.outcome.kind == OutcomeKind::wrong_result || record.outcome.kind == OutcomeKind::memory_fault;
}

std::vector<Config> take_contested(std::vector<Record>& records, const TaskSearch& task, const Target& target,
                                   Evidence evidence, int64_t run_id, const Database& database) {
  std::map<std::string, Voices> voices;  // by Config
  for (const Record& record : records) {
    if (record.arch != target.arch() || record.evidence != evidence) continue;
    Voices& of_config = voices[record.config_json];
    if (run_id != 0 && record.run_id == run_id) {
      of_config.is_ours = true;
    } else if (is_objection(record)) {
      of_config.is_wrong = true;
    } else if (record.outcome.ok()) {
      const double us = record.outcome.median_us();
      of_config.least_us = of_config.least_us > 0 ? std::min(of_config.least_us, us) : us;
    }
  }
  std::vector<std::pair<double, Config>> contested;
  std::set<std::string> unknown, cleared;
  for (const auto& [config_json, of_config] : voices) {
    if (!of_config.is_wrong) continue;
    const bool is_open = !database.objections(task.task().key, config_json, target.arch()).empty();
    if (!is_open) cleared.insert(config_json);
    // One that this run has settled in an earlier sitting is proposed again, to be replayed in its place.
    const bool is_contested = of_config.least_us > 0 && (is_open || of_config.is_ours);
    const std::optional<Config> config = is_contested ? legal_config(config_json, task.space()) : std::nullopt;
    if (!config) continue;
    contested.emplace_back(of_config.least_us, *config);
    unknown.insert(config_json);
  }
  std::erase_if(records, [&](const Record& record) {
    return unknown.contains(record.config_json) || (is_objection(record) && cleared.contains(record.config_json));
  });
  std::sort(contested.begin(), contested.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : key(a.second) < key(b.second);
  });
  std::vector<Config> configs;
  for (auto& [us, config] : contested) configs.push_back(std::move(config));
  return configs;
}

void clear_objections(Database& database, const Record& record, const std::string& content_key) {
  const std::vector<std::string> objections = database.objections(record.workload_key, record.config_json, record.arch);
  if (objections.empty()) return;
  for (const Record& wrong : database.of_config(record.workload_key, record.config_json)) {
    if (std::find(objections.begin(), objections.end(), wrong.content_key) == objections.end()) continue;
    if (wrong.evidence != record.evidence) continue;  // neither kind of device speaks for the other
    database.clear(wrong.content_key, content_key);
    log_info("record {} said {} of a Config of task {}: verified again, it counts no more",
             wrong.content_key.substr(0, 12), name(wrong.outcome.kind), record.workload_key);
  }
}

}  // namespace warpwright
