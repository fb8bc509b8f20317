// The default of a Workload: the most promising of its families' defaults.
#pragma once

#include <span>
#include <vector>

#include "search_space/kernel_family.h"

namespace warpwright {

/// The default Config of each family, the least analytic estimate first; of equals the family that stands first. The
/// families must take the Workload.
std::vector<Config> default_configs(const Workload& workload, const Target& target,
                                    std::span<const KernelFamily* const> families);

/// The first of these over all families that take the Workload; throws UsageError when there is none, with the reasons.
Config default_config(const Workload& workload, const Target& target);

}  // namespace warpwright
