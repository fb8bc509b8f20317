// What the lock file did for a build: which kernels it gave, which it could not, and whether their code is the same.
#pragma once

#include <map>
#include <string>

#include "src/compile/lock_file.h"
#include "src/compile/plan.h"
#include "src/core/json.h"
#include "src/core/program.h"

namespace warpwright {

/// Warns of every task that the lock could not give a Config, with the reason, and of lines that no task asked for.
void warn_of_lock(const Program& program, const Plan& plan, const LockFile& lock, const std::string& path);

/// How many kernels stand to the lock how, by statement. The plan is compiled.
std::map<std::string, int> lock_statements(const Plan& plan, const LockFile& lock);
/// Kernels whose cubin is not the locked one, a line each.
void print_changed_cubins(const Program& program, const Plan& plan, const LockFile& lock);

/// Adds `not_locked` and `unused_lock_lines`; of a compiled plan also `locked_code` and `changed_cubins`.
void add_lock(Json& document, const Program& program, const Plan& plan, const LockFile& lock, bool is_compiled);

}  // namespace warpwright
