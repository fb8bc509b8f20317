// The choice between the defaults of several families.
#include "cost_model/default_config.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "cost_model/analytic_estimate.h"
#include "search_space/no_legal_config.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr int kTries = 100'000;

/// Where the family's formula finds nothing, any legal Config; nullopt where there seems to be none.
std::optional<Config> default_of(const KernelFamily& family, const Workload& workload, const Target& target) {
  try {
    return family.default_config(workload, target);
  } catch (const NoLegalConfig&) {
    std::mt19937_64 random(1);
    return family.space(workload, target).sample(random, kTries);
  }
}

}  // namespace

std::vector<Config> default_configs(const Workload& workload, const Target& target,
                                    std::span<const KernelFamily* const> families) {
  std::vector<Config> configs;
  std::vector<double> us;
  for (const KernelFamily* family : families) {
    std::optional<Config> config = default_of(*family, workload, target);
    if (!config) continue;
    configs.push_back(*std::move(config));
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
  std::vector<Config> configs = default_configs(workload, target, families);
  if (configs.empty()) throw UsageError(why_no_config(workload, target));
  return std::move(configs.front());
}

}  // namespace warpwright
