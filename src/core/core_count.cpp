// Affinity and the quotas of control groups (Linux, Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files").
#include "src/core/core_count.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace warpwright {
namespace {

namespace fs = std::filesystem;

/// Microseconds in each period, rounded up to cores; 0 where either is no positive number (`max`, -1).
int cores_of(const std::string& quota, const std::string& period) {
  try {
    const long long used = std::stoll(quota), of = std::stoll(period);
    if (used <= 0 || of <= 0) return 0;
    return static_cast<int>(std::min<long long>((used - 1) / of + 1, 1 << 20));
  } catch (const std::logic_error&) {
    return 0;
  }
}

std::string word_of(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

int quota_of(const fs::path& folder) {
  std::string quota, period;
  if (std::ifstream(folder / "cpu.max") >> quota >> period) return cores_of(quota, period);
  return cores_of(word_of(folder / "cpu.cfs_quota_us"), word_of(folder / "cpu.cfs_period_us"));
}

/// Of `group` and those above it, up to the mount; groups outside of it (`/..`) count as inside.
int least_quota(const fs::path& mount, const fs::path& group) {
  int least = 0;
  for (fs::path at = group.lexically_normal().relative_path();; at = at.parent_path()) {
    const int cores = quota_of(mount / at);
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
    if (at.empty()) return least;
  }
}

}  // namespace

int quota_cores(std::string_view membership, const fs::path& root) {
  std::istringstream lines{std::string(membership)};
  int least = 0;
  for (std::string line; std::getline(lines, line);) {  // `0::/path`, or of v1 `4:cpu,cpuacct:/path`
    const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (controllers != ",," && controllers.find(",cpu,") == std::string::npos) continue;
    const fs::path mount = controllers == ",," ? root : root / "cpu";
    const int cores = least_quota(mount, line.substr(second + 1));
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
  }
  return least;
}

int core_count() {
  static const int count = [] {
    const int affinity = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    std::ostringstream membership;
    membership << std::ifstream("/proc/self/cgroup").rdbuf();
    const int quota = quota_cores(membership.str(), "/sys/fs/cgroup");
    return quota > 0 ? std::min(affinity, quota) : affinity;
  }();
  return count;
}

}  // namespace warpwright
