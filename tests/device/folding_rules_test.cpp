// Each rule of the folding on a few instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/device/virtual/folding.h"

namespace warpwright {
namespace {

using ::testing::ElementsAre;

/// Costs of the instructions between the loads of the parameters and the final ret.
std::vector<IssueCost> fold_body(const std::string& body) {
  const std::string head =
      ".version 8.0\n.target sm_89\n.address_size 64\n"
      ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n"
      ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<19>;\n"
      ".shared .align 16 .b8 tile[1024];\n"
      "ld.param.u64 %rd1, [k_param_0];\nld.param.u32 %r1, [k_param_1];\n";
  const ptx::Module module = ptx::parse(head + body + "\nret;\n}\n");
  std::vector<IssueCost> costs = fold(module.kernels.at(0));
  EXPECT_EQ(costs[0].slots, 0) << "a parameter is an operand";
  EXPECT_EQ(costs.back(), (IssueCost{Pipe::control, 1}));
  return {costs.begin() + 2, costs.end() - 1};
}

std::vector<int> slots(const std::vector<IssueCost>& costs) {
  std::vector<int> slots;
  for (const IssueCost& cost : costs) slots.push_back(cost.slots);
  return slots;
}

TEST(Folding, WideProductAndBaseAreOneInstruction) {
  const auto costs = fold_body(
      "cvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r2, %tid.x;\nmul.wide.s32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
      "st.global.u32 [%rd4], %r1;");
  EXPECT_THAT(slots(costs), ElementsAre(0, 1, 0, 1, 1));
  EXPECT_EQ(costs[3].pipe, Pipe::multiply);
  EXPECT_EQ(costs[4].pipe, Pipe::global);
}

TEST(Folding, ConstantsMoveIntoOffsets) {
  EXPECT_THAT(
      slots(fold_body("mov.u32 %r2, %tid.x;\nmov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\nadd.s32 %r5, %r4, 64;\n"
                      "st.shared.u32 [%r5], %r1;\nst.shared.u32 [%r4+8], %r1;")),
      ElementsAre(1, 0, 0, 0, 1, 1));
}

TEST(Folding, AnAddressThatIsAlsoAValueIsComputed) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nadd.s32 %r5, %r2, 64;\nst.shared.u32 [%r5], %r5;")),
              ElementsAre(1, 1, 1));
}

TEST(Folding, AnOffsetBeyond24BitsIsComputed) {
  EXPECT_THAT(slots(fold_body("add.s64 %rd2, %rd1, 16777216;\nst.global.u32 [%rd2], %r1;")), ElementsAre(2, 1));
}

TEST(Folding, APointerThatMovesInALoopIsComputed) {
  EXPECT_THAT(slots(fold_body("mov.u64 %rd2, %rd1;\nmov.u32 %r2, 0;\n$L:\nst.global.u32 [%rd2], %r1;\n"
                              "add.s64 %rd2, %rd2, 64;\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, 9;\n@%p1 bra $L;")),
              ElementsAre(1, 1, 1, 2, 1, 1, 1));
}

TEST(Folding, ProductAndSumAreOneMad) {
  const auto costs =
      fold_body("mov.u32 %r2, %tid.x;\nmul.lo.s32 %r3, %r2, %r1;\nadd.s32 %r4, %r3, %r2;\nst.shared.u32 [%r2], %r4;");
  EXPECT_THAT(slots(costs), ElementsAre(1, 0, 1, 1));
  EXPECT_EQ(costs[2].pipe, Pipe::multiply);
}

TEST(Folding, AProductThatIsNeededTwiceStays) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nmul.lo.s32 %r3, %r2, %r1;\nadd.s32 %r4, %r3, %r2;\n"
                              "st.shared.u32 [%r2], %r4;\nst.shared.u32 [%r2+4], %r3;")),
              ElementsAre(1, 1, 1, 1, 1));
}

