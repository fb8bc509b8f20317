// Properties that hold of any estimate: more of anything is never faster, and the time is at least each bound.
#include <gtest/gtest.h>

#include <functional>

#include "src/core/error.h"
#include "src/device/virtual/clock.h"

namespace warpwright {
namespace {

uint64_t& issued(CtaProfile& cta, Pipe pipe) { return cta.issued[static_cast<size_t>(pipe)]; }

/// CTA number `index` of a tiled integer GEMM: 64×64 outputs, K 576, 256 threads, rows shared along the grid.
CtaProfile gemm_cta(uint64_t index) {
  CtaProfile cta;
  const uint64_t warps = 8, steps = 18;
  issued(cta, Pipe::dot) = warps * steps * 128;
  issued(cta, Pipe::shared) = warps * steps * 20;
  issued(cta, Pipe::global) = warps * (steps * 4 + 4);
  issued(cta, Pipe::integer) = warps * (steps * 8 + 40);
  issued(cta, Pipe::multiply) = warps * (steps * 4 + 5);
  issued(cta, Pipe::control) = warps * (steps + 1);
  issued(cta, Pipe::barrier) = warps * steps * 2;
  cta.shared_wavefronts = cta.shared_wavefronts_ideal = warps * steps * (16 * 2 + 4);
  cta.loads.count = warps * steps * 4;
  cta.loads.sectors = cta.loads.count * 4;
  cta.stores.count = warps * 4;
  cta.stores.sectors = cta.stores.count * 4;
  cta.barriers = steps * 2;
  cta.longest_warp_issued = steps * 168 + 60;
  cta.load_waits = steps;
  cta.shared_waits = steps * 8;
  for (uint64_t i = 0; i < 64 * 18; ++i) {
    cta.read_sectors.push_back(1000000 + index / 4 * 2000 + i);  // activations: of a row of 4 CTAs
  }
  for (uint64_t i = 0; i < 64 * 18; ++i) cta.read_sectors.push_back(9000000 + index % 4 * 2000 + i);  // weights
  for (uint64_t i = 0; i < 128; ++i) cta.written_sectors.push_back(20000000 + index * 128 + i);
  return cta;
}

LaunchProfile gemm(uint64_t ctas = 512) {
  LaunchProfile profile;
  profile.ctas = ctas;
  profile.threads_per_cta = 256;
  profile.registers_per_thread = 64;
  profile.smem_bytes_per_cta = 4352;
  profile.static_issued = 300;
  for (const uint64_t index : {uint64_t{0}, ctas / 3, ctas / 2, ctas - 1}) {
    profile.sampled.push_back(gemm_cta(index));
    profile.sampled.back().weight = static_cast<double>(ctas) / 4;
  }
  profile.read_footprint_bytes = (ctas / 4 * 64 * 18 + 4 * 64 * 18) * 32;
  profile.written_footprint_bytes = ctas * 128 * 32;
  return profile;
}

class ClockOfEveryTarget : public testing::TestWithParam<std::string> {
 protected:
  const Target& target() const { return target_preset(GetParam()); }

  /// The change makes the launch slower or leaves it as it is.
  void never_faster(const std::string& what, const std::function<void(LaunchProfile&)>& change) const {
    for (const uint64_t ctas : {1, 7, 100, 512, 5000}) {
      for (const bool cold : {false, true}) {
        LaunchProfile profile = gemm(ctas);
        const double before = estimate(profile, target(), cold).time_us;
        change(profile);
        EXPECT_GE(estimate(profile, target(), cold).time_us, before * (1 - 1e-12)) << what << ", " << ctas << " CTAs";
      }
    }
  }

