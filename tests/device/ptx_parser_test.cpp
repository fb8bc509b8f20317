// The parser of PTX: what it reads, what it refuses by name, and that broken text never crashes it.
#include <gtest/gtest.h>

#include <random>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/device/virtual/decode.h"
#include "src/device/virtual/ptx.h"
#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::kernel_of;

std::string why_not(const std::string& body) {
  try {
    ptx::parse(kernel_of(body));
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(PtxParser, ReadsAnInstruction) {
  const ptx::Module module = ptx::parse(kernel_of("@!%p1 ld.global.nc.v2.u32 {%r1, %r2}, [%rd1+-8];"));
  ASSERT_EQ(module.kernels.size(), 1u);
  EXPECT_EQ(module.target, "sm_80");
  const ptx::Kernel& kernel = module.kernels[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.parameter_bytes, 24u);
  const ptx::Instruction& in = kernel.instructions[4];
  EXPECT_EQ(in.opcode, ptx::Opcode::ld);
  EXPECT_EQ(in.type, ptx::Type::u32);
  EXPECT_EQ(in.space, ptx::Space::global);
  EXPECT_TRUE(in.non_coherent && in.guard_negated);
  EXPECT_EQ(in.vector, 2);
  EXPECT_EQ(in.destinations.size(), 2u);
  EXPECT_EQ(in.sources[0].value, -8);
  EXPECT_EQ(kernel.registers[static_cast<size_t>(in.sources[0].reg)].name, "%rd1");
  EXPECT_EQ(in.text, "ld.global.nc.v2.u32");
  EXPECT_EQ(in.line, 16);
}

TEST(PtxParser, FindsWhereBranchesMeet) {
  const ptx::Module module = ptx::parse(kernel_of(R"(
  setp.eq.u32 %p1, %r0, 0; @%p1 bra $A;
  mov.u32 %r1, 1; bra.uni $B;
$A: mov.u32 %r1, 2;
$B: setp.eq.u32 %p1, %r0, 5; @%p1 bra $B;
)"));
  const auto& blocks = module.kernels[0].blocks;
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[0].post_dominator, 3);
  EXPECT_EQ(blocks[1].post_dominator, 3);
  EXPECT_EQ(blocks[3].post_dominator, 4);
  EXPECT_EQ(blocks[4].post_dominator, -1);
}

TEST(PtxParser, PlacesVariables) {
  const ptx::Module module = ptx::parse(R"(.version 8.0
.target sm_75
.address_size 64
.const .align 4 .b8 table[8] = {1, 2, 3, 4, 255};
.global .align 4 .u32 counter = 7;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u32 n, .param .u64 p) .maxntid 128, 1, 1 .minnctapersm 2
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 fixed[20];
  mov.u32 %r1, fixed;
  mov.u32 %r2, dynamic;
  mov.u64 %rd1, counter;
  ld.const.u32 %r3, [table+4];
  ret;
}
)");
  const ptx::Kernel& kernel = module.kernels[0];
  EXPECT_EQ(kernel.parameters[1].offset, 8u);
  EXPECT_EQ(kernel.shared_bytes, 20u);
  EXPECT_EQ(kernel.dynamic_shared_offset, 32u);
  EXPECT_EQ(kernel.instructions[1].sources[0].value, 32);
  EXPECT_EQ(kernel.instructions[2].sources[0].symbol, 0);
  EXPECT_EQ(kernel.max_block[0], 128u);
  EXPECT_EQ(module.constants.size(), 8u);
  EXPECT_EQ(module.constants[4], std::byte{255});
  EXPECT_EQ(module.globals[0].bytes[0], std::byte{7});
}

