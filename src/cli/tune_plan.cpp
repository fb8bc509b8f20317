// Devices, tasks and the time they take.
#include "src/cli/tune_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/cli/arguments.h"
#include "src/cli/table.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr int kMostCards = 64;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  if (parts.empty()) throw UsageError("--device is empty; name at least one device");
  return parts;
}

/// cuda:0, cuda:1 and so on, as long as there are any.
std::vector<DeviceIdentity> all_cards(const RunnerOptions& options) {
  std::vector<DeviceIdentity> cards{identify_device("cuda:0", options)};
  try {
    for (int number = 1; number < kMostCards; ++number) {
      cards.push_back(identify_device(fmt::format("cuda:{}", number), options));
    }
  } catch (const UsageError&) {  // there is no card of that number
  }
  return cards;
}

bool is_named(const Task& task, const std::string& name) { return task.key.starts_with(name); }

double spent_s(const Record& record) { return record.verify_seconds + record.run_seconds; }

}  // namespace

std::vector<std::string> device_names(const std::string& devices, const RunnerOptions& options) {
  std::vector<std::string> names;
  for (const std::string& device : split(devices)) {
    if (device != "cuda:all") {
      names.push_back(device);
      continue;
    }
    try {
      for (const DeviceIdentity& card : all_cards(options)) names.push_back(card.name);
    } catch (const EnvironmentError&) {  // which a check of the first card tells about
      names.emplace_back("cuda:0");
    }
  }
  return names;
}

std::vector<DeviceGroup> group_devices(const std::string& devices, const RunnerOptions& options) {
  std::vector<DeviceIdentity> identities;
  for (const std::string& device : split(devices)) {
    if (device == "cuda:all") {
      for (DeviceIdentity& card : all_cards(options)) identities.push_back(std::move(card));
    } else {
      identities.push_back(identify_device(device, options));
    }
  }
  std::vector<DeviceGroup> groups;
  std::set<std::string> seen;
  for (const DeviceIdentity& identity : identities) {
    const std::string what = identity.is_card ? identity.card_id : identity.record_name + key(identity.target);
    if (!seen.insert(what).second) throw UsageError(fmt::format("--device names {} twice", identity.name));
    const auto alike = std::find_if(groups.begin(), groups.end(), [&](const DeviceGroup& group) {
      return group.record_name == identity.record_name && key(group.target) == key(identity.target);
    });
    if (alike == groups.end()) {
      groups.push_back({identity.record_name, identity.target, identity.is_card, {identity.name}});
    } else {
      alike->devices.push_back(identity.name);
    }
  }
  return groups;
}

std::vector<Task> filter_tasks(std::vector<Task> tasks, const TaskFilter& filter) {
  for (const std::string& name : filter.tasks) {
    if (std::none_of(tasks.begin(), tasks.end(), [&](const Task& task) { return is_named(task, name); })) {
      throw UsageError(fmt::format("--task {}: there is no such task; `extract` lists them", name));
    }
  }
  std::map<std::string, OpKind> present;
  for (const Task& task : tasks) present.emplace(name(task.workload.kind), task.workload.kind);
  std::vector<std::string> names;
  for (const auto& [name, kind] : present) names.push_back(name);
  std::set<OpKind> kinds;
  for (const std::string& name : filter.operators) {
    if (!present.contains(name)) {
      throw UsageError(
          fmt::format("--op {}: no task is of this kind; those here are {}", name, fmt::join(names, ", ")));
    }
    kinds.insert(present.at(name));
  }
  std::erase_if(tasks, [&](const Task& task) {
    const bool is_wanted = filter.tasks.empty() || std::any_of(filter.tasks.begin(), filter.tasks.end(),
                                                               [&](const auto& name) { return is_named(task, name); });
    return !is_wanted || (!kinds.empty() && !kinds.contains(task.workload.kind));
  });
  if (tasks.empty()) throw UsageError("no task is of a kind of --op and named by --task at once");
  return tasks;
}

TrialCost trial_cost(const std::vector<Task>& tasks, const Database* database, Runner& runner) {
  TrialCost cost;
  size_t records = 0;
  for (const Task& task : tasks) {
    if (database == nullptr) break;
    for (const Record& record : database->records(task.key)) {
      if (record.device_name != runner.device_name() || !record.outcome.ok()) continue;
      cost.compile_s += record.compile_seconds;
      cost.measure_s += spent_s(record);
      ++records;
    }
  }
  if (records > 0) {
    cost.compile_s /= static_cast<double>(records);
    cost.measure_s /= static_cast<double>(records);
    cost.source = fmt::format("of {} records", records);
    return cost;
  }
  const auto smallest = std::min_element(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
    return a.workload.multiply_adds() < b.workload.multiply_adds();
  });
  const TrialResult result =
      runner.run({{smallest->workload, default_config(smallest->workload, runner.target())}}, nullptr).front();
  if (is_transient(result.outcome.kind) && result.outcome.kind != OutcomeKind::interrupted) {
    throw EnvironmentError(
        fmt::format("a first trial fails: {}: {}", name(result.outcome.kind), result.outcome.message));
  }
  cost.compile_s = result.seconds.compile;
  cost.measure_s = result.seconds.verify + result.seconds.run;
  cost.source = fmt::format("of a first trial of the smallest task, which was {}", name(result.outcome.kind));
  return cost;
}

