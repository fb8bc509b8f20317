// Expected times of kernels, measured or not, in one scale.
#include "src/compile/coverage.h"

#include "cost_model/cost_model.h"

namespace warpwright {
namespace {

/// Whether best_us is a time of the plan's card.
bool is_measured_here(const Choice& choice) { return choice.rung == Rung::exact && choice.best_us > 0; }

}  // namespace

Coverage coverage_of(const Plan& plan) {
  Coverage coverage;
  std::vector<double> ratios;  // of measurement to prior
  for (const PlannedKernel& kernel : plan.kernels) {
    const double prior_us = analytic_us(kernel.task.workload, kernel.choice.config, plan.target.target);
    coverage.expected_us.push_back(prior_us);
    if (is_measured_here(kernel.choice) && prior_us > 0) ratios.push_back(kernel.choice.best_us / prior_us);
  }
  const double scale = ratios.empty() ? 1 : median(std::move(ratios));
  double sum = 0;
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlannedKernel& kernel = plan.kernels[i];
    const double us = is_measured_here(kernel.choice) ? kernel.choice.best_us : coverage.expected_us[i] * scale;
    coverage.expected_us[i] = us * kernel.task.weight;
    sum += coverage.expected_us[i];
    RungCount& count = coverage.rungs[kernel.choice.rung];
    ++count.kernels;
    count.time_share += coverage.expected_us[i];
  }
  for (auto& [rung, count] : coverage.rungs) count.time_share = sum > 0 ? count.time_share / sum : 0;
  return coverage;
}

}  // namespace warpwright
