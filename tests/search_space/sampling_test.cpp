// Sampling of every family's space: few tries for each legal point, and quick checks that refuse no legal one.
#include <gtest/gtest.h>

#include "search_space/kernel_family.h"
#include "tests/search_space/product_workloads.h"

namespace warpwright {
namespace {

/// A try costs less than a tenth of a microsecond where the QuickCheck refuses it, so that 1,000 samples stay below 50
/// ms: benchmarks/space_sampling.
constexpr int kMostTries = 600;

template <typename Check>
void for_each_space(const Check& check) {
  for (const char* card : {"t4", "rtx4090"}) {
    const Target& target = target_preset(card);
    for (const Workload& workload : testing::typical_products()) {
      for (const KernelFamily* family : families_for(workload, target)) {
        SCOPED_TRACE(std::string(family->name()) + " of " + workload.summary() + " on " + card);
        check(family->space(workload, target));
      }
    }
  }
}

TEST(Sampling, TakesFewTries) {
  for_each_space([](const Space& space) {
    std::mt19937_64 random(11);
    constexpr int kDraws = 12000;
    int legal = 0;
    for (int draw = 0; draw < kDraws; ++draw) legal += space.sample(random, 1).has_value();
    EXPECT_GE(legal * kMostTries, kDraws) << space.point_count() << " points";
  });
}

TEST(Sampling, QuickChecksRefuseNoLegalPoint) {
  for_each_space([](const Space& space) {
    std::mt19937_64 random(12);
    for (int draw = 0; draw < 1000; ++draw) {
      const Config point = space.point(static_cast<int64_t>(random() % static_cast<uint64_t>(space.point_count())));
      EXPECT_TRUE(space.may_be_legal(point) || space.why_illegal(point)) << summary(point);
    }
  });
}

TEST(Sampling, IllegalPointsSayWhy) {
  for_each_space([](const Space& space) {
    std::mt19937_64 random(13);
    for (int draw = 0; draw < 300; ++draw) {
      const Config point = space.point(static_cast<int64_t>(random() % static_cast<uint64_t>(space.point_count())));
      const std::string reason = space.why_illegal(point).value_or("it is legal");
      EXPECT_NE(reason.find(' '), std::string::npos) << reason;
    }
  });
}

}  // namespace
}  // namespace warpwright
