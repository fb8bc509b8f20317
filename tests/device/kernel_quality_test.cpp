// Counts of tensor-core kernels on the virtual device: conflicts, widths, copies, and the main loop.
#include "src/device/virtual/kernel_quality.h"

#include <gtest/gtest.h>

#include "src/core/file.h"
#include "src/device/virtual/virtual_device.h"
#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

/// A launch of the kernel in tests/device/folding/NAME.ptx over two rows of tiles.
struct Profiled {
  CompiledKernel kernel;
  LaunchProfile profile;
};

Profiled profile_of(const std::string& name, uint32_t tile, uint32_t stages) {
  constexpr int64_t kRows = 12544, kColumns = 512, kDepth = 2048;
  Profiled out;
  out.kernel.entry = name;
  out.kernel.ptx = read_file(std::string(WARPWRIGHT_SOURCE_DIR) + "/tests/device/folding/" + name + ".ptx");
  out.kernel.registers = 96;
  const auto device = open_virtual_device(target_preset("rtx3070"), {.checked = false});
  Launch launch;
  launch.kernel = device->load(out.kernel);
  launch.shape.grid = {2 * static_cast<uint32_t>(kColumns) / tile, 1, 1};
  launch.shape.block = {128, 1, 1};
  launch.shape.dynamic_smem_bytes = stages * 2 * tile * 64;
  for (const int64_t bytes : {kRows * kDepth, kColumns * kDepth, kRows * kColumns * 4}) {
    launch.arguments.push_back(bind_address(device->allocate(bytes, "matrix")));
  }
  out.profile = device->profile(launch);
  return out;
}

TEST(KernelQuality, CountsOfATileOf64) {
  const Profiled one = profile_of("mma_64", 64, 4);
  const CtaProfile& cta = one.profile.sampled.at(0);
  EXPECT_EQ(cta.ampere_products, 64u * 64 * 2048);
  EXPECT_EQ(cta.turing_products, 0u);
  EXPECT_EQ(cta.issued[static_cast<size_t>(Pipe::tensor)], 64u * 64 * 2048 / 4096);
  EXPECT_EQ(cta.copies.count, 32u * 4 * 4);               // K tiles, warps, copies of a thread
  EXPECT_EQ(cta.copies.sectors, 128u * 2048 / 32);        // rows of both operands
  EXPECT_EQ(cta.copies.narrow + cta.copies.partial, 0u);  // 16 bytes, pairs of which fill a sector
  EXPECT_EQ(cta.read_sectors.size(), 128u * 2048 / 32);
  EXPECT_EQ(cta.copy_wait_distances.size(), 32u);
  EXPECT_EQ(cta.stores.sectors, 64u * 64 * 4 / 32);
  EXPECT_EQ(cta.stores.narrow, cta.stores.count);  // 8 bytes of a lane
  // Each warp reads its 32 + 32 rows of every K tile, a wavefront for 128 bytes; the copies write each tile once.
  EXPECT_EQ(cta.shared_wavefronts, 32u * (4 * 64 * 64 + 128 * 64) / 128);
  const KernelQuality good = quality(one.kernel, one.profile);
  EXPECT_EQ(good.matrix_conflicts + good.copy_conflicts + good.other_conflicts, 0u);
  EXPECT_EQ(good.spill_bytes, 0);
}

TEST(KernelQuality, ConflictsOfRowsThatAreNotSwizzled) {
  Profiled one = profile_of("mma_64", 64, 4);
  // The row of a lane no longer moves its chunk.
  std::string& ptx = one.kernel.ptx;
  for (const std::string mask : {"and.b32  \t%r161, %r160, 3;", "and.b32  \t%r183, %r182, 3;"}) {
    const size_t at = ptx.find(mask);
    ASSERT_NE(at, std::string::npos) << mask;
    ptx[at + mask.size() - 2] = '0';
  }
  const auto device = open_virtual_device(target_preset("rtx3070"), {.checked = false});
  Launch launch;
  launch.kernel = device->load(one.kernel);
  launch.shape.block = {128, 1, 1};
  launch.shape.dynamic_smem_bytes = 4 * 128 * 64;
  for (int i = 0; i < 3; ++i) launch.arguments.push_back(bind_address(device->allocate(int64_t{1} << 25, "matrix")));
  const KernelQuality bad = quality(one.kernel, device->profile(launch));
  // Eight rows of 64 bytes lie on two groups of banks: four wavefronts for each matrix of A.
  EXPECT_EQ(bad.matrix_conflicts, 32u * 4 * 2 * 2 * 4 * 3);  // K tiles, warps, steps, loads, matrices
  EXPECT_EQ(bad.copy_conflicts, 0u);                         // two rows at a time fill the banks all the same
}

TEST(KernelQuality, MainLoopsAgreeWithTheDisassembly) {
  const auto loop_of = [](const std::string& name) {
    return main_loop(read_file(std::string(WARPWRIGHT_SOURCE_DIR) + "/tests/device/folding/" + name + ".ptx"), name);
  };
  // By nvdisasm, see folding_counts_test.cpp.
  const auto small = loop_of("mma_64"), large = loop_of("mma_128");
  ASSERT_TRUE(small && large);
  EXPECT_EQ(small->products, 16);
  EXPECT_NEAR(small->others, 41, 3);
  EXPECT_EQ(large->products, 64);
  EXPECT_NEAR(large->others, 68, 7);
  EXPECT_FALSE(main_loop(testing::kernel_of(""), "k"));
  EXPECT_THROW(main_loop(testing::kernel_of(""), "j"), UsageError);
}

}  // namespace
}  // namespace warpwright
