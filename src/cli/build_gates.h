// Gates: what a plan must fulfil before a package is made of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/compile/coverage.h"
#include "src/compile/plan.h"
#include "src/core/program.h"

namespace warpwright {

struct Gates {
  std::optional<Rung> require_hit;          // every kernel, or as much as min_time_coverage says
  std::optional<double> min_time_coverage;  // percent of the expected time that must be hits
  std::vector<std::string> allow_miss;      // names of ONNX nodes whose kernels may miss
  EvidencePolicy policy = EvidencePolicy::prefer;

  Rung least() const { return require_hit.value_or(Rung::exact); }
};

struct GateReport {
  std::vector<size_t> misses;   // kernels below the rung, those that may miss left out
  std::vector<size_t> allowed;  // those
  double covered = 0;           // share of the expected time that is hits, those that may miss left out
  std::string refusal;          // why nothing may be built; empty when all gates are open
};

/// Throws UsageError when allow_miss names a node that no kernel computes.
GateReport judge_plan(const Program& program, const Plan& plan, const Coverage& coverage, const Gates& gates);

/// Names of the ONNX nodes that a kernel computes.
std::vector<std::string> nodes_of(const Program& program, const PlannedKernel& kernel);

/// `exact, 3 trials`, `arch, 2,000 trials on NVIDIA GeForce RTX 4080`, `default`.
std::string rung_text(const Choice& choice);
/// Why a kernel misses, in a line.
std::string miss_text(const Program& program, const PlannedKernel& kernel);

/// For `tune --tasks-from`: a line for each miss, with its reason.
void write_misses(const std::filesystem::path& path, const Plan& plan, const GateReport& report);

}  // namespace warpwright
