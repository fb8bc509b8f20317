// What CTAs may hand on to each other, and what they may not: split-K with a last CTA, flags, counters.
#include <set>

#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

// Each CTA writes 64 partial sums to the workspace a and adds 1 to the counter b; the last one adds them all up into o,
// writes its number behind them and clears the counter.
struct SplitK {
  std::string store = "st.global.u32";
  std::string release_fence = "membar.gl;";  // of every thread, behind its partial sum
  std::string first_barrier = "bar.sync 0;";
  std::string thread_fence;  // of thread 0, before its atomic
  std::string atomic = "atom.global.add.u32";
  std::string thread_acquire;  // of thread 0, behind its atomic
  std::string second_barrier = "bar.sync 0;";
  std::string acquire_fence = "membar.gl;";  // of every thread of the last CTA
  std::string load = "ld.global.cg.u32";
  std::string clear = "st.global.u32 [%rd2], 0;";

  std::string text() const {
    return kernel_of(R"(
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
  mad.lo.u32 %r3, %r1, 64, %r0; mad.lo.u32 %r4, %r1, 100, %r0;
  mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4;
  )" + store + " [%rd5], %r4;\n" +
                         release_fence + "\n" + first_barrier + R"(
  setp.ne.u32 %p1, %r0, 0; @%p1 bra $OTHERS;
)" + thread_fence + "\n" +
                         atomic + R"( %r5, [%rd2], 1;
)" + thread_acquire + R"(
  add.u32 %r6, %r2, -1; setp.eq.u32 %p2, %r5, %r6; selp.u32 %r7, 1, 0, %p2;
  st.shared.u32 [last], %r7;
$OTHERS:
)" + second_barrier + R"(
  ld.shared.u32 %r7, [last]; setp.eq.u32 %p3, %r7, 0; @%p3 bra $END;
)" + acquire_fence + R"(
  mov.u32 %r8, 0; mov.u32 %r9, 0; xor.b32 %r10, %r0, 37;
$L:
  mad.lo.u32 %r11, %r9, 64, %r10; mul.wide.u32 %rd6, %r11, 4; add.s64 %rd7, %rd1, %rd6;
  )" + load + R"( %r12, [%rd7];
  add.u32 %r8, %r8, %r12; add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, %r2; @%p4 bra $L;
  mul.wide.u32 %rd8, %r10, 4; add.s64 %rd9, %rd3, %rd8; st.global.u32 [%rd9], %r8;
  setp.eq.u32 %p5, %r0, 0; @%p5 st.global.u32 [%rd3+256], %r1;
  @%p5 )" + clear + "\n$END:\n",
                     "  .shared .align 4 .u32 last;\n");
  }
};

constexpr uint32_t kCtas = 5;

struct Ran {
  Outcome outcome;
  std::vector<uint32_t> output;
  uint32_t counter = 0;
};

Ran run_split(const SplitK& split, uint64_t seed, int jobs = 2, bool checked = true, uint32_t ctas = kCtas) {
  VirtualRun run(checked, 10'000'000, seed, jobs);
  const DeviceAddress workspace = run.device->allocate(int64_t{ctas} * 256, "workspace"),
                      counter = run.upload(std::vector<uint32_t>(1, 0), "counter"),
                      output = run.device->allocate(260, "output");
  Ran ran;
  ran.outcome = run.run(split.text(), shape_of(ctas, 64), {workspace, counter, output});
  ran.output = run.download<uint32_t>(output, 65);
  ran.counter = run.download<uint32_t>(counter, 1)[0];
  return ran;
}

void expect_right(const SplitK& split, uint32_t ctas = kCtas, bool checked = true) {
  std::set<uint32_t> last;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Ran ran = run_split(split, seed, seed % 3 == 0 ? 1 : 2, checked, ctas);
    ASSERT_TRUE(ran.outcome.ok()) << split.text() << ran.outcome.message;
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(ran.output[i], ctas * (ctas - 1) / 2 * 100 + ctas * i);
    EXPECT_EQ(ran.counter, 0u);
    last.insert(ran.output[64]);
  }
  EXPECT_TRUE(!checked || last.size() > 1);  // the order in which CTAs finish changes with the seed
}

// With every seed, and the same message whatever the number of host threads.
void expect_wrong(const SplitK& split, const std::vector<std::string>& parts) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Ran ran = run_split(split, seed, 1);
    EXPECT_EQ(ran.outcome.kind, OutcomeKind::memory_fault) << split.text();
    for (const std::string& part : parts)
      EXPECT_NE(ran.outcome.message.find(part), std::string::npos) << split.text() << ran.outcome.message;
    EXPECT_EQ(run_split(split, seed, 2).outcome.message, ran.outcome.message);
  }
}

