// Hits and misses of a plan.
#include "src/cli/build_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/cli/table.h"
#include "src/core/error.h"
#include "src/tasks/task_list.h"

namespace warpwright {
namespace {

/// `2,000`.
std::string with_commas(int64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

std::vector<std::string> nodes_of(const Program& program, const PlannedKernel& kernel) {
  std::vector<std::string> nodes;
  for (size_t step : kernel.task.steps) {
    for (const std::string& node : program.steps[step].onnx_nodes) nodes.push_back(node);
  }
  return nodes;
}

std::string rung_text(const Choice& choice) {
  std::string text(name(choice.rung));
  if (!choice.evidence) return text;
  text += fmt::format(", {} {}", with_commas(choice.trials), choice.trials == 1 ? "trial" : "trials");
  if (!choice.measured_workload.empty()) text += " of " + choice.measured_workload;
  if (choice.rung != Rung::exact) text += " on " + choice.measured_on;
  return text;
}

std::string miss_text(const Program& program, const PlannedKernel& kernel) {
  const Choice& choice = kernel.choice;
  const std::string evidence = choice.evidence ? fmt::format(" ({})", name(*choice.evidence)) : "";
  return fmt::format("{} (ONNX {}): {}{}{}{}", kernel.task.workload.summary(), short_list(nodes_of(program, kernel)),
                     rung_text(choice), evidence, choice.why.empty() ? "" : ": ", choice.why);
}

GateReport judge_plan(const Program& program, const Plan& plan, const Coverage& coverage, const Gates& gates) {
  GateReport report;
  std::set<std::string> unknown(gates.allow_miss.begin(), gates.allow_miss.end());
  const std::set<std::string> allowed = unknown;
  double hit_us = 0, sum_us = 0;
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    bool is_allowed = false;
    for (const std::string& node : nodes_of(program, plan.kernels[i])) {
      is_allowed = is_allowed || allowed.contains(node);
      unknown.erase(node);
    }
    const bool hits = is_hit(plan.kernels[i].choice, gates.least(), plan.target, gates.policy);
    if (!hits && is_allowed) {
      report.allowed.push_back(i);
      continue;
    }
    sum_us += coverage.expected_us[i];
    if (hits) hit_us += coverage.expected_us[i];
    if (!hits) report.misses.push_back(i);
  }
  if (!unknown.empty()) {
    throw UsageError(
        fmt::format("--allow-miss {}: no kernel computes a node of this name; `extract` lists them", *unknown.begin()));
  }
  report.covered = sum_us > 0 ? hit_us / sum_us : 1;
  if (gates.min_time_coverage) {
    if (100 * report.covered < *gates.min_time_coverage) {
      report.refusal = fmt::format("{:.1f} % of the expected time is on {} or better, less than --min-time-coverage {}",
                                   100 * report.covered, name(gates.least()), *gates.min_time_coverage);
    }
  } else if (gates.require_hit && !report.misses.empty()) {
    report.refusal = fmt::format("{} of {} kernels miss --require-hit {}", report.misses.size(), plan.kernels.size(),
                                 name(*gates.require_hit));
  }
  return report;
}

void write_misses(const std::filesystem::path& path, const Plan& plan, const GateReport& report) {
  std::vector<ListedTask> tasks;
  for (const auto* kernels : {&report.misses, &report.allowed}) {
    for (const size_t i : *kernels) {
      const PlannedKernel& kernel = plan.kernels[i];
      const std::string& why = kernel.choice.why;
      tasks.push_back({kernel.task, rung_text(kernel.choice) + (why.empty() ? "" : ": " + why)});
    }
  }
  write_task_list(path, tasks);
}

}  // namespace warpwright