TEST(Folding, ShiftedOrTripleSumsAreOneInstruction) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 4;\nadd.s32 %r4, %r3, %r1;\n"
                              "st.shared.u32 [%r2], %r4;")),
              ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nmov.u32 %r3, %tid.y;\nadd.s32 %r4, %r2, %r3;\n"
                              "add.s32 %r5, %r4, %r1;\nst.shared.u32 [%r2], %r5;")),
              ElementsAre(1, 1, 0, 1, 1));
}

TEST(Folding, OneUniformRegisterIsPartOfASharedAddress) {
  const std::string stage = "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n";
  EXPECT_THAT(slots(fold_body(stage + "add.s32 %r4, %r2, %r3;\nst.shared.u32 [%r4+16], %r1;")),
              ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(slots(fold_body(stage + "add.s32 %r4, %r2, %r3;\nadd.s32 %r5, %r4, %r1;\nst.shared.u32 [%r5], %r1;")),
              ElementsAre(1, 1, 1, 0, 1))
      << "only one";
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nmov.u32 %r3, %laneid;\nadd.s32 %r4, %r2, %r3;\n"
                              "st.shared.u32 [%r4], %r1;")),
              ElementsAre(1, 1, 1, 1))
      << "both vary";
}

TEST(Folding, WideShiftsOfAWordMoveIt) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 613566757;\nshr.u64 %rd3, %rd2, 32;\n"
                              "cvt.u32.u64 %r3, %rd3;\nshr.u64 %rd4, %rd2, 35;\ncvt.u32.u64 %r4, %rd4;\n"
                              "shr.u64 %rd5, %rd2, 3;\ncvt.u32.u64 %r5, %rd5;\nst.shared.u32 [%r3], %r4;\n"
                              "st.shared.u32 [%r3], %r5;")),
              ElementsAre(1, 1, 0, 0, 1, 0, 2, 0, 1, 1));
}

TEST(Folding, LogicOfThreeLeavesIsOneLop3) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nmov.u32 %r3, %tid.y;\nand.b32 %r4, %r2, %r3;\n"
                              "or.b32 %r5, %r4, %r1;\nxor.b32 %r6, %r5, 7;\nst.shared.u32 [%r2], %r6;")),
              ElementsAre(1, 1, 0, 1, 1, 1));
}

TEST(Folding, ComparisonAndSelectionAreKept) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nsetp.lt.s32 %p1, %r2, %r1;\nselp.b32 %r3, %r2, 5, %p1;\n"
                              "st.shared.u32 [%r2], %r3;")),
              ElementsAre(1, 1, 1, 1));
}

TEST(Folding, PredicatesJoinTheComparisonAndLop3ComparesWithZero) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nsetp.lt.s32 %p1, %r2, %r1;\nsetp.gt.s32 %p2, %r2, 3;\n"
                              "and.pred %p3, %p1, %p2;\n@%p3 st.shared.u32 [%r2], %r1;")),
              ElementsAre(1, 1, 1, 0, 1));
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nand.b32 %r3, %r2, 31;\nsetp.eq.s32 %p1, %r3, 0;\n"
                              "@%p1 st.shared.u32 [%r2], %r1;")),
              ElementsAre(1, 1, 0, 1));
}

TEST(Folding, DeadCodeCostsNothing) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nmul.lo.s32 %r3, %r2, %r1;\nld.global.u32 %r4, [%rd1];\n"
                              "st.shared.u32 [tile], %r1;")),
              ElementsAre(0, 0, 0, 1));
}

TEST(Folding, AShortIfIsPredicatedAndALongOneBranches) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\nsetp.lt.s32 %p1, %r2, %r1;\n@%p1 bra $L;\n"
                              "st.shared.u32 [%r2], %r1;\nst.shared.u32 [%r2+4], %r1;\n$L:")),
              ElementsAre(1, 1, 0, 1, 1));
  std::string body = "mov.u32 %r2, %tid.x;\nsetp.lt.s32 %p1, %r2, %r1;\n@%p1 bra $L;\n";
  for (int i = 0; i < 12; ++i) body += "st.shared.u32 [%r2+" + std::to_string(4 * i) + "], %r1;\n";
  EXPECT_EQ(slots(fold_body(body + "$L:"))[2], 1);
}

