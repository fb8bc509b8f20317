// Spaces of the light families: defaults, constraints, resources and sources, without a compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/core/error.h"
#include "src/core/target.h"
#include "src/reference/reference.h"
#include "tests/search_space/light_families.h"
#include "tests/search_space/real_workloads.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Calls `check(family, workload)` for every family and every Workload that it takes.
template <typename Check>
void for_each_pair(const Target& target, const Check& check) {
  for (const Workload& workload : testing::all_light_workloads()) {
    for (const KernelFamily* family : testing::light_families()) {
      if (family->why_unsupported(workload, target)) continue;
      SCOPED_TRACE(std::string(family->name()) + " of " + workload.summary());
      check(*family, workload);
    }
  }
}

TEST(LightSpaces, SomeFamilyTakesEveryLightWorkload) {
  for (const Workload& workload : testing::all_light_workloads()) {
    int taking = 0;
    for (const KernelFamily* family : testing::light_families()) {
      const auto reason = family->why_unsupported(workload, target_preset("rtx4090"));
      if (!reason) ++taking;
      EXPECT_NE(reason, "");
    }
    EXPECT_GE(taking, 1) << workload.summary();
  }
}

TEST(LightSpaces, TheDefaultIsLegalOnEveryTarget) {
  for (const Target& target : target_presets()) {
    for_each_pair(target, [&](const KernelFamily& family, const Workload& workload) {
      const Config config = family.default_config(workload, target);
      EXPECT_EQ(family.space(workload, target).why_illegal(config), std::nullopt);
      EXPECT_EQ(config.family, family.name());
      EXPECT_EQ(config.space_version, family.space_version());
    });
  }
}

TEST(LightSpaces, LegalConfigsMeanDifferentCode) {
  const Target& target = target_preset("rtx4090");
  for_each_pair(target, [&](const KernelFamily& family, const Workload& workload) {
    const std::vector<Config> configs = family.space(workload, target).enumerate(1000);
    EXPECT_GE(configs.size(), 1u);
    std::set<std::string> sources;
    for (const Config& config : configs) sources.insert(family.emit(workload, config, target).source);
    EXPECT_EQ(sources.size(), configs.size());
  });
}

TEST(LightSpaces, ResourcesAreThoseOfTheLaunch) {
  const Target& target = target_preset("rtx4090");
  std::mt19937_64 random(1);
  for_each_pair(target, [&](const KernelFamily& family, const Workload& workload) {
    const Config config = family.space(workload, target).sample(random).value();
    const Resources resources = family.resources(workload, config, target);
    const KernelSource kernel = family.emit(workload, config, target);
    EXPECT_EQ(resources.ctas, kernel.launch.grid[0]);
    EXPECT_EQ(resources.threads, kernel.launch.block[0]);
    EXPECT_EQ(kernel.launch.dynamic_smem_bytes, 0u);
    EXPECT_GE(resources.global_store_bytes, workload.output.pixels() * workload.output.c);
    EXPECT_EQ(resources.smem_bytes > 0, kernel.source.find("__shared__") != std::string::npos);
    EXPECT_EQ(kernel.source, family.emit(workload, config, target).source);
    EXPECT_THAT(kernel.source, Not(HasSubstr("#include")));
  });
}

TEST(LightSpaces, EveryArgumentCanBePacked) {
  const Target& target = target_preset("rtx4090");
  for_each_pair(target, [&](const KernelFamily& family, const Workload& workload) {
    const Config config = family.default_config(workload, target);
    const Values values = make_example(workload, 1).values;
    size_t inputs = 0;
    for (const KernelArgument& argument : family.emit(workload, config, target).arguments) {
      if (argument.role == KernelArgument::Role::input) ++inputs;
      if (argument.name.empty()) continue;
      EXPECT_EQ(family.pack(workload, config, argument.name, values), values.at(argument.name));
    }
    EXPECT_EQ(inputs, workload.inputs.size());
    EXPECT_THROW(family.pack(workload, config, "no_such_value", values), InternalError);
  });
}

TEST(LightSpaces, IllegalConfigsAreRefusedWithASentence) {
  Workload workload;
  workload.kind = OpKind::lookup;
  workload.inputs = {nhwc_form(DType::s8, 1, 1, 2, 16)};
  workload.output = nhwc_form(DType::s8, 1, 1, 2, 16);
  const Target& target = target_preset("rtx4090");
  Config config = lookup_family().default_config(workload, target);
  config.knobs["threads"] = 512;
  EXPECT_THAT(lookup_family().space(workload, target).why_illegal(config).value(),
              HasSubstr("a CTA of 512 items is hopeless for 8 items"));
  EXPECT_THROW(lookup_family().emit(workload, config, target), InternalError);
  EXPECT_THROW(lookup_family().resources(workload, config, target), InternalError);
}

TEST(LightSpaces, DefaultsOfLargeTensorsFillTheCardWithWideVectors) {
  const Target& target = target_preset("rtx4090");
  Workload workload;
  workload.kind = OpKind::add;
  const TensorForm form = nhwc_form(DType::s8, 8, 56, 56, 256);
  workload.inputs = {form, form};
  workload.output = form;
  EXPECT_EQ(add_mul_family().default_config(workload, target).at("vector"), 16);
  workload.kind = OpKind::average_pool;
  workload.inputs = {nhwc_form(DType::s8, 1, 7, 7, 1280)};
  workload.output = nhwc_form(DType::s8, 1, 1, 1, 1280);
  workload.window.kernel_h = workload.window.kernel_w = 7;
  const Config pool = pool_family().default_config(workload, target);
  EXPECT_GT(pool.at("splits"), 1);
  EXPECT_GE(pool_family().resources(workload, pool, target).ctas, 32);
}

TEST(LightSpaces, TensorsBeyondIntIndicesAreRefused) {
  Workload workload;
  workload.kind = OpKind::lookup;
  workload.inputs = {nhwc_form(DType::s8, 1, 1 << 16, 1 << 16, 16)};
  workload.output = nhwc_form(DType::s8, 1, 1 << 16, 1 << 16, 16);
  EXPECT_THAT(lookup_family().why_unsupported(workload, target_preset("rtx4090")).value(), HasSubstr("exceeds"));
}

}  // namespace
}  // namespace warpwright
