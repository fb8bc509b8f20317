// What a family takes it has a legal default for, and a space that can be sampled, on every card: random Workloads.
#include <gtest/gtest.h>

#include <random>

#include "search_space/depthwise/depthwise.h"
#include "search_space/stem/stem.h"
#include "src/core/error.h"
#include "tests/search_space/random/random_workload.h"

namespace warpwright::testing {
namespace {

void expect_a_default(const KernelFamily& family, const Workload& workload, const Target& target) {
  SCOPED_TRACE(workload.summary() + " on " + target.name);
  try {
    EXPECT_EQ(why_illegal(workload, family.default_config(workload, target), target), std::nullopt);
    std::mt19937_64 random(1);
    EXPECT_TRUE(family.space(workload, target).sample(random, 1000000));
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

void expect_defaults(const KernelFamily& family, int workloads) {
  constexpr int kMostDrawn = 50000;
  for (const Target& target : target_presets()) {
    Draw draw(11);
    int taken = 0;
    for (int drawn = 0; drawn < kMostDrawn && taken < workloads; ++drawn) {
      const Workload workload = random_workload(draw);
      if (family.why_unsupported(workload, target)) continue;
      ++taken;
      expect_a_default(family, workload, target);
    }
  }
}

class RandomDefaults : public ::testing::TestWithParam<const KernelFamily*> {};

TEST_P(RandomDefaults, AreLegal) { expect_defaults(*GetParam(), 20); }

INSTANTIATE_TEST_SUITE_P(All, RandomDefaults, ::testing::ValuesIn(kernel_families()),
                         [](const auto& info) { return std::string(info.param->name()); });

TEST(RandomDepthwiseDefaults, AreLegal) { expect_defaults(depthwise_family(), 400); }
TEST(RandomStemDefaults, AreLegal) { expect_defaults(stem_family(), 200); }

}  // namespace
}  // namespace warpwright::testing