TEST(Folding, SixtyFourBitsCostTwoWords) {
  EXPECT_THAT(slots(fold_body("mov.u32 %r2, %tid.x;\ncvt.u64.u32 %rd2, %r2;\nadd.s64 %rd3, %rd1, %rd2;\n"
                              "st.global.u32 [%rd3], %r1;")),
              ElementsAre(1, 0, 2, 1));
}

TEST(Folding, PipesOfTheEpilogue) {
  const auto costs = fold_body(
      "mov.u32 %r2, %tid.x;\ndp4a.s32.s32 %r3, %r2, %r1, %r2;\ncvt.rn.f32.s32 %f1, %r3;\nmul.rn.f32 %f2, %f1, %f1;\n"
      "div.rn.f32 %f3, %f2, %f1;\ncvt.rni.s32.f32 %r4, %f3;\nbar.sync 0;\nst.shared.u8 [%r2], %r4;");
  EXPECT_EQ(costs[1], (IssueCost{Pipe::dot, 1}));
  EXPECT_EQ(costs[2], (IssueCost{Pipe::conversion, 1}));
  EXPECT_EQ(costs[3], (IssueCost{Pipe::floating, 1}));
  EXPECT_EQ(costs[4], (IssueCost{Pipe::floating, 6, 2}));
  EXPECT_EQ(costs[5], (IssueCost{Pipe::conversion, 1}));
  EXPECT_EQ(costs[6], (IssueCost{Pipe::barrier, 1}));
  EXPECT_EQ(costs[7], (IssueCost{Pipe::shared, 1}));
}

TEST(Folding, ACopyTakesSmallOffsetsAndThePredicateOfItsSize) {
  EXPECT_THAT(
      slots(fold_body("mov.u32 %r2, tile;\nmov.u32 %r3, %tid.x;\nadd.s32 %r4, %r2, %r3;\nsetp.gt.s32 %p1, %r3, 9;\n"
                      "selp.b32 %r5, 0, 16, %p1;\nadd.s64 %rd2, %rd1, 2032;\nadd.s64 %rd3, %rd1, 2048;\n"
                      "add.s32 %r6, %r4, 4096;\n"
                      "cp.async.cg.shared.global [%r4], [%rd2], 16, %r5;\n"
                      "cp.async.cg.shared.global [%r6], [%rd3], 16, %r5;\n")),
      ElementsAre(0, 1, 0, 1, 0, 0, 2, 0, 1, 1));
}

TEST(Folding, WhatIsTheSameEachTimeRoundIsComputedBeforeTheLoop) {
  const auto costs = fold_body(
      "mov.u32 %r2, %tid.x;\nmov.u32 %r3, 0;\nmov.u32 %r7, 0;\n$L:\nxor.b32 %r4, %r2, 7;\nmul.lo.s32 %r5, %r4, %r2;\n"
      "xor.b32 %r6, %r5, %r3;\nadd.s32 %r7, %r7, %r6;\nadd.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, 9;\n@%p1 bra $L;\n"
      "st.shared.u32 [tile], %r7;");
  EXPECT_THAT(slots(costs), ElementsAre(1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1));
  EXPECT_EQ(costs[2].moved_slots, 2);
}

TEST(Folding, TensorInstructionsAreOneEach) {
  const auto costs = fold_body(
      "mov.u32 %r2, %tid.x;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2+64];\n"
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r7, %r8, %r9, %r10}, {%r3, %r4, %r5, %r6}, {%r3, %r4}, "
      "{%r3, %r4, %r5, %r6};\nst.shared.u32 [tile], %r7;");
  EXPECT_EQ(costs[1], (IssueCost{Pipe::shared, 1}));
  EXPECT_EQ(costs[2], (IssueCost{Pipe::tensor, 1}));
}

}  // namespace
}  // namespace warpwright