TEST(VirtualCtaOrder, TheLastCtaAddsUp) {
  expect_right({});
  expect_right({}, 40);  // more than take turns at once
  expect_right({}, kCtas, false);
  for (const std::string load : {"ld.volatile.global.u32", "ld.global.u32", "ld.global.cv.u32"}) {
    SplitK split;
    split.load = load;
    expect_right(split);
  }
  SplitK exchanged;
  exchanged.clear = "atom.global.exch.b32 %r20, [%rd2], 0;";
  expect_right(exchanged);
}

TEST(VirtualCtaOrder, TheFencesMayStandInOneThread) {
  SplitK split;
  split.release_fence = split.acquire_fence = "";
  split.thread_fence = "fence.acq_rel.gpu;";
  split.thread_acquire = "fence.acq_rel.gpu;";
  expect_right(split);
  split.thread_fence = split.thread_acquire = "";
  split.atomic = "atom.acq_rel.gpu.global.add.u32";
  expect_right(split);
  split.thread_fence = "fence.sc.gpu;";
  split.atomic = "atom.acquire.gpu.global.add.u32";
  expect_right(split);
}

TEST(VirtualCtaOrder, WithoutAFenceItIsARace) {
  SplitK split;
  split.release_fence = "";
  expect_wrong(split, {"race between CTAs: buffer 'workspace' offset", "also written by CTA", "PTX line",
                       "'st.global.u32'", "thread ("});
  split.release_fence = "membar.cta;";
  expect_wrong(split, {"race between CTAs", "'workspace'"});
  split = {};
  split.acquire_fence = "";
  expect_wrong(split, {"race between CTAs", "'workspace'"});
  split = {};
  split.release_fence = split.acquire_fence = "";
  split.atomic = "atom.acquire.gpu.global.add.u32";
  expect_wrong(split, {"race between CTAs", "'workspace'"});
  split.atomic = "atom.release.gpu.global.add.u32";
  expect_wrong(split, {"race between CTAs", "'workspace'"});
  split.atomic = "atom.acq_rel.cta.global.add.u32";
  expect_wrong(split, {"race between CTAs"});
  // A fence before the store covers nothing.
  split = {};
  split.store = "membar.gl; st.global.u32";
  split.release_fence = "";
  expect_wrong(split, {"race between CTAs", "'workspace'"});
}

TEST(VirtualCtaOrder, WithoutABarrierItIsARace) {
  SplitK split;
  split.first_barrier = "";
  expect_wrong(split, {"race"});
  split.release_fence = "";
  split.thread_fence = "membar.gl;";
  expect_wrong(split, {"race between CTAs", "'workspace'"});
  split.first_barrier = "bar.warp.sync -1;";  // orders the first warp alone
  expect_wrong(split, {"race between CTAs", "'workspace'"});
}

TEST(VirtualCtaOrder, StaleLoadsAreFaults) {
  SplitK split;
  split.load = "ld.global.nc.u32";
  expect_wrong(split, {"ld.global.nc of what is written in the same launch", "'workspace'"});
}

TEST(VirtualCtaOrder, AWarpSyncCarriesOnAsABarrierDoes) {
  // Of one warp: its lanes write, lane 0 hands on.
  const std::string body = R"(
  mov.u32 %r1, %ctaid.x; mad.lo.u32 %r3, %r1, 32, %r0; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4;
  st.global.u32 [%rd5], %r3; SYNC
  setp.ne.u32 %p1, %r0, 0; @%p1 bra $A; membar.gl; atom.global.add.u32 %r5, [%rd2], 1; membar.gl;
$A: shfl.sync.idx.b32 %r5, %r5, 0, 31, -1; SYNC
  setp.eq.u32 %p2, %r5, 0; @%p2 bra $END;
  xor.b32 %r6, %r3, 33; mul.wide.u32 %rd6, %r6, 4; add.s64 %rd7, %rd1, %rd6; ld.global.cg.u32 %r7, [%rd7];
$END:
)";
  const auto run = [&](std::string text, const std::string& sync, uint64_t seed) {
    for (size_t at = text.find("SYNC"); at != std::string::npos; at = text.find("SYNC")) text.replace(at, 4, sync);
    VirtualRun device(true, 1'000'000, seed);
    const DeviceAddress w = device.device->allocate(256, "workspace"),
                        c = device.upload(std::vector<uint32_t>(1, 0), "counter");
    return device.run(kernel_of(text), shape_of(2, 32), {w, c, c});
  };
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Outcome right = run(body, "bar.warp.sync -1;", seed);
    EXPECT_TRUE(right.ok()) << right.message;
    EXPECT_NE(run(body, "", seed).message.find("race between CTAs"), std::string::npos);
  }
}