TEST(PtxParser, RefusesByName) {
  for (const auto& [body, part] : std::vector<std::pair<std::string, std::string>>{
           {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
            "{%r1,%r2,%r3,%r4};",
            "PTX line 16: 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32' is not supported yet (.f32)"},
           {"cp.async.bulk.commit_group;", "'cp.async.bulk.commit_group' is not supported yet (.bulk)"},
           {"cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd2;", "(.L2::cache_hint)"},
           {"createpolicy.fractional.L2::evict_last.b64 %rd1;", "'createpolicy"},
           {"wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r1}, [%rd1];", "'wmma"},
           {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", "'stmatrix"},
           {"add.ftz.f32 %f1, %f2, %f3;", "'add.ftz.f32' is not supported yet (.ftz)"},
           {"div.approx.f32 %f1, %f2, %f3;", ".approx"},
           {"mul.f32 %f1, %f2, %f3;", "needs .rn"},
           {"add.rz.f32 %f1, %f2, %f3;", ".rz"},
           {"call foo;", "'call' is not supported yet"},
           {"mov.u32 %r1, %clock;", "'%clock'"},
           {"mov.f64 %rd1, 0d0000000000000000;", "f64"},
           {"bar.arrive 0, 64;", ".arrive"},
           {"atom.global.add.f32 %f1, [%rd1], %f2;", "atom.global.add.f32"},
       }) {
    EXPECT_NE(why_not(body).find(part), std::string::npos) << body << ": " << why_not(body);
  }
}

TEST(PtxParser, RefusesWhatDoesNotFitTogether) {
  for (const std::string body : {"add.u32 %r1, %r2;",
                                 "add.u32 %r1, %r2, %rd3;",
                                 "add.u32 %r99, %r1, %r1;",
                                 "add %r1, %r1, %r1;",
                                 "setp.u32 %p1, %r1, %r1;",
                                 "setp.lt.b32 %p1, %r1, %r1;",
                                 "setp.lo.f32 %p1, %f1, %f1;",
                                 "bra $NOWHERE;",
                                 "$A: $A: ret;",
                                 "cvt.s32.f32 %r1, %f1;",
                                 "cvt.rn.s32.f32 %r1, %f1;",
                                 "mul.u32 %r1, %r1, %r1;",
                                 "mul.wide.u64 %rd1, %rd1, %rd1;",
                                 "ld.global.u32 %r1, %rd1;",
                                 "ld.global.v4.u64 {%rd1,%rd2,%rd3,%rd4}, [%rd1];",
                                 "ld.global.v2.u32 %r1, [%rd1];",
                                 "st.param.u32 [pa], %r1;",
                                 "st.const.u32 [%rd1], %r1;",
                                 "ld.global.u32 %r1, [%r1];",
                                 "shfl.bfly.b32 %r1, %r1, 1, 31;",
                                 "@%r1 ret;",
                                 "mov.u32 %r1, nothing;",
                                 "mov.u32 %r1, pa+;",
                                 "ld.global.u32 1, [%rd1];",
                                 "lop3.b32 %r1, %r1, %r1, %r1;",
                                 "mov.u32 !%p1, %r1;",
                                 "selp.u32 %r1, %r1, %r1, %r1;",
                                 "mov.b64 %rd1, {%r1,%r2,%r3};",
                                 ".reg .b32 %r<4>;",
                                 ".reg .f64 %fd<4>;",
                                 "ld.nc.u32 %r1, [%rd1];",
                                 "{ ret;",
                                 "red.global.cas.b32 [%rd1], 1, 2;",
                                 "add.u32 %r1, {%r1, %r2, %r3, %r4, %r5, %r6, %r7}, %r1;",
                                 "mma.sync.aligned.m16n8k32.row.row.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, "
                                 "{%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r1,%r2,%r3,%r4};",
                                 "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
                                 "{%r1}, {%r1,%r2,%r3,%r4};",
                                 "mma.sync.aligned.row.col.s32.s8.s8.s32 {%r1,%r2}, {%r1}, {%r1}, {%r1,%r2};",
                                 "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1,%r2}, {%rd1}, {%r1}, {%r1,%r2};",
                                 "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8 {%r1,%r2}, {%r1}, {%r1}, {%r1,%r2};",
                                 "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r1];",
                                 "ldmatrix.sync.aligned.m8n8.shared.b16 {%r1}, [%r1];",
                                 "ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%rd1];",
                                 "cp.async.ca.shared.global [%r1], [%rd1], 12;",
                                 "cp.async.cg.shared.global [%r1], [%rd1], 8;",
                                 "cp.async.shared.global [%r1], [%rd1], 16;",
                                 "cp.async.ca.shared.global [%r1], [%rd1], 4, 5;",
                                 "cp.async.ca.shared.global [%r1], [%rd1], 4, %rd1;",
                                 "cp.async.ca.shared.global [%r1], [%r1], 4;",
                                 "cp.async.ca.global.shared [%rd1], [%r1];",
                                 "cp.async.wait_group %r1;",
                                 "cvt.pack.sat.s8.s32 %r1, %r1, %r1, 0;",
                                 "cvt.pack.s8.s32.b32 %r1, %r1, %r1, 0;",
                                 "cvt.pack.sat.s16.s32.b32 %r1, %r1, %r1, 0;"}) {
    EXPECT_FALSE(why_not(body).empty()) << body;
  }
}

TEST(PtxParser, TargetsAndVersionsThatAreTooOld) {
  const auto why = [](const std::string& body, const std::string& version, const std::string& target) -> std::string {
    std::string text = kernel_of(body);
    text.replace(text.find("8.0"), 3, version);
    text.replace(text.find("sm_80"), 5, target);
    try {
      ptx::parse(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  const std::string large =
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
      "{%r1,%r2}, {%r1,%r2,%r3,%r4};";
  const std::string small = "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 {%r1,%r2}, {%r1}, {%r1}, {0, 0};";
  const std::string copy = "cp.async.ca.shared.global [%r1], [%rd1], 16, ";
  EXPECT_EQ(why(large, "7.0", "sm_80"), "");
  EXPECT_NE(why(large, "7.0", "sm_75").find("needs .target sm_80 or newer"), std::string::npos);
  EXPECT_NE(why(large, "6.5", "sm_80").find("needs PTX 7.0 or newer"), std::string::npos);
  EXPECT_EQ(why(small, "6.5", "sm_75"), "");
  EXPECT_NE(why(small, "6.5", "sm_72").find("sm_75"), std::string::npos);
  EXPECT_EQ(why(copy + "%r2;", "7.0", "sm_80"), "");
  EXPECT_NE(why(copy + "%r2;", "7.0", "sm_75").find("sm_80"), std::string::npos);
  EXPECT_NE(why(copy + "%p1;", "7.4", "sm_80").find("PTX 7.5"), std::string::npos);
  EXPECT_NE(why("cp.async.wait_all;", "7.0", "sm_75").find("sm_80"), std::string::npos);
  EXPECT_EQ(why("ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%r1}, [%r1];", "7.8", "sm_75"), "");
  EXPECT_NE(why("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r1];", "7.8", "sm_70").find("sm_75"),
            std::string::npos);
}

// Cuts, swaps and flips of a real text: a UsageError, or a module that decodes or is refused as well.
TEST(PtxParser, BrokenTextIsAUsageError) {
  const std::string text = kernel_of(R"(
  .reg .b32 t; mov.u32 t, tile; { .reg .pred q; setp.gt.and.u32 q|%p1, %r0, 2, !%p2; @q add.u32 %r10, %r10, t; }
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+16]; shfl.sync.bfly.b32 %r5|%p2, %r1, 1, 31, -1;
  cp.async.cg.shared.global.L2::128B [%r1+16], [%rd1], 16, %r2; cp.async.wait_group 1; cvt.pack.sat.u8.s32.b32 %r1, %r2, 1, %r3;
  ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [tile];
  mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {0, 0, 0, 0};
  lop3.b32 %r6, %r1, %r2, %r3, 0x96; cvt.rni.sat.s8.f32 %r7, %f1; bar.sync 0; mov.b64 %rd4, {%r1, %r2};
$L: mad.wide.s32 %rd5, %r1, %r2, %rd4; @%p1 bra $L; atom.global.cas.b32 %r1, [%rd1], 1, 2; st.local.u8 [own+3], %r1;
)",
                                     "  .shared .align 16 .b8 tile[64];\n  .local .align 4 .b8 own[8];\n");
  const std::string marks = ",;:{}[]()+-<>=!|@.%$\"/*\n 0123456789azAZ_\x7f";
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string broken = text;
    for (int change = 0; change <= round % 4; ++change) {
      const size_t at = random() % broken.size();
      switch (random() % 4) {
        case 0:
          broken.erase(at, 1 + random() % 12);
          break;
        case 1:
          broken[at] = marks[random() % marks.size()];
          break;
        case 2:
          broken.insert(at, broken.substr(random() % broken.size(), random() % 20));
          break;
        default:
          broken.insert(at, 1, marks[random() % marks.size()]);
          break;
      }
    }
    if (round % 50 == 0) broken.resize(random() % broken.size());
    try {
      ptx::Module module = ptx::parse(broken);
      const std::vector<uint64_t> globals(module.globals.size(), 1 << 20);
      virtual_gpu::decode(module.kernels[0], module.constants, globals, true);
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("PTX line"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(PtxParser, HugeClaimsAreRefused) {
  EXPECT_THROW(ptx::parse(kernel_of("", "  .reg .b32 %big<4000000000>;\n")), UsageError);
  EXPECT_THROW(ptx::parse(kernel_of("", "  .local .b8 big[99999999999];\n")), UsageError);
  EXPECT_THROW(ptx::parse(kernel_of("", "  .shared .b32 big[4096][4096][4096];\n")), UsageError);
  EXPECT_THROW(ptx::parse(""), UsageError);
  EXPECT_THROW(ptx::parse(std::string(100000, '{')), UsageError);
  EXPECT_THROW(ptx::parse(kernel_of(std::string(100000, '{'))), UsageError);
  EXPECT_THROW(ptx::parse(".global .b8 x[4] = " + std::string(100000, '{')), UsageError);
}

}  // namespace
}  // namespace warpwright
