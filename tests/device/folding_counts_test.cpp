// Folded counts of known kernels against the instructions that ptxas makes of them.
//
// How the numbers were obtained: tests/device/folding/kernels.cu was compiled to kernels.ptx, and two kernels that the
// family dp4a_gemm emitted to gemm_1x1.ptx and gemm_3x3.ptx (the first line of each has the command), these by `ptxas
// -arch=sm_89` 13.0.88, and the cubin listed by `nvdisasm -c` 13.1. Its instructions were counted by opcode: IADD3,
// LEA, LOP3, SHF, PRMT, SEL, ISETP, PLOP3, S2R, MOV, CS2R and the additions, moves and shifts written as IMAD.IADD,
// .MOV, .SHL are `integer`; other IMAD `multiply`; IDP `dot`; FADD, FMUL, FFMA, FMNMX, FSETP `floating`; I2F, I2FP, F2I
// `conversion`; MUFU, FCHK `special`. Left out: NOP and the endless loop behind EXIT, the set-up of the stack pointer
// and of the memory descriptor (MOV R1, ULDC), BSSY and BSYNC, and the slow path of the division, which is a function
// of its own.
// The tensor-core kernels mma_64 and mma_128 (mma_tile.cu, for sm_86) in the same way: LDSM is `shared`, LDGSTS
// `global`, LDGDEPBAR and DEPBAR `barrier`, IMMA `tensor`; left out also the predicated-off LDS that ptxas sets before
// copies.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "src/core/file.h"
#include "src/device/virtual/folding.h"

namespace warpwright {
namespace {

struct SassCounts {
  const char* kernel;
  int integer, multiply, dot, floating, conversion, special, shared, global, shuffle, control, barrier, tensor;
};

constexpr SassCounts kSass[] = {
    {"requantize", 9, 4, 0, 3, 2, 0, 0, 4, 0, 2, 0, 0},       {"dot_naive", 23, 8, 1, 0, 0, 0, 0, 3, 0, 4, 0, 0},
    {"dot_tiled", 39, 9, 128, 0, 0, 0, 20, 8, 0, 2, 2, 0},    {"depthwise", 88, 15, 0, 3, 2, 0, 0, 20, 0, 2, 0, 0},
    {"quantize_pack", 18, 3, 0, 28, 4, 8, 0, 2, 0, 10, 0, 0}, {"warp_sum", 21, 3, 0, 0, 0, 0, 0, 2, 7, 4, 0, 0},
    {"mma_64", 134, 12, 0, 0, 0, 0, 8, 32, 0, 3, 6, 16},      {"mma_128", 230, 10, 0, 0, 0, 0, 16, 88, 0, 4, 5, 64},
};

/// From kernels.ptx, or the one kernel of the file of that name.
ptx::Kernel kernel(const std::string& name) {
  const std::string folder = std::string(WARPWRIGHT_SOURCE_DIR) + "/tests/device/folding/";
  if (name.starts_with("gemm_") || name.starts_with("mma_")) {
    return ptx::parse(read_file(folder + name + ".ptx")).kernels.at(0);
  }
  for (ptx::Kernel& kernel : ptx::parse(read_file(folder + "kernels.ptx")).kernels) {
    if (kernel.name == name) return kernel;
  }
  throw std::runtime_error("no kernel " + name);
}

std::map<Pipe, int> folded(const std::string& name) {
  std::map<Pipe, int> counts;
  for (const IssueCost& cost : fold(kernel(name))) {
    counts[cost.pipe] += cost.slots;
    counts[Pipe::special] += cost.special_slots;
  }
  return counts;
}

class FoldingCounts : public testing::TestWithParam<SassCounts> {};

TEST_P(FoldingCounts, AgreeWithTheDisassembly) {
  const SassCounts& sass = GetParam();
  std::map<Pipe, int> counts = folded(sass.kernel);
  // Exact where no choice is left to ptxas.
  EXPECT_EQ(counts[Pipe::dot], sass.dot);
  EXPECT_EQ(counts[Pipe::conversion], sass.conversion);
  EXPECT_EQ(counts[Pipe::special], sass.special);
  EXPECT_EQ(counts[Pipe::global], sass.global);
  EXPECT_EQ(counts[Pipe::barrier], sass.barrier);
  EXPECT_EQ(counts[Pipe::tensor], sass.tensor);
  // Near where it is: constants that it loads for wide products, votes around an atomic addition, branches of
  // divisions.
  if (sass.tensor == 0) {  // where the pipe is free, ptxas writes shifts and additions of addresses as IMAD
    EXPECT_NEAR(counts[Pipe::multiply], sass.multiply, 2);
  }
  EXPECT_NEAR(counts[Pipe::shared], sass.shared, sass.shared > 20 ? 3 : 0);  // neighbouring stores become one
  EXPECT_NEAR(counts[Pipe::floating], sass.floating, 4);
  EXPECT_NEAR(counts[Pipe::shuffle], sass.shuffle, 2);
  EXPECT_NEAR(counts[Pipe::integer] + counts[Pipe::multiply], sass.integer + sass.multiply,
              std::max(12.0, 0.1 * sass.integer));
  const int all = sass.integer + sass.multiply + sass.dot + sass.floating + sass.conversion + sass.special +
                  sass.shared + sass.global + sass.shuffle + sass.control + sass.barrier + sass.tensor;
  EXPECT_NEAR(static_cast<double>(total_slots(fold(kernel(sass.kernel)))), all, std::max(16.0, 0.03 * all));
}

TEST_P(FoldingCounts, AreFarBelowTheCountOfPtxInstructions) {
  const ptx::Kernel one = kernel(GetParam().kernel);
  EXPECT_LT(total_slots(fold(one)), one.instructions.size() + (GetParam().special > 0 ? 40 : 0));
}

INSTANTIATE_TEST_SUITE_P(Kernels, FoldingCounts, testing::ValuesIn(kSass),
                         [](const auto& info) { return std::string(info.param.kernel); });

}  // namespace
}  // namespace warpwright