TunePlan make_plan(const std::vector<Task>& tasks, const DeviceGroup& group, const TuneLimits& limits,
                   std::optional<int64_t> most_trials, int jobs, const Database* database, const TrialCost& cost) {
  TunePlan plan;
  plan.cost = cost;
  int64_t points = 0;
  for (const Task& task : tasks) {
    PlannedTask planned{task.key, task.workload.summary(), "", task.weight, 0, 0};
    std::vector<std::string> names;
    const std::vector<const KernelFamily*> families = families_for(task.workload, group.target);
    const std::vector<Config> defaults = default_configs(task.workload, group.target, families);
    for (const KernelFamily* family : families) {
      if (std::ranges::find(defaults, family->name(), &Config::family) == defaults.end()) continue;
      names.emplace_back(family->name());
      planned.points += family->space(task.workload, group.target).point_count();
    }
    points += planned.points;
    planned.families = short_list(names);
    if (database != nullptr) {
      for (const Record& record : database->records(task.key)) planned.known += record.device_name == group.record_name;
    }
    plan.tasks.push_back(std::move(planned));
  }
  // On a card compiling runs ahead of measuring; a virtual device does both in each worker.
  const double lanes = std::max(1, jobs);
  const auto cards = static_cast<double>(group.devices.size());
  plan.seconds_a_trial = group.is_card ? std::max(cost.compile_s / lanes, cost.measure_s / cards)
                                       : (cost.compile_s + cost.measure_s) / lanes;
  if (limits.seconds && plan.seconds_a_trial > 0) {
    plan.trials_in_time = static_cast<int64_t>(std::min(1e9, *limits.seconds / plan.seconds_a_trial));
    if (most_trials) plan.trials_in_time = std::min(*plan.trials_in_time, *most_trials);
    plan.trials_in_time = std::min(*plan.trials_in_time, points);
  }
  if (most_trials) plan.seconds = plan.seconds_a_trial * static_cast<double>(*most_trials);
  if (limits.seconds) plan.seconds = std::min(plan.seconds.value_or(*limits.seconds), *limits.seconds);
  return plan;
}

std::vector<std::string> plan_lines(const TunePlan& plan, const DeviceGroup& group) {
  Table table({"task", "workload", ">weight", "families", ">points", ">known"});
  for (const PlannedTask& task : plan.tasks) {
    table.add({task.key.substr(0, 15), task.workload, std::to_string(task.weight), task.families,
               std::to_string(task.points), std::to_string(task.known)});
  }
  std::vector<std::string> lines = table.lines();
  std::string end = fmt::format("{}: {} tasks, {:.2f} s a trial ({:.2f} s to compile, {:.2f} s to measure; {})",
                                fmt::join(group.devices, ", "), plan.tasks.size(), plan.seconds_a_trial,
                                plan.cost.compile_s, plan.cost.measure_s, plan.cost.source);
  if (plan.trials_in_time) end += fmt::format(", about {} trials in the time given", *plan.trials_in_time);
  if (plan.seconds) end += fmt::format(", at most about {}", clock_text(*plan.seconds));
  lines.push_back(end);
  return lines;
}

Json plan_json(const TunePlan& plan, const DeviceGroup& group) {
  Json tasks = Json::array();
  for (const PlannedTask& task : plan.tasks) {
    tasks.push_back({{"key", task.key},
                     {"workload", task.workload},
                     {"weight", task.weight},
                     {"points", task.points},
                     {"known", task.known}});
  }
  return {{"device", group.record_name},
          {"devices", group.devices},
          {"tasks", tasks},
          {"compile_s", plan.cost.compile_s},
          {"measure_s", plan.cost.measure_s},
          {"cost", plan.cost.source},
          {"seconds_a_trial", plan.seconds_a_trial},
          {"trials_in_time", plan.trials_in_time ? Json(*plan.trials_in_time) : Json()},
          {"seconds", plan.seconds ? Json(*plan.seconds) : Json()}};
}

}  // namespace warpwright
