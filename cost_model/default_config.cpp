// The choice between the defaults of several families.
#include "cost_model/default_config.h"

#include <algorithm>
#include <numeric>

#include "cost_model/analytic_estimate.h"
#include "src/core/error.h"

namespace warpwright {

std::vector<Config> default_configs(const Workload& workload, const Target& target,
                                    std::span<const KernelFamily* const> families) {
  std::vector<Config> configs;
  std::vector<double> us;
  for (const KernelFamily* family : families) {
    configs.push_back(family->default_config(workload, target));
    const Resources resources = family->resources(workload, configs.back(), target);
    us.push_back(estimate_analytically(workload, resources, target).total_us);
  }
  std::vector<size_t> order(configs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return us[i]; });
  std::vector<Config> sorted;
  for (const size_t i : order) sorted.push_back(std::move(configs[i]));
  return sorted;
}

Config default_config(const Workload& workload, const Target& target) {
  const std::vector<const KernelFamily*> families = families_for(workload, target);
  if (families.empty()) throw UsageError(why_unsupported(workload, target));
  return default_configs(workload, target, families).front();
}

}  // namespace warpwright
