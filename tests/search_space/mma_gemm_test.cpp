// mma_gemm: the same bits as the reference for awkward shapes on every architecture, and the tiles of vendors'
// libraries as points of its space.
#include "search_space/mma_gemm/mma_gemm.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <tuple>

#include "tests/reference/examples/workloads.h"
#include "tests/search_space/product_workloads.h"
#include "tests/search_space/random/random_case.h"

namespace warpwright::testing {
namespace {

constexpr DType s8 = DType::s8, u8 = DType::u8;
constexpr auto zero = ZeroPointForm::zero, scalar = ZeroPointForm::scalar, per_channel = ZeroPointForm::per_channel;

Workload conv(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, const Window& window, int64_t groups = 1) {
  return conv2d_workload(nhwc_form(s8, n, h, w, c), s8, k, groups, window);
}

Workload with(Workload workload, DType x, DType weights, ZeroPointForm x_zero, ZeroPointForm weight_zero) {
  workload.inputs[0].dtype = x;
  workload.weight_dtype = weights;
  workload.x_zero_point = x_zero;
  workload.weight_zero_point = weight_zero;
  check(workload);
  return workload;
}

Workload accumulators(Workload workload) {
  workload.output.dtype = DType::s32;
  workload.epilogue.table_input = DType::s32;
  check(workload);
  return workload;
}

/// Beside awkward_products: what only this family treats in a way of its own.
std::vector<Workload> corners() {
  const Window k3 = square_window(3, 1, 1);
  return {with(conv(1, 9, 8, 33, 33, square_window(3, 1, 3, 3)), u8, s8, scalar, per_channel),
          with(conv(2, 6, 7, 32, 48, k3, 2), s8, u8, scalar, scalar),
          with(conv(1, 7, 5, 72, 51, square_window(3, 2, 1), 3), u8, u8, scalar, per_channel),
          with(conv(1, 8, 9, 64, 130, {3, 2, 2, 3, 2, 1, 0, 2, 3, 1}), u8, s8, scalar, zero),
          with(conv(1, 9, 9, 20, 24, square_window(7, 1, 3)), s8, u8, scalar, scalar),  // 49 taps
          with(conv(1, 12, 11, 128, 64, k3), s8, s8, zero, scalar),
          accumulators(with(conv(1, 7, 7, 48, 70, k3), u8, s8, scalar, per_channel)),
          accumulators(with(dense_workload(s8, s8, 33, 300, 129), s8, u8, zero, zero))};
}

/// Ones of all corners and a share of awkward_products on each architecture.
class MmaGemm : public ::testing::TestWithParam<std::tuple<const char*, size_t>> {};

TEST_P(MmaGemm, EqualsTheReference) {
  const auto [card, share] = GetParam();
  const Target& target = target_preset(card);
  const KernelFamily& family = mma_gemm_family();
  const std::unique_ptr<Compiler> compiler = open_nvrtc();
  std::vector<Workload> workloads = corners();
  const std::vector<Workload> awkward = awkward_products();
  for (size_t i = share; i < awkward.size(); i += 4) workloads.push_back(awkward[i]);
  std::mt19937_64 random(share);
  for (const Workload& workload : workloads) {
    if (family.why_unsupported(workload, target)) continue;
    const Config config = family.space(workload, target).sample(random, 100000).value();
    const RandomCase item{&family, &target, workload, config, random()};
    const CaseResult result = run_case(*compiler, item);
    EXPECT_TRUE(result.ok()) << result.verdict << ": " << result.message << "\n" << describe(item);
  }
}

INSTANTIATE_TEST_SUITE_P(Cards, MmaGemm,
                         ::testing::Values(std::tuple{"t4", size_t{0}}, std::tuple{"a100", size_t{1}},
                                           std::tuple{"rtx3070", size_t{2}}, std::tuple{"rtx4090", size_t{3}}),
                         [](const auto& info) { return std::string(std::get<0>(info.param)); });

TEST(MmaGemmSpace, SaysWhatItDoesNotTake) {
  const Target& target = target_preset("rtx4090");
  const Window k3 = square_window(3, 1, 1);
  auto reason = [&](const Workload& workload) {
    return mma_gemm_family().why_unsupported(workload, target).value_or("");
  };
  EXPECT_EQ(reason(conv(1, 8, 8, 64, 64, k3)), "");
  EXPECT_NE(reason(conv(1, 8, 8, 3, 64, k3)).find("3 input channels"), std::string::npos);
  EXPECT_NE(reason(conv(1, 8, 8, 64, 64, k3, 8)).find("8 channels a group"), std::string::npos);
  EXPECT_NE(reason(conv(1, 8, 8, 34, 34, k3, 2)).find("4-byte boundary"), std::string::npos);
}

TEST(MmaGemmSpace, HoldsTheTilesOfVendors) {
  // CUTLASS lists them for all cards of sm_80 and up; 99 KiB a CTA hold fewer stages.
  const std::set<std::string> too_large = {"256x128x128 3", "128x256x128 3", "256x64x128 4", "64x256x128 4",
                                           "128x128x128 4", "256x32x128 4",  "32x256x128 4"};
  const Workload codes = conv(256, 14, 14, 512, 512, square_window(3, 1, 1));
  for (const char* card : {"rtx3070", "rtx4090"}) {
    const Target& target = target_preset(card);
    for (const Workload& layer : {codes, accumulators(codes)}) {
      const Space space = mma_gemm_family().space(layer, target);
      for (const VendorTile& tile : vendor_tiles()) {
        const std::string name = std::to_string(tile.cta_m) + "x" + std::to_string(tile.cta_n) + "x" +
                                 std::to_string(tile.cta_k) + " " + std::to_string(tile.stages);
        const std::string reason = space.why_illegal(config_of_tile(tile, layer, target)).value_or("");
        EXPECT_EQ(reason.find("bytes of shared memory exceed") != std::string::npos, too_large.contains(name))
            << name << " on " << card << ": " << reason;
        EXPECT_EQ(reason.empty(), !too_large.contains(name)) << name << " on " << card << ": " << reason;
      }
    }
  }
}

}  // namespace
}  // namespace warpwright::testing
