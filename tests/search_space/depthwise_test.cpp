// Family depthwise: exact over awkward shapes for random Configs on three architectures; its space and its default.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <variant>

#include "search_space/depthwise/depthwise.h"
#include "tests/reference/examples/workloads.h"
#include "tests/search_space/random/random_case.h"

namespace warpwright::testing {
namespace {

constexpr DType s8 = DType::s8, u8 = DType::u8, s32 = DType::s32;
constexpr auto zero = ZeroPointForm::zero, scalar = ZeroPointForm::scalar, per_channel = ZeroPointForm::per_channel;
constexpr auto none = ResidualForm::none, rounded = ResidualForm::rounded, unrounded = ResidualForm::unrounded;

struct Forms {
  DType x = s8, weights = s8, y = s8;
  ZeroPointForm x_zero_point = zero, weight_zero_point = zero;
  bool bias = true;
  ResidualForm residual = none;
  bool table = false;
};

Workload depthwise(int64_t n, int64_t h, int64_t w, int64_t c, int64_t multiplier, const Window& window,
                   const Forms& forms) {
  Workload workload = conv2d_workload(nhwc_form(forms.x, n, h, w, c), forms.y, c * multiplier, c, window);
  workload.weight_dtype = forms.weights;
  workload.x_zero_point = forms.x_zero_point;
  workload.weight_zero_point = forms.weight_zero_point;
  workload.epilogue = {forms.bias, forms.residual, forms.table, forms.table && forms.y == s8 ? u8 : forms.y};
  const TensorForm& y = workload.output;
  if (forms.residual != none) workload.inputs.push_back(nhwc_form(u8, y.n, y.h, y.w, y.c));
  check(workload);
  return workload;
}

Workload plain(int64_t n, int64_t h, int64_t w, int64_t c, int64_t kernel, int64_t stride) {
  return depthwise(n, h, w, c, 1, square_window(kernel, stride, kernel / 2), {s8, s8, s8, scalar, zero});
}

std::vector<Workload> awkward() {
  std::vector<Workload> list = {
      depthwise(1, 7, 7, 3, 1, square_window(3, 1, 1), {u8, s8, u8, scalar, zero}),
      depthwise(2, 5, 13, 17, 1, square_window(3, 2, 1), {u8, u8, s8, scalar, scalar, false, rounded}),
      depthwise(1, 1, 1, 33, 1, square_window(3, 1, 1), {s8, u8, u8, scalar, per_channel}),
      depthwise(1, 5, 13, 33, 2, square_window(3, 1, 3, 3), {u8, s8, u8, scalar, scalar}),
      depthwise(1, 7, 7, 17, 3, square_window(5, 2, 2), {s8, s8, u8, scalar, per_channel, true, unrounded, true}),
      depthwise(1, 6, 6, 8, 6, square_window(3, 2, 0, 2), {s8, s8, u8, scalar, zero, true, rounded, true}),
      depthwise(1, 13, 5, 48, 1, square_window(7, 1, 3), {s8, s8, s8, zero, zero, false}),
      depthwise(1, 14, 14, 32, 1, square_window(5, 1, 2), {u8, s8, u8, scalar, scalar}),
      depthwise(1, 9, 30, 16, 1, {1, 5, 1, 3, 1, 2, 0, 4, 0, 4}, {u8, s8, u8, scalar, per_channel}),
      depthwise(1, 30, 4, 20, 1, {7, 1, 2, 1, 1, 1, 3, 0, 2, 0}, {s8, s8, s8, scalar, zero}),
      depthwise(1, 8, 9, 64, 1, {3, 2, 3, 2, 1, 1, 0, 1, 2, 0}, {u8, u8, u8, scalar, scalar, true, rounded}),
      depthwise(1, 9, 8, 24, 4, {2, 4, 1, 1, 2, 1, 1, 2, 1, 1}, {s8, u8, s8, zero, scalar, true, none, true}),
      plain(1, 21, 19, 96, 3, 1),
      // More lanes behind the outputs' channels than threads for them.
      depthwise(1, 1, 1, 3, 2, square_window(1, 1, 0), {s8, s8, s8, zero, zero, true, unrounded}),
      // Accumulators, with lanes behind them that the outputs' own stores fill, and others.
      depthwise(1, 7, 5, 33, 1, square_window(3, 1, 1), {u8, s8, s32, scalar, per_channel}),
      depthwise(2, 6, 6, 5, 2, square_window(3, 2, 1), {s8, u8, s32, zero, scalar, false}),
      depthwise(1, 5, 6, 3, 6, square_window(3, 1, 1), {u8, u8, s32, scalar, scalar}),
  };
  // Slices of wider pixels: lanes that belong to others are neither read nor written.
  Workload sliced = depthwise(1, 6, 5, 12, 1, square_window(3, 1, 1), {u8, s8, u8, scalar, scalar});
  sliced.inputs[0].pixel_stride = 32, sliced.inputs[0].channel_offset = 4;
  sliced.output.pixel_stride = 48, sliced.output.channel_offset = 16;
  list.push_back(sliced);
  return list;
}

class Depthwise : public ::testing::TestWithParam<size_t> {};

TEST_P(Depthwise, EqualsTheReference) {
  const std::unique_ptr<Compiler> compiler = open_nvrtc();
  const Workload workload = awkward().at(GetParam());
  std::mt19937_64 random(GetParam());
  for (const char* card : {"t4", "rtx3070", "rtx4090"}) {
    const Target& target = target_preset(card);
    RandomCase item{&depthwise_family(), &target, workload, depthwise_family().default_config(workload, target), 1};
    for (int draw = 0; draw < 4; ++draw) {
      const CaseResult result = run_case(*compiler, item);
      EXPECT_TRUE(result.ok()) << result.verdict << ": " << result.message << "\n" << describe(item);
      item.config = depthwise_family().space(workload, target).sample(random, 1000000).value();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Awkward, Depthwise, ::testing::Range(size_t{0}, awkward().size()));

TEST(DepthwiseSpace, HoldsEnoughConfigsOfDistinctSource) {
  const Target& target = target_preset("rtx4090");
  for (const Workload& workload :
       {plain(1, 112, 112, 32, 3, 1), plain(1, 56, 56, 144, 3, 2), plain(1, 7, 7, 960, 3, 1)}) {
    const Space space = depthwise_family().space(workload, target);
    std::mt19937_64 random(3);
    std::set<std::string> configs, sources;
    while (configs.size() < 600) {
      const Config config = space.sample(random, 1000000).value();
      configs.insert(key(config));
      sources.insert(depthwise_family().emit(workload, config, target).source);
    }
    EXPECT_EQ(sources.size(), configs.size()) << workload.summary();
  }
}

TEST(DepthwiseDefault, IsLegalEverywhereAndSpillsNowhere) {
  const std::unique_ptr<Compiler> compiler = open_nvrtc();
  for (const char* card : {"t4", "a100", "rtx4090"}) {
    const Target& target = target_preset(card);
    for (const Workload& workload :
         {plain(1, 28, 28, 240, 5, 1), plain(8, 56, 56, 144, 5, 2), plain(8, 7, 7, 960, 3, 1),
          plain(64, 112, 112, 96, 3, 2), plain(64, 56, 56, 144, 3, 1), plain(64, 56, 56, 144, 5, 2),
          plain(64, 28, 28, 240, 5, 1), plain(64, 14, 14, 480, 5, 1), plain(64, 14, 14, 672, 5, 2)}) {
      SCOPED_TRACE(workload.summary() + " on " + target.name);
      const Config config = depthwise_family().default_config(workload, target);
      EXPECT_EQ(why_illegal(workload, config, target), std::nullopt);
      const auto compiled = compiler->compile(depthwise_family().emit(workload, config, target), target.arch());
      if (const Outcome* failure = std::get_if<Outcome>(&compiled)) FAIL() << failure->message << "\n" << failure->log;
      EXPECT_EQ(std::get<CompiledKernel>(compiled).spill_store_bytes, 0);
    }
  }
}

}  // namespace
}  // namespace warpwright::testing
