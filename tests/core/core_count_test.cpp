// Cores by the quotas of control groups.
#include "src/core/core_count.h"

#include <gtest/gtest.h>

#include <thread>

#include "src/core/file.h"

namespace warpwright {
namespace {

void write(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  write_file(file, text);
}

TEST(CoreCount, IsAtMostTheAffinity) {
  EXPECT_GE(core_count(), 1);
  EXPECT_LE(core_count(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

TEST(CoreCount, QuotaOfAContainerIsRoundedUp) {
  const TemporaryFolder root;
  write(root.path() / "cpu.max", "250000 100000\n");
  EXPECT_EQ(quota_cores("0::/\n", root.path()), 3);
  write(root.path() / "cpu.max", "max 100000\n");
  EXPECT_EQ(quota_cores("0::/\n", root.path()), 0);
  write(root.path() / "cpu.max", "20000 100000\n");
  EXPECT_EQ(quota_cores("0::/\n", root.path()), 1);
}

TEST(CoreCount, TheLeastOfAllGroupsAboveCounts) {
  const TemporaryFolder root;
  write(root.path() / "night/cpu.max", "200000 100000\n");
  write(root.path() / "night/tuner/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota_cores("0::/night/tuner\n", root.path()), 2);
  EXPECT_EQ(quota_cores("0::/night/tuner/deeper\n", root.path()), 2);
  EXPECT_EQ(quota_cores("0::/day\n", root.path()), 0);
  write(root.path() / "cpu.max", "100000 100000\n");
  EXPECT_EQ(quota_cores("0::/../elsewhere\n", root.path()), 1);
}

TEST(CoreCount, VersionOneOfControlGroups) {
  const TemporaryFolder root;
  write(root.path() / "cpu/docker/cpu.cfs_quota_us", "150000\n");
  write(root.path() / "cpu/docker/cpu.cfs_period_us", "50000\n");
  const std::string membership = "12:memory:/docker\n4:cpu,cpuacct:/docker\n3:cpuset:/docker\n";
  EXPECT_EQ(quota_cores(membership, root.path()), 3);
  write(root.path() / "cpu/docker/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota_cores(membership, root.path()), 0);
}

TEST(CoreCount, NonsenseIsNoQuota) {
  const TemporaryFolder root;
  for (const char* text : {"", "x y", "100000", "0 0", "-5 10", "99999999999999999999 1"}) {
    write(root.path() / "cpu.max", text);
    EXPECT_EQ(quota_cores("0::/\n", root.path()), 0) << text;
  }
  EXPECT_EQ(quota_cores("no group\n0:\n", root.path()), 0);
}

}  // namespace
}  // namespace warpwright
