// CostModel: guesses which Configs are worth measuring.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/core/config.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {

/// A measured point: relative speed is default_us / median_us within its task; 0 for a Config that failed for good.
struct Observation {
  const Workload* workload;
  Config config;
  double relative_speed = 0;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Learns from all observations so far (the whole list each time).
  virtual void fit(std::span<const Observation> observations, const Target& target) = 0;
  /// Higher is better; comparable within one Workload only. Before the first fit: the analytic prior alone.
  virtual std::vector<double> score(const Workload& workload, std::span<const Config> configs,
                                    const Target& target) const = 0;
};

/// Analytic estimate in microseconds from Workload, Config and Target alone.
double analytic_us(const Workload& workload, const Config& config, const Target& target);

std::unique_ptr<CostModel> make_analytic_cost_model();
std::unique_ptr<CostModel> make_xgboost_cost_model(uint64_t seed);

}  // namespace warpwright
