// A sample of the random suite: a few random kernels of every family, and what the suite draws.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/search_space/random/random_case.h"
#include "tests/search_space/random/random_workload.h"

namespace warpwright::testing {
namespace {

class RandomCases : public ::testing::TestWithParam<const KernelFamily*> {};

/// One case for each architecture; the family need not take Workloads on all of them.
TEST_P(RandomCases, EqualTheReference) {
  const std::unique_ptr<Compiler> compiler = open_nvrtc();
  int64_t cases = 0;
  for (const Target* target : random_targets()) {
    const auto item = random_case(*GetParam(), *target, 2026);
    if (!item) continue;
    ++cases;
    const CaseResult result = run_case(*compiler, *item);
    EXPECT_TRUE(result.ok()) << result.verdict << ": " << result.message << "\n" << describe(*item);
  }
  EXPECT_GE(cases, 4);
}

INSTANTIATE_TEST_SUITE_P(All, RandomCases, ::testing::ValuesIn(kernel_families()),
                         [](const auto& info) { return std::string(info.param->name()); });

TEST(RandomCase, DependsOnItsSeedAlone) {
  for (const KernelFamily* family : kernel_families()) {
    const auto one = random_case(*family, *random_targets().back(), 7);
    const auto two = random_case(*family, *random_targets().back(), 7);
    ASSERT_TRUE(one.has_value()) << family->name();
    EXPECT_EQ(one->workload, two->workload);
    EXPECT_EQ(one->config, two->config);
    EXPECT_EQ(one->example_seed, two->example_seed);
    EXPECT_EQ(why_illegal(one->workload, one->config, *random_targets().back()), std::nullopt);
  }
}

TEST(RandomWorkload, ComesInEveryForm) {
  Draw draw(3);
  std::map<std::string, int> seen;
  for (int drawn = 0; drawn < 6000; ++drawn) {
    const Workload workload = random_workload(draw);
    ++seen[std::string(name(workload.kind))];
    seen["transposed"] += workload.kind == OpKind::matmul && workload.transposed;
    seen["matrices"] += workload.batch > 1;
    seen["sums"] += workload.output.dtype == DType::s32 && workload.multiply_adds() > 0;
    if (!workload.is_matrix_product()) continue;
    const Window& window = workload.window;
    const TensorForm& x = workload.inputs[0];
    for (const int64_t channels : {1, 3, 17, 33}) seen["channels " + std::to_string(channels)] += x.c == channels;
    seen["one row"] += workload.kind == OpKind::dense && x.n == 1;
    seen["1x1"] += x.h == 1 && x.w == 1 && workload.kind == OpKind::conv2d;
    seen["5x13"] += x.h == 5 && x.w == 13;
    seen["7x7"] += x.h == 7 && x.w == 7;
    seen["over the edge"] +=
        window.kernel_w > 1 && (x.w + window.pad_left + window.pad_right - 1) % window.stride_w != 0;
    seen["dilation 3"] += window.dilation_h == 3;
    seen["groups 2"] += workload.groups == 2 && x.c > 2;
    seen["groups 3"] += workload.groups == 3 && x.c > 3;
    seen["depthwise"] += workload.is_depthwise();
    seen["multiplier"] += workload.is_depthwise() && workload.output.c > x.c;
    seen["weight zero points"] += workload.weight_zero_point == ZeroPointForm::per_channel;
    seen["mixed signs"] += x.dtype != workload.weight_dtype;
    seen["rounded"] += workload.epilogue.residual == ResidualForm::rounded;
    seen["unrounded"] += workload.epilogue.residual == ResidualForm::unrounded;
    seen["table"] += workload.epilogue.table;
    seen["slice"] += !owns_pad_lanes(workload.output);
    seen["long reduction"] += workload.reduction_size() >= 512;
  }
  for (const auto& [what, count] : seen) EXPECT_GE(count, 15) << what;
  EXPECT_GE(seen.size(), 25u);
}

TEST(RandomExample, HasExtremes) {
  Draw draw(5);
  Workload workload = random_workload(draw);
  while (workload.kind != OpKind::conv2d) workload = random_workload(draw);
  int uniform_inputs = 0;
  for (int drawn = 0; drawn < 200; ++drawn) {
    const Example example = random_example(workload, draw);
    check(workload, example.values);
    const auto& bytes = example.inputs[0].bytes;
    uniform_inputs += std::set<std::byte>(bytes.begin(), bytes.end()).size() == 1;
  }
  EXPECT_GE(uniform_inputs, 10);
}

}  // namespace
}  // namespace warpwright::testing
