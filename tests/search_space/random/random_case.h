// Random cases: a kernel of some family on some card, and what becomes of it on the virtual device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/compiler.h"
#include "search_space/kernel_family.h"

namespace warpwright::testing {

struct RandomCase {
  const KernelFamily* family = nullptr;
  const Target* target = nullptr;
  Workload workload;
  Config config;
  uint64_t example_seed = 0;
};

/// A card of each architecture from sm_75 to sm_90.
const std::vector<const Target*>& random_targets();

/// The same for the same arguments: a Workload that the family takes on the Target, and a legal Config of it: seldom
/// the default or a seed, mostly any. nullopt when the family takes none of many Workloads there.
std::optional<RandomCase> random_case(const KernelFamily& family, const Target& target, uint64_t seed);

/// `ok`, or one word for what went wrong: `wrong`, `out_of_bounds`, `race`, `uninitialised`, ...
struct CaseResult {
  std::string verdict;
  std::string message;
  bool ok() const { return verdict == "ok"; }
};

/// Compiles the kernel, runs it on the virtual device with every check on, and compares every byte of the output with
/// the reference.
CaseResult run_case(Compiler& compiler, const RandomCase& item);

/// All that it takes to look into the case: Workload, Config, Target.
std::string describe(const RandomCase& item);

}  // namespace warpwright::testing
