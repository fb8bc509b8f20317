// Spaces of the families of conv2d and dense: size, legality, determinism, resources, packing.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/reference/reference.h"
#include "tests/search_space/product_workloads.h"

namespace warpwright {
namespace {

const KernelFamily& first_family(const Workload& workload, const Target& target) {
  return *families_for(workload, target).at(0);
}

TEST(ProductSpaces, HoldEnoughConfigsOfDistinctSource) {
  const Target& target = target_preset("rtx4090");
  for (const Workload& workload : testing::typical_products()) {
    const KernelFamily& family = first_family(workload, target);
    const Space space = family.space(workload, target);
    const size_t wanted = family.name() == "dp4a_gemm" && workload.reduction_size() >= 512 ? 500 : 100;
    std::mt19937_64 random(3);
    std::set<std::string> sources;
    for (size_t draw = 0; draw < 20 * wanted && sources.size() < wanted; ++draw) {
      const auto config = space.sample(random, 100000);
      ASSERT_TRUE(config.has_value()) << workload.summary();
      sources.insert(family.emit(workload, *config, target).source);
    }
    EXPECT_EQ(sources.size(), wanted) << workload.summary();
  }
}

TEST(ProductSpaces, TwoConfigsNeverShareASource) {
  const Target& target = target_preset("rtx4090");
  for (const size_t index : {0u, 3u, 10u, 14u}) {
    const Workload workload = testing::typical_products().at(index);
    const KernelFamily& family = first_family(workload, target);
    std::mt19937_64 random(5);
    std::set<std::string> configs, sources;
    for (int draw = 0; draw < 200; ++draw) {
      const Config config = family.space(workload, target).sample(random, 100000).value();
      configs.insert(key(config));
      sources.insert(family.emit(workload, config, target).source);
    }
    EXPECT_EQ(configs.size(), sources.size()) << workload.summary();
  }
}

TEST(ProductSpaces, DefaultIsLegalOnEveryCard) {
  for (const char* card : {"t4", "orin", "a100", "rtx3070", "rtx4090", "h200", "rtx5090"}) {
    const Target& target = target_preset(card);
    for (const Workload& workload : testing::typical_products()) {
      const Config config = default_config(workload, target);
      EXPECT_EQ(why_illegal(workload, config, target), std::nullopt) << workload.summary() << " on " << card;
    }
  }
  for (const Workload& workload : testing::awkward_products()) {
    const Target& target = target_preset("rtx4090");
    for (const KernelFamily* family : families_for(workload, target)) {
      const Config config = family->default_config(workload, target);
      EXPECT_EQ(why_illegal(workload, config, target), std::nullopt) << workload.summary();
    }
  }
}

TEST(ProductSpaces, ResourcesStayWithinTheCard) {
  const Target& target = target_preset("t4");
  std::mt19937_64 random(7);
  for (const Workload& workload : testing::typical_products()) {
    const KernelFamily& family = first_family(workload, target);
    for (int draw = 0; draw < 20; ++draw) {
      const Config config = family.space(workload, target).sample(random, 100000).value();
      const Resources resources = family.resources(workload, config, target);
      const KernelSource kernel = family.emit(workload, config, target);
      EXPECT_LE(resources.smem_bytes, target.smem_per_block_bytes);
      EXPECT_LE(resources.registers * resources.threads, target.registers_per_sm);
      EXPECT_EQ(resources.threads, kernel.launch.block[0]);
      const auto& grid = kernel.launch.grid;
      EXPECT_EQ(resources.ctas, int64_t{grid[0]} * grid[1] * grid[2]);
      EXPECT_GE(resources.inner_products * 4 + resources.tensor_products, workload.multiply_adds() / 2)
          << summary(config);
    }
  }
}

TEST(ProductSpaces, SayWhatIsWrongWithAConfig) {
  const Target& target = target_preset("rtx4090");
  const Workload workload = testing::typical_products().at(3);  // 56x56x64, 3x3
  const Config good = family_named("dp4a_gemm")->default_config(workload, target);
  auto reason = [&](const std::string& knob, int64_t value) {
    Config bad = good;
    bad.knobs[knob] = value;
    return why_illegal(workload, bad, target).value_or("legal");
  };
  EXPECT_NE(reason("lanes_m", 32).find("32 lanes of a warp"), std::string::npos) << reason("lanes_m", 32);
  EXPECT_NE(reason("tile_k", 3).find("is none of"), std::string::npos);
  EXPECT_NE(reason("no_such_knob", 1).find("no knob"), std::string::npos);
  Config old = good;
  old.space_version = 0;
  EXPECT_NE(why_illegal(workload, old, target).value().find("space version 0"), std::string::npos);
  Config unknown = good;
  unknown.family = "abacus";
  EXPECT_NE(why_illegal(workload, unknown, target).value().find("abacus"), std::string::npos);
  EXPECT_THROW(family_of(unknown), UsageError);
  Config missing = good;
  missing.knobs.erase("stages");
  EXPECT_NE(why_illegal(workload, missing, target).value().find("stages is absent"), std::string::npos);
}

TEST(ProductSpaces, SourceHoldsNoValues) {
  const Target& target = target_preset("rtx4090");
  for (const size_t index : {0u, 3u, 10u}) {
    const Workload workload = testing::typical_products().at(index);
    const Config config = default_config(workload, target);
    const KernelSource one = family_of(config).emit(workload, config, target);
    const KernelSource two = family_of(config).emit(workload, config, target);
    EXPECT_EQ(one.source, two.source);
    EXPECT_EQ(one.launch, two.launch);
    EXPECT_EQ(one.source.find("#include"), std::string::npos);
  }
}

TEST(ProductPacking, RefusesUnknownArguments) {
  const Target& target = target_preset("rtx4090");
  for (const size_t index : {0u, 3u, 10u}) {
    const Workload workload = testing::typical_products().at(index);
    const Config config = default_config(workload, target);
    const Example example = make_example(workload, 1);
    EXPECT_THROW(family_of(config).pack(workload, config, "table", example.values), InternalError);
    EXPECT_THROW(family_of(config).pack(workload, config, "weights", {}), InternalError);
  }
}

}  // namespace
}  // namespace warpwright
