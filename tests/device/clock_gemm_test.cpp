// The order that the clock gives to matrix products with good and bad habits, run on the virtual device.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "src/core/file.h"
#include "src/device/device.h"

namespace warpwright {
namespace {

constexpr int kRows = 512, kWords = 64;  // C[512][512] of K = 256 bytes

struct Variant {
  uint32_t grid;                                                   // in each direction
  int registers, smem_bytes, spill_store_bytes, spill_load_bytes;  // as ptxas reports them
};

// clang-format off
const std::map<std::string, Variant> kVariants = {
    {"no_tile", {32, 22, 0, 0, 0}},
    {"no_tile_vector", {32, 19, 0, 0, 0}},
    {"tile_1x1", {32, 31, 1280, 0, 0}},
    {"tile_2x2", {16, 37, 2304, 0, 0}},
    {"tile_4x4", {8, 48, 4352, 0, 0}},
    {"tile_4x4_conflicts", {8, 48, 4096, 0, 0}},
    {"tile_8x8", {4, 109, 8448, 0, 0}},
    {"tile_8x8_spills", {4, 64, 8448, 1288, 1252}},
};
// clang-format on

struct Timed {
  double time_us;
  std::string limited_by;
};

class ClockOfGemm : public testing::Test {
 protected:
  /// Of the variant on the virtual card; its results are checked too.
  Timed time(const std::string& card, const std::string& name) {
    DeviceOptions options;
    options.checked = false;
    const std::unique_ptr<Device> device = open_device("virtual:" + card, options);
    const Variant& variant = kVariants.at(name);
    CompiledKernel kernel;
    kernel.entry = name;
    kernel.arch = "sm_75";
    kernel.ptx = read_file(std::string(WARPWRIGHT_SOURCE_DIR) + "/tests/device/clock/gemm_variants.ptx");
    kernel.registers = variant.registers;
    kernel.static_smem_bytes = variant.smem_bytes;
    kernel.spill_store_bytes = variant.spill_store_bytes;
    kernel.spill_load_bytes = variant.spill_load_bytes;

    std::vector<std::byte> a(kRows * kWords * 4), b(a.size()), c(kRows * kRows * 4);
    std::mt19937 random(7);
    for (auto* matrix : {&a, &b}) {
      for (std::byte& byte : *matrix) byte = static_cast<std::byte>(random());
    }
    Launch launch;
    launch.kernel = device->load(kernel);
    launch.shape.grid = {variant.grid, variant.grid, 1};
    launch.shape.block = {256, 1, 1};
    for (const auto* matrix : {&a, &b, &c}) {
      const DeviceAddress address = device->allocate(static_cast<int64_t>(matrix->size()), "matrix");
      device->upload(address, *matrix);
      launch.arguments.push_back(bind_address(address));
    }
    const Outcome outcome = device->time(launch, {});
    EXPECT_TRUE(outcome.ok()) << outcome.message;
    EXPECT_FALSE(outcome.limited_by.empty());
    return {outcome.ok() ? outcome.median_us() : 0, outcome.limited_by};
  }
};

TEST_F(ClockOfGemm, LargerRegisterTilesAreFasterWhenTheyFillTheCard) {
  // 16 SMs: even the tile of 8×8 has a CTA for each.
  const double one = time("orin", "tile_1x1").time_us, two = time("orin", "tile_2x2").time_us;
  const double four = time("orin", "tile_4x4").time_us;
  EXPECT_GT(one, 1.3 * two);
  EXPECT_GT(two, 1.1 * four);
}

TEST_F(ClockOfGemm, TilesBeatNoTileAndVectorLoadsBeatScalarOnes) {
  const double scalar = time("orin", "no_tile").time_us, vector = time("orin", "no_tile_vector").time_us;
  EXPECT_GT(scalar, vector);
  EXPECT_GT(vector, time("orin", "tile_4x4").time_us);
}

TEST_F(ClockOfGemm, BankConflictsCost) {
  EXPECT_GT(time("orin", "tile_4x4_conflicts").time_us, 1.02 * time("orin", "tile_4x4").time_us);
}

TEST_F(ClockOfGemm, SpillsCost) {
  EXPECT_GT(time("orin", "tile_8x8_spills").time_us, 1.2 * time("orin", "tile_8x8").time_us);
}

TEST_F(ClockOfGemm, ATileThatLeavesMultiprocessorsIdleLoses) {
  // 16 CTAs of 8×8 for 128 SMs against 64 of 4×4.
  EXPECT_GT(time("rtx4090", "tile_8x8").time_us, 1.3 * time("rtx4090", "tile_4x4").time_us);
}

TEST_F(ClockOfGemm, NoTimeIsBelowThePeakOfDp4a) {
  // 512 × 512 × 64 dp4a at 64 lanes a clock of each SM.
  for (const auto& [name, variant] : kVariants) {
    EXPECT_GT(time("orin", name).time_us, 512.0 * 512 * 64 / 64 / 16 / 1300) << name;
  }
}

TEST_F(ClockOfGemm, TheSameLaunchTakesTheSameTime) {
  EXPECT_EQ(time("t4", "tile_2x2").time_us, time("t4", "tile_2x2").time_us);
}

}  // namespace
}  // namespace warpwright