  void each_cta(const std::string& what, const std::function<void(CtaProfile&)>& change) const {
    never_faster(what, [&](LaunchProfile& profile) {
      for (CtaProfile& cta : profile.sampled) change(cta);
    });
  }
};

TEST_P(ClockOfEveryTarget, TimeIsAtLeastEachBoundAndNamesTheLargest) {
  for (const uint64_t ctas : {1, 7, 100, 512, 5000}) {
    const ClockResult result = estimate(gemm(ctas), target());
    ASSERT_FALSE(result.bounds.empty());
    double largest = 0;
    for (const ClockBound& bound : result.bounds) {
      EXPECT_GE(result.time_us, bound.time_us) << bound.name;
      EXPECT_GE(bound.time_us, 0) << bound.name;
      largest = std::max(largest, bound.time_us);
    }
    EXPECT_EQ(result.bounds.front().time_us, largest);
    EXPECT_EQ(result.limited_by, result.bounds.front().name);
    EXPECT_GE(result.time_us, result.launch_us);
  }
}

TEST_P(ClockOfEveryTarget, SameCountsGiveTheSameTime) {
  const ClockResult one = estimate(gemm(), target()), two = estimate(gemm(), target());
  EXPECT_EQ(to_json(one), to_json(two));
}

TEST_P(ClockOfEveryTarget, MoreInstructionsOfAPipeAreNeverFaster) {
  for (size_t pipe = 0; pipe < kPipeCount; ++pipe) {
    each_cta("pipe " + std::to_string(pipe),
             [pipe](CtaProfile& cta) { cta.issued[pipe] = cta.issued[pipe] * 2 + 100; });
  }
}

TEST_P(ClockOfEveryTarget, MoreTrafficOrWaitingIsNeverFaster) {
  each_cta("conflicts", [](CtaProfile& cta) { cta.shared_wavefronts *= 4; });
  each_cta("load sectors", [](CtaProfile& cta) { cta.loads.sectors *= 4; });
  each_cta("store sectors", [](CtaProfile& cta) { cta.stores.sectors *= 8; });
  each_cta("requests", [](CtaProfile& cta) { cta.loads.count *= 4; });
  each_cta("barriers", [](CtaProfile& cta) { cta.barriers *= 4; });
  each_cta("load waits", [](CtaProfile& cta) { cta.load_waits *= 2; });
  each_cta("shared waits", [](CtaProfile& cta) { cta.shared_waits *= 2; });
  each_cta("longest warp", [](CtaProfile& cta) { cta.longest_warp_issued *= 2; });
}

TEST_P(ClockOfEveryTarget, TwiceTheDramBytesAreNeverFaster) {
  never_faster("distinct sectors", [](LaunchProfile& profile) {
    profile.read_footprint_bytes *= 2;
    profile.written_footprint_bytes *= 2;
    for (CtaProfile& cta : profile.sampled) {
      for (auto* sectors : {&cta.read_sectors, &cta.written_sectors}) {
        const size_t count = sectors->size();
        for (size_t i = 0; i < count; ++i) sectors->push_back((*sectors)[i] + 100000000);
      }
      cta.loads.sectors *= 2;
      cta.stores.sectors *= 2;
    }
  });
}

TEST_P(ClockOfEveryTarget, SpillsSharedMemoryAndRegistersAreNeverFaster) {
  never_faster("spills", [](LaunchProfile& profile) { profile.spill_load_bytes = profile.spill_store_bytes = 64; });
  never_faster("registers", [](LaunchProfile& profile) { profile.registers_per_thread = 168; });
  never_faster("shared memory", [](LaunchProfile& profile) { profile.smem_bytes_per_cta = 40 << 10; });
  never_faster("CTAs", [](LaunchProfile& profile) { profile.ctas *= 2; });
}

TEST_P(ClockOfEveryTarget, AWarmL2IsNeverSlower) {
  for (const uint64_t ctas : {1, 100, 5000}) {
    EXPECT_LE(estimate(gemm(ctas), target(), false).time_us, estimate(gemm(ctas), target(), true).time_us);
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, ClockOfEveryTarget, testing::Values("rtx4090", "a100", "t4", "orin", "h200"),
                         [](const auto& info) { return info.param; });

TEST(Clock, DotIsBoundByItsPeak) {
  // 5000 CTAs × 8 warps × 18 × 128 dp4a of 32 lanes, at 64 lanes a clock on each of 128 SMs of 2520 MHz.
  const Target& target = target_preset("rtx4090");
  const ClockResult result = estimate(gemm(5000), target, false);
  EXPECT_EQ(result.limited_by, "dot");
  const double at_peak = 5000.0 * 8 * 18 * 128 * 32 / 64 / 128 / 2520;
  EXPECT_GE(result.time_us, at_peak);
  EXPECT_LE(result.time_us, at_peak * 1.5);
}

TEST(Clock, EachResourceCanBeTheLimit) {
  const Target& target = target_preset("rtx4090");
  const auto limit = [&](const std::function<void(LaunchProfile&, CtaProfile&)>& change) {
    LaunchProfile profile = gemm(5000);
    for (CtaProfile& cta : profile.sampled) change(profile, cta);
    return estimate(profile, target).limited_by;
  };
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { cta.shared_wavefronts *= 20; }), "shared");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { issued(cta, Pipe::integer) *= 50; }), "integer");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { issued(cta, Pipe::multiply) *= 50; }), "multiply");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { issued(cta, Pipe::conversion) = 50000; }), "conversion");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { issued(cta, Pipe::special) = 50000; }), "special");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { issued(cta, Pipe::shuffle) = 100000; }), "shuffle");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { issued(cta, Pipe::local) = 100000; }), "local");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { cta.load_waits *= 50; }), "latency");
  EXPECT_EQ(limit([](auto&, CtaProfile& cta) { cta.stores.sectors *= 300; }), "l2");
  EXPECT_EQ(limit([](LaunchProfile& profile, CtaProfile& cta) {
              profile.read_footprint_bytes = uint64_t{1} << 32;
              for (uint64_t i = 0; i < 20000; ++i) {
                cta.read_sectors.push_back(500000000 + i + static_cast<uint64_t>(&cta - &profile.sampled[0]) * 20000);
              }
              cta.loads.sectors += 20000;
            }),
            "dram");
  LaunchProfile tiny = gemm(1);
  tiny.sampled.resize(1);
  tiny.sampled[0] = CtaProfile{};
  EXPECT_EQ(estimate(tiny, target).limited_by, "launch");
  tiny.ctas = 10'000'000;
  tiny.threads_per_cta = 32;
  EXPECT_EQ(estimate(tiny, target).limited_by, "dispatch");
  LaunchProfile floats = gemm(5000);
  for (CtaProfile& cta : floats.sampled) issued(cta, Pipe::floating) = 100000;
  EXPECT_EQ(estimate(floats, target_preset("a100")).limited_by, "floating");  // 64 lanes there
  EXPECT_EQ(estimate(floats, target).limited_by, "issue");                    // 128 lanes: all four schedulers
}

