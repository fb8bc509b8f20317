// Control flow and exchange between lanes: divergence, loops, shuffles, votes, atomics, the order of CTAs.
#include <numeric>

#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

// The body computes %r10 from %r0 = the thread; `o` gets it.
std::vector<uint32_t> results(const std::string& body, uint32_t threads, const std::string& variables = {}) {
  VirtualRun run;
  std::vector<uint32_t> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 0);
  const DeviceAddress a = run.upload(numbers, "a"), o = run.device->allocate(4 * threads, "o");
  const std::string store = "\n  mul.wide.u32 %rd6, %r0, 4; add.s64 %rd7, %rd3, %rd6; st.global.u32 [%rd7], %r10;\n";
  const Outcome outcome = run.run(kernel_of(body + store, variables), shape_of(1, threads), {a, a, o});
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  return run.download<uint32_t>(o, threads);
}

TEST(VirtualControl, DivergentLoopsGiveEachLaneItsOwnCount) {
  const auto got = results(R"(
  mov.u32 %r10, 0; mov.u32 %r1, 0;
$L: setp.ge.u32 %p1, %r1, %r0; @%p1 bra $E;
  add.u32 %r1, %r1, 1;
  and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 0; @%p2 bra $EVEN;
  add.u32 %r10, %r10, %r1; bra.uni $L;
$EVEN: add.u32 %r10, %r10, 1000; bra.uni $L;
$E:
)",
                           70);
  for (uint32_t t = 0; t < 70; ++t) {
    uint32_t expected = 0;
    for (uint32_t i = 1; i <= t; ++i) expected += i % 2 == 0 ? 1000 : i;
    EXPECT_EQ(got[t], expected) << t;
  }
}

TEST(VirtualControl, LanesMeetAgainBehindABranch) {
  // activemask behind the branch holds all lanes of the warp, inside only its own.
  const auto got = results(R"(
  and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 0; mov.u32 %r3, 0;
  @%p1 bra $A;
  activemask.b32 %r2; bra.uni $B;
$A: activemask.b32 %r3; mov.u32 %r2, %r3;
$B: activemask.b32 %r4; setp.eq.u32 %p2, %r4, -1; selp.b32 %r10, %r2, 0, %p2;
)",
                           32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(got[t], t % 4 == 0 ? 0x11111111u : 0xeeeeeeeeu) << t;
}

TEST(VirtualControl, EarlyExitsInsideLoops) {
  const auto got = results(R"(
  mov.u32 %r10, 7; mov.u32 %r1, 0;
  mul.wide.u32 %rd6, %r0, 4; add.s64 %rd7, %rd3, %rd6; st.global.u32 [%rd7], %r10;
$L: setp.eq.u32 %p1, %r1, %r0; @%p1 ret;
  add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 20; @%p2 bra $L;
  mov.u32 %r10, 99;
)",
                           40);
  for (uint32_t t = 0; t < 40; ++t) EXPECT_EQ(got[t], t < 20 ? 7u : 99u) << t;
}

TEST(VirtualControl, GuardsAndScopes) {
  const auto got = results(R"(
  mov.u32 %r10, 1; setp.lt.u32 %p1, %r0, 5;
  { .reg .pred q; .reg .b32 t; setp.gt.u32 q, %r0, 2; mov.u32 t, 10; @q add.u32 %r10, %r10, t; }
  { .reg .pred q; setp.gt.u32 q, %r0, 3; @!q add.u32 %r10, %r10, 100; }
  @!%p1 mov.u32 %r10, 5;
)",
                           8);
  EXPECT_EQ(got, (std::vector<uint32_t>{101, 101, 101, 111, 11, 5, 5, 5}));
}

