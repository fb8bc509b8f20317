// The default of a Workload: the most promising of its families' defaults.
#pragma once

#include <span>
#include <vector>

#include "search_space/kernel_family.h"

namespace warpwright {

/// The default Config of each family that has a legal one on this card, the least analytic estimate first; of equals
/// the family that stands first. The families must take the Workload.
std::vector<Config> default_configs(const Workload& workload, const Target& target,
                                    std::span<const KernelFamily* const> families);

/// The first of these over all families that take the Workload. Throws UsageError when there is none: with the reason
/// of each family, or, where no Config is legal, with the constraints and how many points each of them rules out.
Config default_config(const Workload& workload, const Target& target);

}  // namespace warpwright
