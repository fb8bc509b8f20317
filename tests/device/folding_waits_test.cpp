// Batches of loads, and how often a warp waits for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/device/virtual/load_waits.h"

namespace warpwright {
namespace {

ptx::Kernel kernel_of(const std::string& body) {
  const std::string head =
      ".version 8.0\n.target sm_89\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n"
      ".reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<19>;\n.shared .align 16 .b8 tile[1024];\n"
      "ld.param.u64 %rd1, [k_param_0];\nmov.u32 %r1, %tid.x;\n";
  return ptx::parse(head + body + "\nret;\n}\n").kernels.at(0);
}

/// Runs the text from top to bottom, the part behind the first label `times` times.
WarpWaits run(const ptx::Kernel& kernel, const WaitTable& table, int times = 1) {
  WarpWaits waits(table);
  int loop = static_cast<int>(kernel.instructions.size());
  for (const ptx::Instruction& instruction : kernel.instructions) {
    if (instruction.opcode == ptx::Opcode::bra) loop = instruction.target;
  }
  const int size = static_cast<int>(kernel.instructions.size());
  for (int i = 0; i < loop; ++i) waits.before(i);
  for (int t = 0; t < times; ++t) {
    for (int i = loop; i < size; ++i) waits.before(i);
  }
  return waits;
}

TEST(LoadBatches, LoadsBetweenBarriersAreTogetherAndDependentOnesApart) {
  const ptx::Kernel kernel = kernel_of(
      "ld.global.u32 %r2, [%rd1];\nst.shared.u32 [tile], %r2;\nld.global.u32 %r3, [%rd1+4];\n"  // one batch
      "mul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r4, [%rd3];\n"     // behind it
      "bar.sync 0;\nld.global.u32 %r5, [%rd1+8];\nld.shared.u32 %r6, [tile];\n"                 // two spaces
      "st.shared.u32 [tile+4], %r4;\nst.shared.u32 [tile+8], %r5;\nst.shared.u32 [tile+12], %r6;");
  const std::vector<int> batches = load_batches(kernel);
  EXPECT_THAT(batches, testing::ElementsAre(-1, -1, 0, -1, 0, -1, -1, 1, -1, 2, 3, -1, -1, -1, -1));
}

TEST(LoadBatches, HoldNoMoreThanTheRegistersOfAThreadAllow) {
  std::string body;
  for (int i = 0; i < 12; ++i) {
    const std::string r = std::to_string(10 + 4 * i);
    body += "ld.shared.v4.u32 {%r" + r + ", %r" + std::to_string(11 + 4 * i) + ", %r" + std::to_string(12 + 4 * i) +
            ", %r" + std::to_string(13 + 4 * i) + "}, [tile+" + std::to_string(16 * i) + "];\n";
  }
  const std::vector<int> batches = load_batches(kernel_of(body));
  EXPECT_EQ(batches[2], 0);
  EXPECT_EQ(batches[9], 0);
  EXPECT_EQ(batches[10], 1);
  EXPECT_EQ(batches[13], 1);
}

TEST(WarpWaits, ABatchIsWaitedForOnceEachTimeRound) {
  const ptx::Kernel kernel = kernel_of(
      "$L:\nld.global.u32 %r2, [%rd1];\nst.shared.u32 [tile], %r2;\nld.global.u32 %r3, [%rd1+4];\n"
      "st.shared.u32 [tile+4], %r3;\nadd.s64 %rd1, %rd1, 8;\nsetp.lt.u64 %p1, %rd1, 99;\n@%p1 bra $L;");
  const WaitTable table(kernel, fold(kernel));
  EXPECT_EQ(run(kernel, table).load_waits(), 1u);
  EXPECT_EQ(run(kernel, table, 5).load_waits(), 5u);
  EXPECT_EQ(run(kernel, table, 5).shared_waits(), 0u);
}

TEST(WarpWaits, ACopyIsNoUseAndTheDistanceIsWhatWasIssuedBetween) {
  const ptx::Kernel kernel = kernel_of(
      "ld.global.u32 %r2, [%rd1];\nmov.u32 %r3, %r2;\nmul.lo.s32 %r4, %r1, %r1;\nmul.lo.s32 %r5, %r4, %r1;\n"
      "mul.lo.s32 %r6, %r5, %r4;\nst.shared.u32 [tile], %r6;\nst.shared.u32 [tile+4], %r3;");
  const WaitTable table(kernel, fold(kernel));
  const WarpWaits waits = run(kernel, table);
  EXPECT_EQ(waits.load_waits(), 1u);
  EXPECT_EQ(waits.load_wait_distance(), 4u);
}

TEST(WarpWaits, AResultThatNobodyUsesIsNotWaitedFor) {
  const ptx::Kernel kernel = kernel_of("ld.volatile.shared.u32 %r2, [tile];\nst.shared.u32 [tile], %r1;");
  const WaitTable table(kernel, fold(kernel));
  EXPECT_EQ(run(kernel, table).shared_waits(), 0u);
}

TEST(WarpWaits, OnlyGroupsThatMayNotBeOpenAreWaitedFor) {
  const std::string copy = "cp.async.cg.shared.global [tile], [%rd1], 16;\ncp.async.commit_group;\n";
  const std::string work = "mul.lo.s32 %r4, %r1, %r1;\nst.shared.u32 [tile+512], %r4;\n";
  // Two groups; waiting for all but one waits for the first, then an empty group lets the second be waited for.
  const ptx::Kernel kernel = kernel_of(copy + copy + work + "cp.async.wait_group 1;\n" + work +
                                       "cp.async.commit_group;\ncp.async.wait_group 1;\ncp.async.wait_group 0;");
  const WaitTable table(kernel, fold(kernel));
  EXPECT_THAT(run(kernel, table).copy_wait_distances(), testing::ElementsAre(5, 7));
}

TEST(WarpWaits, CopiesWithoutACommitBelongToWhatWaitAllWaitsFor) {
  const ptx::Kernel kernel = kernel_of("cp.async.cg.shared.global [tile], [%rd1], 16;\ncp.async.wait_all;");
  const WaitTable table(kernel, fold(kernel));
  EXPECT_THAT(run(kernel, table).copy_wait_distances(), testing::ElementsAre(0));
}

}  // namespace
}  // namespace warpwright