TEST(Clock, EnoughCtasForAllMultiprocessors) {
  // The same work in fewer, larger CTAs: 16 of 8 times the work leave most of 128 SMs idle.
  const Target& target = target_preset("rtx4090");
  LaunchProfile few = gemm(16);
  for (CtaProfile& cta : few.sampled) {
    for (uint64_t& count : cta.issued) count *= 8;
    cta.longest_warp_issued *= 8;
  }
  EXPECT_GT(estimate(few, target).time_us - estimate(few, target).launch_us,
            2 * (estimate(gemm(128), target).time_us - estimate(gemm(128), target).launch_us));
}

TEST(Clock, OneCtaMoreThanTheWaveCostsAnotherRound) {
  const Target& target = target_preset("rtx4090");
  EXPECT_GT(estimate(gemm(129), target).time_us, estimate(gemm(128), target).time_us);
  EXPECT_NEAR(estimate(gemm(256), target).time_us, estimate(gemm(129), target).time_us, 0.5);
}

TEST(Clock, OccupancyHidesLatency) {
  // Waiting for loads in every step: with one CTA an SM nothing hides it.
  const Target& target = target_preset("rtx4090");
  LaunchProfile crowded = gemm(2048), alone = gemm(2048);
  alone.smem_bytes_per_cta = 90 << 10;
  EXPECT_EQ(estimate(alone, target).resident_ctas, 1);
  EXPECT_EQ(estimate(alone, target).occupancy_limit, "shared memory");
  EXPECT_EQ(estimate(crowded, target).resident_ctas, 4);
  EXPECT_GT(estimate(alone, target).time_us, 1.3 * estimate(crowded, target).time_us);
}

TEST(Clock, ALoadFarFromItsUseWaitsLess) {
  LaunchProfile near = gemm(100), far = gemm(100);
  for (CtaProfile& cta : far.sampled) cta.load_wait_distance = cta.load_waits * 120;
  EXPECT_LT(estimate(far, target_preset("rtx4090")).time_us, estimate(near, target_preset("rtx4090")).time_us);
}

TEST(Clock, RefusesWhatCannotRun) {
  const Target& target = target_preset("rtx4090");
  LaunchProfile profile = gemm();
  profile.smem_bytes_per_cta = 200 << 10;
  EXPECT_THROW(estimate(profile, target), UsageError);
  profile = gemm();
  profile.threads_per_cta = 1024;
  profile.registers_per_thread = 128;
  EXPECT_THROW(estimate(profile, target), UsageError);
  profile = gemm();
  profile.sampled.clear();
  EXPECT_THROW(estimate(profile, target), UsageError);
  profile = gemm();
  profile.sampled[0].weight = 0;
  EXPECT_THROW(estimate(profile, target), UsageError);
  Target bare = target;
  bare.timing = Json::object();
  EXPECT_THROW(estimate(gemm(), bare), UsageError);
}

}  // namespace
}  // namespace warpwright
