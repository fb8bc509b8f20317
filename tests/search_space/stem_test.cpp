// Family stem: int32 outputs, for the default and for random Configs on three architectures.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "search_space/stem/stem.h"
#include "tests/reference/examples/workloads.h"
#include "tests/search_space/random/random_case.h"

namespace warpwright::testing {
namespace {

Workload accumulators(DType x, int64_t c, int64_t k, const Window& window, ZeroPointForm weight_zero_point, bool bias) {
  Workload workload = conv2d_workload(nhwc_form(x, 1, 9, 7, c), DType::s32, k, 1, window);
  workload.x_zero_point = ZeroPointForm::scalar;
  workload.weight_zero_point = weight_zero_point;
  workload.epilogue.bias = bias;
  check(workload);
  return workload;
}

TEST(Stem, GivesAccumulators) {
  const std::unique_ptr<Compiler> compiler = open_nvrtc();
  std::mt19937_64 random(1);
  for (const Workload& workload :
       {accumulators(DType::u8, 3, 18, square_window(3, 2, 1), ZeroPointForm::per_channel, true),
        accumulators(DType::s8, 1, 5, square_window(1, 1, 0), ZeroPointForm::scalar, false),
        accumulators(DType::s8, 4, 32, square_window(3, 1, 1), ZeroPointForm::zero, false)}) {
    for (const char* card : {"t4", "a100", "rtx4090"}) {
      const Target& target = target_preset(card);
      RandomCase item{&stem_family(), &target, workload, stem_family().default_config(workload, target), 1};
      for (int draw = 0; draw < 3; ++draw) {
        const CaseResult result = run_case(*compiler, item);
        EXPECT_TRUE(result.ok()) << result.verdict << ": " << result.message << "\n" << describe(item);
        item.config = stem_family().space(workload, target).sample(random, 1000000).value();
      }
    }
  }
}

}  // namespace
}  // namespace warpwright::testing
