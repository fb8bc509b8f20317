// Tables, lines and JSON of a build.
#include "src/cli/build_report.h"

#include <fmt/format.h>

#include <map>

#include "src/cli/build_lock.h"
#include "src/cli/table.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

constexpr size_t kMostLines = 8;  // of one kind of reason

std::string evidence_text(const Choice& choice) { return choice.evidence ? std::string(name(*choice.evidence)) : "-"; }

/// Each text once with its number, and how many more there are.
void print_counts(const std::map<std::string, int64_t>& counts, std::string_view head) {
  size_t printed = 0;
  for (const auto& [text, count] : counts) {
    if (++printed > kMostLines) break;
    fmt::print("  {} {}: {}\n", count, head, printable(text));
  }
  if (counts.size() > kMostLines) fmt::print("  {}: {} more reasons (--json)\n", head, counts.size() - kMostLines);
}

}  // namespace

void print_kernels(const Program& program, const Plan& plan) {
  Table table({">step", "workload", "ONNX nodes", "rung", "evidence", ">default us", ">best us", ">gain", "config"});
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const PlannedKernel& kernel = plan.kernels[plan.kernel_of_step[step]];
    const Choice& choice = kernel.choice;
    table.add({std::to_string(step), kernel.task.workload.summary(), short_list(program.steps[step].onnx_nodes),
               rung_text(choice), evidence_text(choice), us_text(choice.default_us), us_text(choice.best_us),
               gain_text(choice.default_us, choice.best_us), summary(choice.config)});
  }
  table.print();
}

void print_rungs(const Plan& plan, const Coverage& coverage) {
  std::vector<std::string> rungs;
  for (const auto& [rung, count] : coverage.rungs) rungs.push_back(fmt::format("{} {}", count.kernels, name(rung)));
  const auto exact = coverage.rungs.find(Rung::exact);
  fmt::print("{} kernels for {}: {}; {:.0f} % of the expected time on exact\n", plan.kernels.size(), text(plan.target),
             fmt::join(rungs, ", "), exact == coverage.rungs.end() ? 0 : 100 * exact->second.time_share);
  std::map<std::string, int64_t> measured, reasons, refused;
  for (const PlannedKernel& kernel : plan.kernels) {
    const Choice& choice = kernel.choice;
    if (choice.evidence) {
      ++measured[fmt::format("{} with {} ({})", choice.measured_on, choice.environment, evidence_text(choice))];
    }
    if (!choice.why.empty()) ++reasons[choice.why];
    for (const auto& [why, count] : choice.refused) refused[why] += count;
  }
  print_counts(measured, "measured on");
  print_counts(reasons, "not better");
  print_counts(refused, "not used");
}

void print_code(const Plan& plan, const LockFile& lock) {
  std::map<std::string, int> statements = lock_statements(plan, lock);
  for (const PlannedKernel& kernel : plan.kernels) ++statements[code_statement(kernel)];
  for (const auto& [statement, count] : statements) fmt::print("{} kernels: {}\n", count, statement);
}

Json build_document(const Program& program, const Plan& plan, const Coverage& coverage, const GateReport& report) {
  Json kernels = Json::array(), rungs = Json::object(), misses = Json::array();
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlannedKernel& kernel = plan.kernels[i];
    const Choice& choice = kernel.choice;
    kernels.push_back({{"workload_key", kernel.task.key},
                       {"workload", kernel.task.workload.summary()},
                       {"steps", kernel.task.steps},
                       {"onnx_nodes", nodes_of(program, kernel)},
                       {"config", to_json(choice.config)},
                       {"rung", std::string(name(choice.rung))},
                       {"evidence", choice.evidence ? Json(evidence_text(choice)) : Json()},
                       {"measured_on", choice.measured_on},
                       {"measured_workload", choice.measured_workload},
                       {"environment", choice.environment},
                       {"record", choice.record_key},
                       {"trials", choice.trials},
                       {"default_us", choice.default_us},
                       {"best_us", choice.best_us},
                       {"expected_us", coverage.expected_us[i]},
                       {"why", choice.why},
                       {"refused", choice.refused},
                       {"cubin_hash", kernel.hashes.cubin},
                       {"code", kernel.code.cubin.empty() ? Json() : Json(code_statement(kernel))}});
  }
  for (const auto& [rung, count] : coverage.rungs) {
    rungs[std::string(name(rung))] = {{"kernels", count.kernels}, {"time_share", count.time_share}};
  }
  const auto add_miss = [&](size_t i, bool is_allowed) {
    const PlannedKernel& kernel = plan.kernels[i];
    misses.push_back({{"workload_key", kernel.task.key},
                      {"onnx_nodes", nodes_of(program, kernel)},
                      {"rung", std::string(name(kernel.choice.rung))},
                      {"why", kernel.choice.why},
                      {"allowed", is_allowed}});
  };
  for (const size_t i : report.misses) add_miss(i, false);
  for (const size_t i : report.allowed) add_miss(i, true);
  return {{"schema", "warpwright.build/1"},
          {"target", text(plan.target)},
          {"kernels", kernels},
          {"rungs", rungs},
          {"hit_time_share", report.covered},
          {"misses", misses},
          {"refusal", report.refusal}};
}

}  // namespace warpwright
