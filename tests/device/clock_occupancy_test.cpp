// Occupancy against the results of the occupancy calculator, and distinct sectors against counting.
#include <gtest/gtest.h>

#include <set>

#include "src/device/virtual/clock.h"
#include "src/device/virtual/clock_traffic.h"

namespace warpwright {
namespace {

TEST(Occupancy, FollowsTheTightestLimit) {
  const Target& ada = target_preset("rtx4090");
  // 48 warps, 24 CTAs, 65536 registers in units of 256 a warp, 100 KB with 1 KB reserved a CTA.
  EXPECT_EQ(occupancy(256, 32, 0, ada).ctas, 6);
  EXPECT_EQ(occupancy(256, 32, 0, ada).limit, "warps");
  EXPECT_EQ(occupancy(256, 64, 0, ada).ctas, 4);
  EXPECT_EQ(occupancy(256, 64, 0, ada).limit, "registers");
  EXPECT_EQ(occupancy(256, 65, 0, ada).ctas, 3);  // 72 registers are given: 28 warps
  EXPECT_EQ(occupancy(256, 255, 0, ada).ctas, 1);
  EXPECT_EQ(occupancy(32, 16, 0, ada).ctas, 24);
  EXPECT_EQ(occupancy(32, 16, 0, ada).limit, "ctas");
  EXPECT_EQ(occupancy(128, 32, 49 << 10, ada).ctas, 2);
  EXPECT_EQ(occupancy(128, 32, (49 << 10) + 1, ada).ctas, 1);
  EXPECT_EQ(occupancy(128, 32, 49 << 10, ada).limit, "shared memory");
}

TEST(Occupancy, TuringReservesNoSharedMemory) {
  EXPECT_EQ(occupancy(128, 32, 32 << 10, target_preset("t4")).ctas, 2);
  EXPECT_EQ(occupancy(128, 32, 64 << 10, target_preset("t4")).ctas, 1);
}

TEST(Occupancy, IsZeroForWhatDoesNotFit) {
  const Target& ada = target_preset("rtx4090");
  EXPECT_EQ(occupancy(1056, 16, 0, ada).ctas, 0);
  EXPECT_EQ(occupancy(0, 16, 0, ada).ctas, 0);
  EXPECT_EQ(occupancy(1024, 65, 0, ada).ctas, 0);
  EXPECT_EQ(occupancy(128, 256, 0, ada).ctas, 0);
  EXPECT_EQ(occupancy(128, 32, (99 << 10) + 1, ada).ctas, 0);
}

TEST(SectorSharing, IsExactWhenEveryCtaIsSampled) {
  LaunchProfile profile;
  profile.ctas = 12;
  std::set<uint64_t> all;
  for (uint64_t cta = 0; cta < 12; ++cta) {
    CtaProfile one;
    std::set<uint64_t> own;
    for (uint64_t i = 0; i < 50; ++i) own.insert(cta * 37 + i);  // neighbours overlap
    for (uint64_t i = 0; i < 20; ++i) own.insert(100000 + i);    // shared by all
    one.read_sectors.assign(own.begin(), own.end());
    all.insert(own.begin(), own.end());
    profile.sampled.push_back(one);
  }
  EXPECT_NEAR(SectorSharing(profile, &CtaProfile::read_sectors).distinct(12), static_cast<double>(all.size()), 1e-9);
}

TEST(SectorSharing, GrowsWithTheGridOnlyByWhatIsNotShared) {
  LaunchProfile profile;
  profile.ctas = 1000;
  for (uint64_t cta = 0; cta < 4; ++cta) {
    CtaProfile one;
    one.weight = 250;
    for (uint64_t i = 0; i < 10; ++i) one.read_sectors.push_back(i);
    for (uint64_t i = 0; i < 5; ++i) one.read_sectors.push_back(1000 + cta * 5 + i);
    profile.sampled.push_back(one);
  }
  EXPECT_NEAR(SectorSharing(profile, &CtaProfile::read_sectors).distinct(1000), 10 + 5 * 1000, 1e-6);
}

TEST(Traffic, ReadsComeBackOnlyWhenL2CannotKeepThem) {
  LaunchProfile profile;
  profile.ctas = 64;
  for (uint64_t cta = 0; cta < 64; ++cta) {
    CtaProfile one;
    for (uint64_t i = 0; i < 1000; ++i) one.read_sectors.push_back(i);  // every CTA reads the same 32 kB
    profile.sampled.push_back(one);
  }
  const LaunchSharing sharing(profile);
  EXPECT_DOUBLE_EQ(estimate_traffic(profile, sharing, 16, 1e6, true).dram_bytes, 32000);
  EXPECT_DOUBLE_EQ(estimate_traffic(profile, sharing, 16, 1e6, false).dram_bytes, 0);
  EXPECT_GT(estimate_traffic(profile, sharing, 16, 16000, true).dram_bytes, 32000);
  EXPECT_LE(estimate_traffic(profile, sharing, 16, 1, true).dram_bytes, 4 * 32000);
}

TEST(Traffic, NeighboursReadOnceWhatTheyShare) {
  // A wave of 4 × 4 CTAs, row by row: a new row of A for each fourth, columns of B for the first four alone.
  std::vector<double> fresh;
  for (int cta = 0; cta < 16; ++cta) fresh.push_back((cta % 4 == 0 ? 0.5 : 0.0) + (cta < 4 ? 0.5 : 0.0));
  EXPECT_DOUBLE_EQ(fresh_part(fresh, 1), 1);
  EXPECT_DOUBLE_EQ(fresh_part(fresh, 4), (1 + 3 * 0.5) / 4);
  EXPECT_DOUBLE_EQ(fresh_part(fresh, 16), 4.0 / 16);
  EXPECT_DOUBLE_EQ(fresh_part(fresh, 32), (4.0 + 16 * 0.125) / 32);  // later ones like the last quarter
  EXPECT_DOUBLE_EQ(fresh_part({}, 32), 1);

  LaunchProfile profile;  // samples from all over the grid share nothing
  profile.ctas = 1600;
  for (uint64_t i = 0; i < 4; ++i) {
    CtaProfile one;
    one.weight = 400;
    for (uint64_t k = 0; k < 100; ++k) one.read_sectors.push_back(i * 1000 + k);
    profile.sampled.push_back(one);
  }
  profile.read_footprint_bytes = 1600 * 100 * 32;
  profile.fresh_reads = fresh;
  const Traffic traffic = estimate_traffic(profile, LaunchSharing(profile), 16, 1000, true);
  EXPECT_DOUBLE_EQ(traffic.dram_bytes, 1600 * 100 * 32 / 4.0);
}

}  // namespace
}  // namespace warpwright