TEST(VirtualControl, Shuffles) {
  const auto check = [](const std::string& instruction, uint32_t (*expected)(uint32_t)) {
    SCOPED_TRACE(instruction);
    const auto got = results("add.u32 %r1, %r0, 100; mov.u32 %r4, 0; " + instruction +
                                 " selp.u32 %r5, 1000, 0, %p1; add.u32 %r10, %r2, %r5;",
                             32);
    for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(got[t], expected(t)) << t;
  };
  check("shfl.sync.bfly.b32 %r2|%p1, %r1, 5, 31, -1;", [](uint32_t t) { return 1100 + (t ^ 5); });
  check("shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, -1;", [](uint32_t t) { return t >= 3 ? 1100 + t - 3 : 100 + t; });
  check("shfl.sync.down.b32 %r2|%p1, %r1, 3, 31, -1;", [](uint32_t t) { return t + 3 < 32 ? 1100 + t + 3 : 100 + t; });
  check("shfl.sync.idx.b32 %r2|%p1, %r1, 9, 31, -1;", [](uint32_t) { return 1109u; });
  // Segments of 8 lanes.
  check("shfl.sync.down.b32 %r2|%p1, %r1, 2, 0x181f, -1;",
        [](uint32_t t) { return t % 8 < 6 ? 1100 + t + 2 : 100 + t; });
  check("shfl.sync.idx.b32 %r2|%p1, %r1, 2, 0x181f, -1;", [](uint32_t t) { return 1100 + t / 8 * 8 + 2; });
}

TEST(VirtualControl, VotesMatchesAndReductions) {
  EXPECT_EQ(results("setp.lt.u32 %p1, %r0, 4; vote.sync.ballot.b32 %r10, %p1, -1;", 32)[9], 0xfu);
  EXPECT_EQ(results("setp.lt.u32 %p1, %r0, 4; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r10, 1, 0, %p2;", 32)[9], 1u);
  EXPECT_EQ(results("setp.lt.u32 %p1, %r0, 4; vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r10, 1, 0, %p2;", 32)[9], 0u);
  EXPECT_EQ(results("and.b32 %r1, %r0, 7; match.any.sync.b32 %r10, %r1, -1;", 32)[10], 0x04040404u);
  EXPECT_EQ(results("sub.u32 %r1, 3, %r0; redux.sync.min.s32 %r10, %r1, -1;", 32)[0], static_cast<uint32_t>(-28));
  EXPECT_EQ(results("redux.sync.add.u32 %r10, %r0, -1;", 32)[31], 496u);
}

TEST(VirtualControl, MemberMasksAreObeyed) {
  VirtualRun run;
  const DeviceAddress o = run.device->allocate(256, "o");
  const Outcome divergent = run.run(kernel_of("setp.lt.u32 %p1, %r0, 9; @%p1 shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;"),
                                    shape_of(1, 32), {o, o, o});
  EXPECT_EQ(divergent.kind, OutcomeKind::memory_fault) << divergent.message;
  const Outcome outside = run.run(kernel_of("setp.lt.u32 %p1, %r0, 8; @%p1 shfl.sync.bfly.b32 %r1, %r0, 8, 31, 255;"),
                                  shape_of(1, 32), {o, o, o});
  EXPECT_NE(outside.message.find("takes no part"), std::string::npos) << outside.message;
  EXPECT_TRUE(run.run(kernel_of("setp.lt.u32 %p1, %r0, 8; @%p1 shfl.sync.bfly.b32 %r1, %r0, 4, 31, 255;"),
                      shape_of(1, 32), {o, o, o})
                  .ok());
}

TEST(VirtualControl, GlobalAtomics) {
  VirtualRun run;
  const DeviceAddress a = run.upload(std::vector<int32_t>{0, 1000, -1000, 0, 0, 5}, "a"),
                      o = run.device->allocate(4, "o");
  const Outcome outcome = run.run(kernel_of(R"(
  mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 64, %r0;
  atom.global.add.u32 %r2, [%rd1], %r1;
  atom.global.min.s32 %r3, [%rd1+4], %r1;
  atom.global.max.s32 %r4, [%rd1+8], %r1;
  and.b32 %r5, %r1, 31; mov.u32 %r6, 1; shl.b32 %r5, %r6, %r5;
  red.global.or.b32 [%rd1+12], %r5;
  atom.global.cas.b32 %r7, [%rd1+16], 0, 77;
  atom.global.exch.b32 %r8, [%rd1+20], 9;
)"),
                                  shape_of(10, 64), {a, a, o});
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(run.download<int32_t>(a, 6), (std::vector<int32_t>{639 * 640 / 2, 0, 639, -1, 77, 9}));
}

