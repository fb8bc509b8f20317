// Results of runs by task, and the test that compares them.
#include "database/run_comparison.h"

#include <algorithm>
#include <cmath>

namespace warpwright {
namespace {

constexpr double kLeastChange = 0.005, kMostChance = 0.01;

bool is_throttled(const Json& conditions) {
  const auto reasons = conditions.is_object() ? conditions.find("throttle") : conditions.end();
  return conditions.is_object() && reasons != conditions.end() && reasons->is_array() && !reasons->empty();
}

std::string first_line(const Outcome& outcome) {
  const std::string& text = outcome.message.empty() ? outcome.log : outcome.message;
  return text.substr(0, text.find('\n')).substr(0, 200);
}

double spread_of(std::vector<double> values) {
  if (values.size() < 2) return 0;
  std::sort(values.begin(), values.end());
  const double middle = median(values);
  return (values[values.size() * 3 / 4] - values[values.size() / 4]) / 2 / middle;
}

TaskResult result_of(const std::vector<const Record*>& records) {
  TaskResult result;
  std::vector<double> default_samples;
  const Record* best = nullptr;
  for (const Record* record : records) {
    ++result.trials;
    result.throttled += is_throttled(record->conditions);
    if (!record->outcome.ok()) {
      const std::string kind(name(record->outcome.kind));
      ++result.failures[kind];
      result.first_fault.try_emplace(kind, first_line(record->outcome));
      continue;
    }
    ++result.ok;
    if (record->is_default) {
      default_samples.insert(default_samples.end(), record->outcome.samples_us.begin(),
                             record->outcome.samples_us.end());
    }
    if (!best || record->outcome.median_us() < best->outcome.median_us()) best = record;
  }
  if (!default_samples.empty()) result.default_us = median(default_samples);
  if (!best) return result;
  result.best_us = best->outcome.median_us();
  result.evidence = best->evidence;
  result.best_config = best->config_json;
  if (result.default_us > 0) {
    for (const double us : best->outcome.samples_us) result.ratios.push_back(us / result.default_us);
  }
  result.spread = spread_of(result.ratios);
  return result;
}

std::map<std::string, std::vector<const Record*>> by_task(const std::vector<Record>& records) {
  std::map<std::string, std::vector<const Record*>> tasks;
  for (const Record& record : records) tasks[record.workload_key].push_back(&record);
  return tasks;
}

void judge(TaskComparison& task) {
  const TaskResult &a = task.first, &b = task.second;
  if (a.trials == 0 || b.trials == 0) {
    task.change = a.trials == 0 ? Change::only_second : Change::only_first;
    return;
  }
  if (a.ratios.empty() || b.ratios.empty()) return;
  const double change = median(b.ratios) / median(a.ratios) - 1;
  const bool is_virtual = a.evidence == Evidence::virtual_device && b.evidence == Evidence::virtual_device;
  task.p_value = is_virtual ? (change == 0 ? 1 : 0) : mann_whitney_p(a.ratios, b.ratios);
  const bool moved = task.p_value < kMostChance && (is_virtual || std::abs(change) > kLeastChange);
  task.change = !moved ? Change::same : change < 0 ? Change::faster : Change::slower;
}

}  // namespace

std::string_view name(Change change) {
  switch (change) {
    case Change::same:
      return "same";
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::only_first:
      return "only in the first";
    case Change::only_second:
      return "only in the second";
    case Change::unknown:
      return "unknown";
  }
  return "unknown";
}

std::vector<TaskComparison> compare_runs(const std::vector<Record>& first, const std::vector<Record>& second) {
  std::map<std::string, TaskComparison> tasks;
  for (const std::vector<Record>* records : {&first, &second}) {
    for (const auto& [key, of_task] : by_task(*records)) {
      TaskComparison& task = tasks[key];
      task.workload_key = key;
      task.workload_json = of_task.front()->workload_json;
      (records == &first ? task.first : task.second) = result_of(of_task);
    }
  }
  std::vector<TaskComparison> list;
  for (auto& [key, task] : tasks) {
    judge(task);
    list.push_back(std::move(task));
  }
  return list;
}

double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<std::pair<double, bool>> all;
  for (const double value : a) all.emplace_back(value, true);
  for (const double value : b) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  const double n = static_cast<double>(all.size()), n_a = static_cast<double>(a.size()), n_b = n - n_a;
  double rank_sum = 0, ties = 0;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const double equal = static_cast<double>(end - begin);
    const double rank = (static_cast<double>(begin + end) + 1) / 2;  // the mean of those that are equal
    for (size_t i = begin; i < end; ++i) rank_sum += all[i].second ? rank : 0;
    ties += equal * equal * equal - equal;
  }
  const double u = rank_sum - n_a * (n_a + 1) / 2;
  const double variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1)));
  if (!(variance > 0)) return 1;
  const double distance = std::max(0.0, std::abs(u - n_a * n_b / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

}  // namespace warpwright
