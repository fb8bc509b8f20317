// Choosing, emitting and compiling the kernels of a program.
#include "src/compile/plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/hash.h"

namespace warpwright {
namespace {

void emit(PlannedKernel& kernel, const Target& target) {
  const Config& config = kernel.choice.config;
  kernel.source = family_of(config).emit(kernel.task.workload, config, target);
  kernel.hashes = {sha256_hex(kernel.source.source), {}, {}};
}

/// The default in place of a choice that failed.
void fall_back(PlannedKernel& kernel, const Target& target, const std::string& why) {
  Choice choice;
  choice.config = default_config(kernel.task.workload, target);
  choice.refused = std::move(kernel.choice.refused);
  ++choice.refused[why];
  choice.why = fmt::format("{} was chosen, but {}", summary(kernel.choice.config), why);
  kernel.choice = std::move(choice);
  emit(kernel, target);
}

void take(PlannedKernel& kernel, CompiledKernel code) {
  kernel.hashes.ptx = sha256_hex(code.ptx);
  kernel.hashes.cubin = sha256_hex(code.cubin);
  kernel.code = std::move(code);
}

/// Compiles the kernels of those indices; gives the ones that failed, with their outcomes.
std::vector<std::pair<size_t, Outcome>> compile_some(Plan& plan, const std::vector<size_t>& indices,
                                                     const BuilderOptions& options) {
  std::vector<BuildJob> jobs;
  for (size_t index : indices) jobs.push_back({plan.kernels[index].source, plan.target.target.arch()});
  auto results = compile_all(jobs, options);
  std::vector<std::pair<size_t, Outcome>> failed;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (auto* outcome = std::get_if<Outcome>(&results[i])) {
      failed.emplace_back(indices[i], std::move(*outcome));
    } else {
      take(plan.kernels[indices[i]], std::move(std::get<CompiledKernel>(results[i])));
    }
  }
  return failed;
}

Choice choice_of(const LockEntry& entry) {
  Choice choice;
  choice.config = entry.config;
  choice.rung = entry.rung;
  choice.evidence = entry.evidence;
  choice.measured_on = entry.measured_on;
  choice.environment = entry.environment;
  choice.record_key = entry.record;
  choice.measured_workload = entry.measured_workload;
  choice.why = entry.why;
  choice.measured = entry.measured;
  choice.default_us = entry.default_us;
  choice.best_us = entry.best_us;
  choice.trials = entry.trials;
  return choice;
}

/// How the code that is built differs from the code of before, which `tools` made.
std::string difference(const CodeHashes& then, const std::string& tools, const PlannedKernel& kernel,
                       std::string_view when) {
  const CodeHashes& now = kernel.hashes;
  if (then.cubin == now.cubin && !now.cubin.empty()) return fmt::format("same code as {}", when);
  if (then.source != now.source) return fmt::format("other source than {}", when);
  const std::string compilers = fmt::format(" ({} with {}, built with {})", when, tools, kernel.code.compiler);
  if (then.ptx != now.ptx) return fmt::format("same source, other PTX than {}{}", when, compilers);
  return fmt::format("same PTX, other cubin than {}{}", when, compilers);
}

}  // namespace

std::string why_not_locked(const LockFile& lock, const Task& task, const BuildTarget& target) {
  const LockEntry* entry = lock.find(task.key);
  if (!entry) return "no line in the lock file";
  if (entry->target_key != key(target.target)) return "the lock file's line is for target " + entry->target_text;
  if (const auto why = why_illegal(task.workload, entry->config, target.target)) return "locked Config: " + *why;
  return {};
}

Chooser lock_chooser(const LockFile& lock, const BuildTarget& target, Chooser otherwise) {
  return [&lock, target, otherwise = std::move(otherwise)](const Task& task) {
    const std::string why = why_not_locked(lock, task, target);
    if (why.empty()) return choice_of(*lock.find(task.key));
    Choice choice = otherwise(task);
    choice.why = choice.why.empty() ? why : why + "; " + choice.why;
    return choice;
  };
}

Plan make_plan(const Program& program, const BuildTarget& target, const Chooser& choose) {
  Plan plan{target, {}, std::vector<size_t>(program.steps.size())};
  for (Task& task : extract_tasks(program)) {
    for (size_t step : task.steps) plan.kernel_of_step.at(step) = plan.kernels.size();
    PlannedKernel kernel;
    kernel.choice = choose(task);
    kernel.task = std::move(task);
    emit(kernel, target.target);
    plan.kernels.push_back(std::move(kernel));
  }
  return plan;
}

void compile(Plan& plan, const BuilderOptions& options) {
  std::vector<size_t> all(plan.kernels.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::vector<size_t> again;
  const auto fail = [&](size_t index, const Outcome& outcome) {
    const PlannedKernel& kernel = plan.kernels[index];
    const std::string text = fmt::format("kernel of {} ({}): {}: {}", kernel.task.workload.summary(),
                                         summary(kernel.choice.config), name(outcome.kind), outcome.message);
    if (is_transient(outcome.kind)) throw EnvironmentError(text);
    throw InternalError(text);
  };
  for (const auto& [index, outcome] : compile_some(plan, all, options)) {
    PlannedKernel& kernel = plan.kernels[index];
    const bool is_default = kernel.choice.config == default_config(kernel.task.workload, plan.target.target);
    if (is_default || is_transient(outcome.kind)) fail(index, outcome);
    fall_back(kernel, plan.target.target, fmt::format("{} today: {}", name(outcome.kind), outcome.message));
    again.push_back(index);
  }
  for (const auto& [index, outcome] : compile_some(plan, again, options)) fail(index, outcome);
}

std::string code_statement(const PlannedKernel& kernel) {
  const CodeHashes& then = kernel.choice.measured;
  if (!kernel.choice.evidence || then == CodeHashes()) return "not measured";
  return difference(then, kernel.choice.environment, kernel, "measured");
}

std::string lock_statement(const PlannedKernel& kernel, const LockEntry& entry) {
  return difference(entry.code, entry.compiler, kernel, "locked");
}

LockFile lock_of(const Plan& plan) {
  LockFile lock;
  for (const PlannedKernel& kernel : plan.kernels) {
    const Choice& choice = kernel.choice;
    LockEntry entry;
    entry.workload = kernel.task.workload;
    entry.target_text = text(plan.target);
    entry.target_key = key(plan.target.target);
    entry.arch = plan.target.target.arch();
    entry.config = choice.config;
    entry.rung = choice.rung;
    entry.evidence = choice.evidence;
    entry.measured_on = choice.measured_on;
    entry.environment = choice.environment;
    entry.record = choice.record_key;
    entry.measured_workload = choice.measured_workload;
    entry.why = choice.why;
    entry.trials = choice.trials;
    entry.default_us = choice.default_us;
    entry.best_us = choice.best_us;
    entry.code = kernel.hashes;
    entry.measured = choice.measured;
    entry.compiler = kernel.code.compiler;
    lock.add(std::move(entry));
  }
  return lock;
}

}  // namespace warpwright