TEST(VirtualControl, SpecialRegistersOfThreeDimensions) {
  VirtualRun run;
  LaunchShape shape;
  shape.grid = {3, 2, 4};
  shape.block = {4, 3, 2};
  const DeviceAddress o = run.device->allocate(24 * 24 * 4, "o");
  const Outcome outcome = run.run(kernel_of(R"(
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;
  mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;
  mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ctaid.y; mov.u32 %r13, %ctaid.z; mov.u32 %r14, %nctaid.x; mov.u32 %r15, %nctaid.y;
  mad.lo.u32 %r16, %r13, %r15, %r12; mad.lo.u32 %r16, %r16, %r14, %r11;
  mad.lo.u32 %r7, %r16, 24, %r6; mul.wide.u32 %rd4, %r7, 4; add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r7;
)"),
                                  shape, {o, o, o});
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  const auto got = run.download<uint32_t>(o, 576);
  for (uint32_t i = 0; i < 576; ++i) EXPECT_EQ(got[i], i);
}

TEST(VirtualControl, MemoryOfAllWidths) {
  const auto got = results(R"(
  mov.u32 %r1, tile; shl.b32 %r2, %r0, 4; add.u32 %r1, %r1, %r2; add.u32 %r3, %r0, 0xfffffff0;
  st.shared.v4.u32 [%r1], {%r3, %r0, %r3, %r0};
  ld.shared.s8 %r4, [%r1]; ld.shared.u8 %r5, [%r1]; ld.shared.s16 %r6, [%r1]; ld.shared.v2.u64 {%rd10, %rd11}, [%r1];
  ld.shared.s32 %rd12, [%r1]; ld.shared.u8 %h1, [%r1]; ld.shared.v4.u8 {%r20, %r21, %r22, %r23}, [%r1];
  cvt.u32.u16 %r7, %h1;
  add.u32 %r8, %r4, %r5; add.u32 %r8, %r8, %r6; shr.u64 %rd13, %rd10, 32; cvt.u32.u64 %r9, %rd13;
  add.u32 %r8, %r8, %r9; shr.s64 %rd14, %rd12, 40; cvt.u32.u64 %r9, %rd14; add.u32 %r8, %r8, %r9;
  add.u32 %r8, %r8, %r7; add.u32 %r10, %r8, %r23;
)",
                           32, "  .shared .align 16 .b8 tile[512];\n");
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t value = t + 0xfffffff0u;
    const auto as = [](auto part) { return static_cast<uint32_t>(static_cast<int32_t>(part)); };
    const uint32_t expected = as(static_cast<int8_t>(value)) + (value & 255) + as(static_cast<int16_t>(value)) + t +
                              (t < 16 ? ~0u : 0u) + (value & 255) + (value >> 24);
    EXPECT_EQ(got[t], expected) << t;
  }
}

TEST(VirtualControl, TheSeedChangesTheOrderAndNotTheResult) {
  // The order shows in what atom gives back.
  const std::string ptx = kernel_of(R"(
  atom.global.add.u32 %r1, [%rd1], 1; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd3, %rd4;
  st.global.u32 [%rd5], %r1;
)");
  std::vector<std::vector<uint32_t>> orders;
  for (const uint64_t seed : {1, 1, 2}) {
    DeviceOptions options;
    options.seed = seed;
    options.jobs = 1;
    VirtualRun run;
    run.device = open_virtual_device(target_preset("rtx4090"), options);
    const DeviceAddress a = run.upload(std::vector<uint32_t>{0}, "a"), o = run.device->allocate(400, "o");
    ASSERT_TRUE(run.run(ptx, shape_of(100, 1), {a, a, o}).ok());
    EXPECT_EQ(run.download<uint32_t>(a, 1)[0], 100u);
    orders.push_back(run.download<uint32_t>(o, 100));
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
}

}  // namespace
}  // namespace warpwright
