// What `build` prints: kernels with rung, evidence and effort, the way of the time over the rungs, and what changed.
#pragma once

#include "src/cli/build_gates.h"
#include "src/compile/coverage.h"
#include "src/compile/plan.h"
#include "src/core/json.h"
#include "src/core/program.h"

namespace warpwright {

void print_kernels(const Program& program, const Plan& plan);
/// `53 kernels for rtx4090: 38 exact, 11 arch, 2 near, 2 default; 94 % of the expected time on exact`, then evidence,
/// where it was measured, why not better, and what was not used.
void print_rungs(const Plan& plan, const Coverage& coverage);
/// Whether the code is the one that was measured and, with a lock, the one that was locked.
void print_code(const Plan& plan, const LockFile& lock);

Json build_document(const Program& program, const Plan& plan, const Coverage& coverage, const GateReport& report);

}  // namespace warpwright
