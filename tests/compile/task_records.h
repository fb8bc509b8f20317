// Records of real tasks as `tune` would have written them, without device or compiler.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "cost_model/default_config.h"
#include "database/database.h"
#include "search_space/kernel_family.h"
#include "src/core/target.h"
#include "src/tasks/tasks.h"

namespace warpwright {

/// Legal Configs of the default's family on a card, the default first.
inline std::vector<Config> some_configs(const Task& task, const Target& target, size_t count) {
  const Config start = default_config(task.workload, target);
  std::vector<Config> configs{start};
  for (const Config& config :
       family_of(start).space(task.workload, target).enumerate(static_cast<int64_t>(count) + 1)) {
    if (configs.size() < count && !(config == start)) configs.push_back(config);
  }
  return configs;
}

/// A card of silicon, or the virtual device of that preset.
struct TestCard {
  std::string preset = "rtx4090";
  bool is_virtual = false;
  std::string environment = "driver 580.65, NVRTC 13.0";
};

inline Record task_record(const Task& task, const Config& config, std::vector<double> samples_us,
                          const TestCard& card = {}) {
  const Target& target = target_preset(card.preset);
  Record record;
  record.workload_key = task.key;
  record.workload_json = to_json(task.workload).dump();
  record.config_json = key(config);
  record.device_name = card.is_virtual ? "virtual:" + card.preset : target.device_name;
  record.target_json = to_json(target).dump();
  record.target_key = key(target);
  record.arch = target.arch();
  record.evidence = card.is_virtual ? Evidence::virtual_device : Evidence::silicon;
  record.environment = card.environment;
  record.outcome.kind = OutcomeKind::ok;
  record.outcome.samples_us = std::move(samples_us);
  // One default for all cards, whatever their own would be.
  record.is_default = config == default_config(task.workload, target_preset("rtx4090"));
  return record;
}

inline Record failed_task_record(const Task& task, const Config& config, OutcomeKind kind, const TestCard& card = {}) {
  Record record = task_record(task, config, {}, card);
  record.outcome = {kind, "did not go", "", {}, ""};
  record.is_default = false;
  return record;
}

/// Times around `us` that vary by that share.
inline std::vector<double> noisy(double us, double spread, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, spread);
  std::vector<double> samples;
  for (size_t i = 0; i < count; ++i) samples.push_back(us * (1 + noise(random)));
  return samples;
}

}  // namespace warpwright
