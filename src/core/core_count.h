// How many cores this process may use.
#pragma once

#include <filesystem>
#include <string_view>

namespace warpwright {

/// Cores that the scheduler may give this process: its affinity, and the quotas of its control groups rounded up. At
/// least 1. Read once.
int core_count();

/// The least quota of the group that `membership` names (the text of /proc/self/cgroup) and of those above it below
/// `root`, in cores rounded up; 0 where there is none. Control groups v2 (`cpu.max`) and v1 (`cpu.cfs_quota_us`).
int quota_cores(std::string_view membership, const std::filesystem::path& root);

}  // namespace warpwright
