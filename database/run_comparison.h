// Two runs side by side: what each made of a task, and whether the difference is more than noise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "database/database.h"

namespace warpwright {

/// What one run made of one task.
struct TaskResult {
  double default_us = 0, best_us = 0;  // medians; 0: unknown
  std::vector<double> ratios;          // samples of the best, each by the default's median
  double spread = 0;                   // of the ratios: half the width of their middle half, relative
  int64_t trials = 0, ok = 0, throttled = 0;
  std::map<std::string, int64_t> failures;         // by outcome
  std::map<std::string, std::string> first_fault;  // of each outcome: the first line of its first log
  Evidence evidence = Evidence::virtual_device;
  std::string best_config;
};

enum class Change { same, faster, slower, only_first, only_second, unknown };
std::string_view name(Change change);

struct TaskComparison {
  std::string workload_key, workload_json;
  TaskResult first, second;
  Change change = Change::unknown;  // of the second run against the first, each by its own default
  double p_value = 1;               // of the difference being chance
};

/// By workload key. Times of virtual cards repeat to the last digit: there any difference counts. On silicon it must
/// be more than 0.5 % and have less than 1 % chance in a two-sided Mann-Whitney test over the samples' ratios to their
/// run's default.
std::vector<TaskComparison> compare_runs(const std::vector<Record>& first, const std::vector<Record>& second);

/// Two-sided, by the normal approximation with correction for ties; 1 when either is empty.
double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace warpwright
