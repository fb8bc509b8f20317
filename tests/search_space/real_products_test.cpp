// Kernels of real_conv2d and real_matmul on the virtual device in its checked mode: the same bits as the reference for
// every Config, without contraction behind the law's back; and the spaces that they are drawn from.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <variant>

#include "measure/compiler.h"
#include "search_space/real_direct/real_direct.h"
#include "search_space/real_gemm/real_gemm.h"
#include "src/core/error.h"
#include "src/reference/reference.h"
#include "tests/search_space/random/random_case.h"
#include "tests/search_space/real_products.h"

namespace warpwright {
namespace {

using testing::real_conv2d_workload;
using testing::real_matmul_workload;

Compiler& compiler() {
  static const std::unique_ptr<Compiler> nvrtc = open_nvrtc();
  return *nvrtc;
}

std::vector<const KernelFamily*> families() { return {&real_gemm_family(), &real_direct_family()}; }

std::vector<Workload> awkward() {
  std::vector<Workload> workloads = testing::awkward_real_convolutions();
  for (Workload& workload : testing::awkward_real_matmuls()) workloads.push_back(std::move(workload));
  return workloads;
}

class RealProducts : public ::testing::TestWithParam<size_t> {};

TEST_P(RealProducts, EqualTheReference) {
  const Workload workload = awkward().at(GetParam());
  std::mt19937_64 random(GetParam());
  // A card without and one with asynchronous copies; the others differ in limits alone.
  const char* const cards[] = {"t4", "a100", "rtx4090", "h100"};
  for (const KernelFamily* family : families()) {
    for (const char* card : {cards[GetParam() % 4], "rtx4090"}) {
      const Target& target = target_preset(card);
      if (family->why_unsupported(workload, target)) continue;
      for (const Config& config :
           {family->default_config(workload, target), family->space(workload, target).sample(random, 200000).value()}) {
        const testing::RandomCase item{family, &target, workload, config, GetParam()};
        const testing::CaseResult result = testing::run_case(compiler(), item);
        EXPECT_TRUE(result.ok()) << result.verdict << ": " << result.message << "\n" << testing::describe(item);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RealProducts, ::testing::Range(size_t{0}, awkward().size()));

TEST(RealProductSpaces, TakeEveryWorkloadOnEveryCard) {
  for (const Target& target : target_presets()) {
    for (const std::vector<Workload>& workloads : {awkward(), testing::typical_real_products()}) {
      for (const Workload& workload : workloads) {
        ASSERT_EQ(real_gemm_family().why_unsupported(workload, target), std::nullopt) << workload.summary();
        for (const KernelFamily* family : families()) {
          if (family->why_unsupported(workload, target)) continue;
          const Config config = family->default_config(workload, target);
          EXPECT_EQ(family->space(workload, target).why_illegal(config), std::nullopt)
              << workload.summary() << " on " << target.name << ": " << summary(config);
        }
      }
    }
  }
}

TEST(RealProductSpaces, TwoConfigsNeverShareASource) {
  const Target& target = target_preset("rtx4090");
  for (const Workload& workload : testing::typical_real_products()) {
    for (const KernelFamily* family : families()) {
      if (family->why_unsupported(workload, target)) continue;
      std::mt19937_64 random(5);
      std::set<std::string> configs, sources;
      for (int draw = 0; draw < 150; ++draw) {
        const Config config = family->space(workload, target).sample(random, 100000).value();
        configs.insert(key(config));
        sources.insert(family->emit(workload, config, target).source);
      }
      EXPECT_EQ(configs.size(), sources.size()) << workload.summary();
      EXPECT_GE(configs.size(), 100u) << workload.summary();
    }
  }
}

TEST(RealProductSpaces, ResourcesAgreeWithTheLaunch) {
  const Target& target = target_preset("t4");
  std::mt19937_64 random(7);
  for (const Workload& workload : testing::typical_real_products()) {
    for (const KernelFamily* family : families()) {
      if (family->why_unsupported(workload, target)) continue;
      for (int draw = 0; draw < 10; ++draw) {
        const Config config = family->space(workload, target).sample(random, 100000).value();
        const Resources resources = family->resources(workload, config, target);
        const KernelSource kernel = family->emit(workload, config, target);
        EXPECT_LE(resources.smem_bytes, target.smem_per_block_bytes);
        EXPECT_EQ(resources.threads, kernel.launch.block[0]);
        EXPECT_EQ(resources.ctas, kernel.launch.grid[0]);
        EXPECT_GE(resources.inner_products, workload.multiply_adds()) << summary(config);
      }
    }
  }
}

TEST(RealProductSpaces, RefuseWhatInt32DoesNotCount) {
  const Target& target = target_preset("h200");
  const auto reason = [&](const Workload& workload) {
    return real_gemm_family().why_unsupported(workload, target).value_or("taken");
  };
  const Window one = testing::real_conv2d_workload({1, 1, 1, 1}, 1, 1, {}).window;
  EXPECT_NE(reason(real_conv2d_workload({1, 64, 8192, 8192}, 1, 1, one)).find("an input has 4294967296 elements"),
            std::string::npos);
  EXPECT_NE(reason(real_conv2d_workload({1, 1, 8192, 8192}, 64, 1, one)).find("y has 4294967296 elements"),
            std::string::npos);
  EXPECT_NE(reason(real_matmul_workload({1, 1, 65536, 65536}, false, true)).find("weights has 4294967296 elements"),
            std::string::npos);
  EXPECT_NE(real_direct_family().why_unsupported(real_conv2d_workload({1, 1, 8192, 8192}, 64, 1, one), target),
            std::nullopt);
  EXPECT_NE(real_direct_family().why_unsupported(real_conv2d_workload({1, 64, 8, 8}, 64, 1, one), target),
            std::nullopt);
  EXPECT_NE(real_direct_family().why_unsupported(real_matmul_workload({1, 8, 8, 8}, false, true), target),
            std::nullopt);
}

TEST(RealProductSpaces, SayWhatIsWrongWithAConfig) {
  const Target& target = target_preset("rtx4090");
  const Workload workload = testing::typical_real_products().at(7);
  const auto reason = [&](const KernelFamily& family, const std::map<std::string, int64_t>& knobs) {
    Config config = family.default_config(workload, target);
    for (const auto& [name, value] : knobs) config.knobs[name] = value;
    return family.space(workload, target).why_illegal(config).value_or("legal");
  };
  const KernelFamily& gemm = real_gemm_family();
  EXPECT_NE(reason(gemm, {{"warps_m", 8}, {"warps_n", 8}}).find("threads a CTA"), std::string::npos);
  EXPECT_NE(reason(gemm, {{"thread_m", 16}, {"thread_n", 16}}).find("outputs a thread"), std::string::npos);
  EXPECT_NE(reason(gemm, {{"stages", 1}}).find("1 stages do not go with asynchronous"), std::string::npos);
  EXPECT_NE(reason(gemm, {{"tile_k", 8}, {"unroll", 16}}).find("cannot unroll 16 of 8"), std::string::npos);
}

TEST(RealProductKernels, DefaultsOfEveryArchitectureCompileWithoutSpills) {
  for (const char* card : {"t4", "a100", "rtx4090", "h100"}) {
    const Target& target = target_preset(card);
    for (const Workload& workload : testing::typical_real_products()) {
      for (const KernelFamily* family : families()) {
        if (family->why_unsupported(workload, target)) continue;
        const Config config = family->default_config(workload, target);
        SCOPED_TRACE(workload.summary() + " on " + target.name + ": " + summary(config));
        const auto compiled = compiler().compile(family->emit(workload, config, target), target.arch());
        if (const Outcome* failure = std::get_if<Outcome>(&compiled))
          FAIL() << failure->message << "\n" << failure->log;
        const CompiledKernel& kernel = std::get<CompiledKernel>(compiled);
        EXPECT_EQ(kernel.spill_store_bytes, 0);
        for (const char* forbidden : {".ftz", ".approx", "mul.f32", "mad.f32"}) {
          EXPECT_EQ(kernel.ptx.find(forbidden), std::string::npos) << forbidden;
        }
      }
    }
  }
}

TEST(RealProductPacking, RefusesUnknownArguments) {
  const Target& target = target_preset("rtx4090");
  const Workload workload = testing::typical_real_products().at(12);
  for (const KernelFamily* family : families()) {
    const Config config = family->default_config(workload, target);
    EXPECT_THROW(family->pack(workload, config, "table", {}), InternalError);
    EXPECT_THROW(family->pack(workload, config, "weights", {}), InternalError);
  }
}

}  // namespace
}  // namespace warpwright
