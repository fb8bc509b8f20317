// Plan: for each task of a program the Config to use, why, and its code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/builder.h"
#include "src/compile/best_history.h"
#include "src/compile/lock_file.h"
#include "src/core/kernel.h"
#include "src/core/program.h"
#include "src/tasks/tasks.h"

namespace warpwright {

/// One kernel of a plan; it runs all steps of its task.
struct PlannedKernel {
  Task task;
  Choice choice;
  KernelSource source;
  CompiledKernel code;  // empty before `compile`
  CodeHashes hashes;    // source after make_plan, all after `compile`
};

struct Plan {
  BuildTarget target;
  std::vector<PlannedKernel> kernels;  // in the order of the tasks
  std::vector<size_t> kernel_of_step;
};

using Chooser = std::function<Choice(const Task&)>;

/// Why the lock has no Config for a task; empty where it has.
std::string why_not_locked(const LockFile& lock, const Task& task, const BuildTarget& target);

/// The lock's Config where it is legal today, else what `otherwise` chooses, saying why the lock did not serve. A line
/// for another target does not serve. The lock outlives the chooser.
Chooser lock_chooser(const LockFile& lock, const BuildTarget& target, Chooser otherwise);

/// Chooses for every task and emits the sources; compiles nothing.
Plan make_plan(const Program& program, const BuildTarget& target, const Chooser& choose);

/// Compiles every kernel. A chosen Config that does not compile any more gives way to the default, and its choice says
/// so; a default that does not compile throws InternalError, a compiler that is missing EnvironmentError.
void compile(Plan& plan, const BuilderOptions& options);

/// `same code as measured`, or what changed since; `not measured` for a default without a record.
std::string code_statement(const PlannedKernel& kernel);
/// `same code as locked`, or what differs from it.
std::string lock_statement(const PlannedKernel& kernel, const LockEntry& entry);

LockFile lock_of(const Plan& plan);

}  // namespace warpwright
