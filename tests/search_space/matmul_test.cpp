// The space of mma_matmul: what it takes, and that two Configs never mean the same code. That its kernels are exact is
// tested with those of the other products.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "search_space/mma_matmul/mma_matmul.h"
#include "tests/reference/examples/workloads.h"

namespace warpwright {
namespace {

Workload attention_scores() {
  return testing::matmul_workload(DType::u8, DType::s8, DType::u8, {12, 128, 64, 128}, true);
}

TEST(MmaMatmul, TakesEveryMatmulFromTuringOn) {
  const KernelFamily& family = mma_matmul_family();
  for (const char* card : {"t4", "a100", "rtx3070", "orin", "rtx4090", "h200", "rtx5090"}) {
    const Target& target = target_preset(card);
    for (const Workload& workload : testing::matmul_workloads()) {
      ASSERT_EQ(family.why_unsupported(workload, target), std::nullopt) << workload.summary();
      const Config config = family.default_config(workload, target);
      EXPECT_EQ(family.space(workload, target).why_illegal(config), std::nullopt) << workload.summary();
      const int64_t depth = target.compute_capability() >= 80 ? 32 : 16;
      EXPECT_EQ(config.at("instruction"), depth);
    }
  }
  Target old = target_preset("t4");
  old.compute_major = 7, old.compute_minor = 0;
  EXPECT_NE(family.why_unsupported(attention_scores(), old), std::nullopt);
  EXPECT_NE(family.why_unsupported(testing::dense_workload(DType::s8, DType::s8, 1, 64, 16), target_preset("rtx4090")),
            std::nullopt);
}

TEST(MmaMatmul, HoldsManyConfigsOfDistinctSource) {
  const KernelFamily& family = mma_matmul_family();
  const Target& target = target_preset("rtx4090");
  for (const bool transposed : {false, true}) {
    Workload workload = testing::matmul_workload(DType::u8, DType::s8, DType::u8, {2, 256, 256, 256}, transposed);
    workload.x_zero_point = ZeroPointForm::scalar;
    std::mt19937_64 random(3);
    std::set<std::string> configs, sources;
    for (int draw = 0; draw < 400; ++draw) {
      const Config config = family.space(workload, target).sample(random, 100000).value();
      configs.insert(key(config));
      sources.insert(family.emit(workload, config, target).source);
    }
    EXPECT_EQ(configs.size(), sources.size());
    EXPECT_GE(sources.size(), 300u);
  }
}

TEST(MmaMatmul, SplitsNeedScratchMemory) {
  const KernelFamily& family = mma_matmul_family();
  const Target& target = target_preset("rtx4090");
  const Workload workload = testing::matmul_workload(DType::s8, DType::s8, DType::s8, {3, 16, 4096, 16}, true);
  Config config = family.default_config(workload, target);
  config.knobs["split_k"] = 4;
  ASSERT_EQ(family.space(workload, target).why_illegal(config), std::nullopt);
  const KernelSource kernel = family.emit(workload, config, target);
  EXPECT_EQ(kernel.launch.grid[1], 3u);
  EXPECT_EQ(kernel.launch.grid[2], 4u);
  EXPECT_EQ(kernel.arguments.back().role, KernelArgument::Role::counters);
  EXPECT_EQ(kernel.arguments.back().bytes, 4 * 3 * kernel.launch.grid[0]);
}

}  // namespace
}  // namespace warpwright