// CTA 0 writes and raises a flag, CTA 1 waits for it.
TEST(VirtualCtaOrder, FlagsAreWaitedFor) {
  const auto run = [](const std::string& raise, const std::string& wait, uint64_t seed) {
    const std::string body = R"(
  mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r20, 1; @%p1 bra $WAIT;
  st.global.u32 [%rd1], 77;
)" + raise + "\n  bra $END;\n$WAIT:\n" +
                             wait + R"(
  setp.eq.u32 %p2, %r2, 0; @%p2 bra $WAIT;
  ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd3], %r3;
$END:
  setp.eq.u32 %p3, %r1, 99; @%p3 red.global.add.u32 [%rd2], 1;
)";
    VirtualRun device(true, 1'000'000, seed);
    const DeviceAddress w = device.device->allocate(4, "data"), f = device.upload(std::vector<uint32_t>(1, 0), "flag"),
                        o = device.device->allocate(4, "output");
    Outcome outcome = device.run(kernel_of(body), shape_of(2, 1), {w, f, o});
    EXPECT_TRUE(!outcome.ok() || device.download<uint32_t>(o, 1)[0] == 77);
    return outcome;
  };
  const std::string fenced = "membar.gl; atom.global.exch.b32 %r9, [%rd2], 1;";
  const std::string watch = "atom.global.add.u32 %r2, [%rd2], 0; membar.gl;";
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    for (const std::string& wait : {watch, std::string("ld.acquire.gpu.global.u32 %r2, [%rd2];"),
                                    std::string("ld.relaxed.gpu.global.u32 %r2, [%rd2]; fence.acq_rel.gpu;"),
                                    std::string("ld.volatile.global.u32 %r2, [%rd2]; membar.gl;")}) {
      const Outcome outcome = run(fenced, wait, seed);
      EXPECT_TRUE(outcome.ok()) << wait << outcome.message;
    }
    const Outcome stored =
        run("st.release.gpu.global.u32 [%rd2], %r20;", "ld.acquire.gpu.global.u32 %r2, [%rd2];", seed);
    EXPECT_TRUE(stored.ok()) << stored.message;
    for (const auto& [raise, wait] :
         {std::pair<std::string, std::string>{"atom.global.exch.b32 %r9, [%rd2], 1;", watch},
          {fenced, "atom.global.add.u32 %r2, [%rd2], 0;"},
          {fenced, "ld.global.u32 %r2, [%rd2]; membar.gl;"},
          {"membar.gl; st.global.u32 [%rd2], 1;", watch}}) {
      const Outcome outcome = run(raise, wait, seed);
      EXPECT_EQ(outcome.kind, OutcomeKind::memory_fault) << raise << wait;
      EXPECT_NE(outcome.message.find("race between CTAs"), std::string::npos) << raise << wait << outcome.message;
    }
  }
}

TEST(VirtualCtaOrder, WaitingForCtasThatHaveNoPlaceEnds) {
  const std::string body = R"(
  atom.global.add.u32 %r1, [%rd2], 1; mov.u32 %r3, %nctaid.x;
$L: atom.global.add.u32 %r2, [%rd2], 0; setp.lt.u32 %p1, %r2, %r3; @%p1 bra $L;
)";
  const auto run = [&](uint32_t ctas) {
    VirtualRun device(true, 100'000);
    const DeviceAddress c = device.upload(std::vector<uint32_t>(1, 0), "counter");
    return device.run(kernel_of(body), shape_of(ctas, 1), {c, c, c});
  };
  EXPECT_TRUE(run(8).ok());
  const Outcome outcome = run(100);
  EXPECT_EQ(outcome.kind, OutcomeKind::run_timeout);
  EXPECT_NE(outcome.message.find("84 CTAs of the grid had no turn yet"), std::string::npos) << outcome.message;
}

TEST(VirtualCtaOrder, AtomicsAloneNeedNoOrder) {
  const std::string body = R"(
  and.b32 %r1, %r0, 7; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd2, %rd4;
  atom.global.add.u32 %r2, [%rd5], 1; red.global.max.u32 [%rd2+32], %r0;
)";
  for (const bool checked : {true, false}) {
    VirtualRun device(checked);
    const DeviceAddress c = device.upload(std::vector<uint32_t>(9, 0), "counters");
    const Outcome outcome = device.run(kernel_of(body), shape_of(50, 64), {c, c, c});
    ASSERT_TRUE(outcome.ok()) << outcome.message;
    EXPECT_EQ(device.download<uint32_t>(c, 9), (std::vector<uint32_t>{400, 400, 400, 400, 400, 400, 400, 400, 63}));
  }
}

