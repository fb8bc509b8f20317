// Progress lines, the table at the end, and the same as JSON.
#include "src/cli/tune_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/cli/arguments.h"
#include "src/cli/table.h"

namespace warpwright {
namespace {

std::string failures_text(const std::map<std::string, int64_t>& failures) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : failures) parts.push_back(fmt::format("{} {}", count, outcome));
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

/// `101.20 ±0.4%`; the spread is left out where times do not vary.
std::string spread_text(double us, double spread) {
  return spread > 0 ? fmt::format("{} ±{:.1f}%", us_text(us), spread * 100) : us_text(us);
}

/// `1.21x (1.19..1.23)` where finalists were measured in turn.
std::string verdict_text(const TaskProgress& task) {
  std::string text = gain_text(task.default_us, task.best_us);
  if (!task.gain) return text;
  if (task.gain->rounds == 0) return "1.00x (default)";
  return text + fmt::format(" ({:.3f}..{:.3f})", task.gain->low, task.gain->high);
}

}  // namespace

std::string trials_text(int64_t done, std::optional<int64_t> most) {
  return most ? fmt::format("{} of {} trials", done, *most) : fmt::format("{} trials", done);
}

void TuneProgress::show(const TuneSummary& summary) {
  const double elapsed = progress_.elapsed_s();
  const int64_t here = summary.trials - run_.trials_done;
  int64_t ok = 0, failed = 0;
  size_t searching = 0;
  for (const TaskProgress& task : summary.tasks) {
    ok += task.ok;
    for (const auto& [outcome, count] : task.failures) failed += count;
    searching += task.state == "searching";
  }
  progress_.show(fmt::format("run {}: {}, {} ok, {} failed, {} of {} tasks open, {} elapsed, {}", run_.id,
                             trials_text(summary.trials, most_), ok, failed, searching, summary.tasks.size(),
                             clock_text(elapsed), left_text(summary.trials, here, elapsed)));
}

std::string TuneProgress::left_text(int64_t done, int64_t here, double elapsed) const {
  std::optional<double> left;
  if (most_ && here > 0) left = elapsed / static_cast<double>(here) * static_cast<double>(*most_ - done);
  if (seconds_) left = std::min(left.value_or(*seconds_), *seconds_ - elapsed);
  return left ? "at most " + clock_text(*left) + " left" : "time left unknown";
}

Json summary_json(const TuneSummary& summary, const RunInfo& run, const std::vector<Task>& tasks) {
  Json json = to_json(summary);
  for (size_t i = 0; i < tasks.size(); ++i) json["tasks"][i]["workload"] = tasks[i].workload.summary();
  json["run"] = run.id;
  json["device"] = run.key.device_name;
  return json;
}

void print_summary(const TuneSummary& summary, const RunInfo& run, const std::vector<Task>& tasks, bool are_estimates,
                   std::optional<double> limit_s) {
  Table table({"task", "workload", ">weight", ">trials", ">ok", are_estimates ? ">default est. us" : ">default us",
               are_estimates ? ">best est. us" : ">best us", ">gain", "failures", "state"});
  double default_us = 0, best_us = 0;
  bool complete = true;
  for (size_t i = 0; i < summary.tasks.size(); ++i) {
    const TaskProgress& task = summary.tasks[i];
    table.add({task.task_key.substr(0, 15), tasks[i].workload.summary(), std::to_string(task.weight),
               std::to_string(task.trials), std::to_string(task.ok), spread_text(task.default_us, task.default_spread),
               spread_text(task.best_us, task.best_spread), verdict_text(task), failures_text(task.failures),
               task.state});
    complete = complete && task.default_us > 0 && task.best_us > 0;
    default_us += task.weight * task.default_us;
    best_us += task.weight * task.best_us;
  }
  table.print();
  if (complete) {
    fmt::print("sum of the tasks by weight: default {:.2f} us, best {:.2f} us, gain {}\n", default_us, best_us,
               gain_text(default_us, best_us));
  }
  if (summary.retracted > 0) {
    fmt::print("{} Configs were left alone: what a trial of them comes to is retracted\n", summary.retracted);
  }
  const double left_s = limit_s ? std::max(0.0, *limit_s - summary.wall_seconds) : 0;
  fmt::print(
      "run {} on {}: {} trials, ended: {}{}; compile {:.1f} s, verify {:.1f} s, run {:.1f} s, idle {:.1f} s of {:.1f} "
      "s\n",
      run.id, run.key.device_name, summary.trials, summary.end_reason,
      limit_s ? fmt::format(" ({} left)", clock_text(left_s)) : "", summary.seconds.compile, summary.seconds.verify,
      summary.seconds.run, summary.idle_seconds, summary.wall_seconds);
}

}  // namespace warpwright