// Where CTAs communicate, threads of one CTA are looked at too.
TEST(VirtualCtaOrder, GlobalMemoryInsideACta) {
  const auto run = [](const std::string& between) {
    const std::string body = R"(
  mul.wide.u32 %rd4, %r0, 4; add.s64 %rd5, %rd1, %rd4; xor.b32 %r1, %r0, 40; mul.wide.u32 %rd6, %r1, 4;
  add.s64 %rd7, %rd1, %rd6; st.global.u32 [%rd5], %r0; ld.global.u32 %r2, [%rd5]; st.global.u32 [%rd5], %r2;
)" + between + "\n  ld.global.u32 %r2, [%rd7]; red.global.add.u32 [%rd2], 1;";
    VirtualRun device;
    const DeviceAddress w = device.device->allocate(256, "data"), c = device.upload(std::vector<uint32_t>(1, 0), "c");
    return device.run(kernel_of(body), shape_of(1, 64), {w, c, c});
  };
  EXPECT_TRUE(run("bar.sync 0;").ok()) << run("bar.sync 0;").message;
  const Outcome outcome = run("");
  EXPECT_EQ(outcome.kind, OutcomeKind::memory_fault);
  EXPECT_NE(outcome.message.find("'data'"), std::string::npos) << outcome.message;
}

// Bytes of one line, read by many threads, written behind a barrier.
TEST(VirtualCtaOrder, BytesInPlace) {
  const std::string body = R"(
  cvt.u64.u32 %rd4, %r0; add.s64 %rd5, %rd1, %rd4; xor.b32 %r1, %r0, 33; cvt.u64.u32 %rd6, %r1; add.s64 %rd7, %rd1, %rd6;
  ld.global.u8 %r2, [%rd5]; ld.global.u8 %r3, [%rd1]; BETWEEN st.global.u8 [%rd7], %r2; red.global.add.u32 [%rd2], 1;
)";
  const auto run = [&](const std::string& between) {
    std::string text = body;
    text.replace(text.find("BETWEEN"), 7, between);
    VirtualRun device;
    const DeviceAddress w = device.upload(std::vector<uint8_t>(64, 1), "data"),
                        c = device.upload(std::vector<uint32_t>(1, 0), "c");
    return device.run(kernel_of(text), shape_of(1, 64), {w, c, c});
  };
  EXPECT_TRUE(run("bar.sync 0;").ok()) << run("bar.sync 0;").message;
  EXPECT_NE(run("").message.find("race in global memory"), std::string::npos);
}

TEST(VirtualCtaOrder, TheSameValueFromSeveralThreads) {
  const auto run = [](const std::string& value) {
    VirtualRun device;
    const DeviceAddress w = device.device->allocate(4, "data"), c = device.upload(std::vector<uint32_t>(1, 0), "c");
    return device.run(kernel_of("st.global.u32 [%rd1], " + value + "; red.global.add.u32 [%rd2], 1;"), shape_of(1, 64),
                      {w, c, c});
  };
  const Outcome same = run("7");
  EXPECT_TRUE(same.ok()) << same.message;
  EXPECT_NE(same.log.find("the same value written twice"), std::string::npos) << same.log;
  EXPECT_NE(
      run("%r0").message.find("race in global memory: buffer 'data' offset 0 of 4 bytes, written by thread (0,0,0)"),
      std::string::npos);
}

// Activations are no constant input between layers: any number of CTAs may read them.
TEST(VirtualCtaOrder, ManyMayRead) {
  const std::string body = R"(
  mul.wide.u32 %rd4, %r0, 4; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5]; ld.global.nc.u32 %r3, [%rd1];
  mov.u32 %r4, %ctaid.x; mad.lo.u32 %r5, %r4, 64, %r0; mul.wide.u32 %rd6, %r5, 4; add.s64 %rd7, %rd3, %rd6;
  ld.global.u32 %r6, [%rd7]; add.u32 %r6, %r6, %r2; st.global.u32 [%rd7], %r6; red.global.add.u32 [%rd2], 1;
)";
  VirtualRun device;
  const DeviceAddress a = device.upload(std::vector<uint32_t>(64, 3), "activations"),
                      c = device.upload(std::vector<uint32_t>(1, 0), "c"),
                      o = device.upload(std::vector<uint32_t>(64 * 60, 4), "in place");
  const Outcome outcome = device.run(kernel_of(body), shape_of(60, 64), {a, c, o});
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(device.download<uint32_t>(o, 64 * 60), std::vector<uint32_t>(64 * 60, 7));
}

}  // namespace
}  // namespace warpwright
