// Every check of the virtual device: a kernel that is wrong, which it must catch, beside one that is right.
#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

const std::string kOwnAddress = R"(
  mul.wide.u32 %rd4, %r0, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  shl.b32 %r1, %r0, 2;
)";
const std::string kShared = "  .shared .align 16 .b8 tile[1024];\n";

// `body` behind kOwnAddress: %rd5 = &a[tid], %rd7 = &o[tid], %r1 = 4 tid; a holds 0, 1, 2...
Outcome run_body(const std::string& body, LaunchShape shape = shape_of(1, 64), bool checked = true) {
  VirtualRun run(checked, 1'000'000);
  std::vector<int32_t> numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i);
  const DeviceAddress a = run.upload(numbers, "input", true), b = run.upload(numbers, "both"),
                      o = run.device->allocate(1024, "output");
  return run.run(kernel_of(kOwnAddress + body, kShared), shape, {a, b, o});
}

void expect_ok(const Outcome& outcome) { EXPECT_TRUE(outcome.ok()) << outcome.message; }

void expect_fault(const Outcome& outcome, const std::vector<std::string>& parts,
                  OutcomeKind kind = OutcomeKind::memory_fault) {
  EXPECT_EQ(outcome.kind, kind) << outcome.message;
  for (const std::string& part : parts) EXPECT_NE(outcome.message.find(part), std::string::npos) << outcome.message;
}

TEST(VirtualChecks, OutOfBounds) {
  expect_ok(run_body("ld.global.u32 %r2, [%rd5+768]; st.global.u32 [%rd7], %r2;"));
  for (const bool checked : {true, false}) {
    expect_fault(run_body("ld.global.u32 %r2, [%rd5+772];\nst.global.u32 [%rd7], %r2;", shape_of(1, 64), checked),
                 {"out of bounds", "'input' offset 1024 of 1024", "PTX line", "ld.global.u32", "CTA (0,0,0)",
                  "thread (63,0,0)"});
    expect_fault(run_body("st.global.u32 [%rd7+-4], %r0;", shape_of(1, 64), checked),
                 {"out of bounds", "'output' offset -4", "thread (0,0,0)"});
    expect_fault(run_body("st.global.u32 [4096], %r0;", shape_of(1, 64), checked), {"out of bounds", "in no buffer"});
    expect_fault(
        run_body("mov.u32 %r2, tile; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2+1020], %r0;", shape_of(1, 64), checked),
        {"out of bounds", "shared memory", "thread (1,0,0)"});
  }
}

TEST(VirtualChecks, Misaligned) {
  expect_fault(run_body("ld.global.u16 %h1, [%rd5+1]; st.global.u16 [%rd7], %h1;"), {"misaligned", "'input' offset 1"});
  expect_fault(run_body("st.shared.v2.u32 [tile+4], {%r0, %r0};", shape_of(1, 1)), {"misaligned", "shared memory"});
  expect_ok(run_body("st.shared.v2.u32 [tile+8], {%r0, %r0};", shape_of(1, 1)));
}

TEST(VirtualChecks, UninitialisedReads) {
  expect_fault(run_body("ld.global.u32 %r2, [%rd7]; st.global.u32 [%rd7], %r2;"),
               {"uninitialised read", "'output' offset 0"});
  expect_ok(run_body("st.global.u32 [%rd7], %r0; ld.global.u32 %r2, [%rd7];"));
  expect_fault(run_body("ld.shared.u8 %r2, [tile+5];"), {"uninitialised read", "offset 5 of shared memory"});
  expect_fault(run_body("st.shared.u8 [tile+4], %r0; ld.shared.u16 %r2, [tile+4];", shape_of(1, 1)),
               {"uninitialised read"});
  expect_ok(
      run_body("st.shared.u8 [tile+4], %r0; st.shared.u8 [tile+5], %r0; ld.shared.u16 %r2, [tile+4];", shape_of(1, 1)));
  expect_ok(run_body("ld.global.u32 %r2, [%rd7];", shape_of(1, 64), false));  // the fast mode does not look
}

TEST(VirtualChecks, UninitialisedLocalMemory) {
  const std::string local = "  .local .align 8 .b8 own[16];\n";
  const auto run = [&](const std::string& body) {
    VirtualRun device;
    const DeviceAddress o = device.device->allocate(1024, "output");
    return device.run(kernel_of(body, local), shape_of(1, 40), {o, o, o});
  };
  expect_fault(run("mov.u64 %rd4, own; ld.local.u32 %r2, [%rd4+4];"), {"uninitialised read", "offset 4 of local"});
  expect_ok(run("mov.u64 %rd4, own; st.local.u32 [%rd4+4], %r0; ld.local.u32 %r2, [%rd4+4];"));
  expect_ok(run("mov.u64 %rd4, own; cvta.local.u64 %rd5, %rd4; st.u32 [%rd5+4], %r0; ld.local.u32 %r2, [%rd4+4];"));
  expect_fault(run("mov.u64 %rd4, own; st.local.u32 [%rd4+16], %r0;"), {"out of bounds", "local memory"});
}

TEST(VirtualChecks, BeginLifeResetsTheShadow) {
  VirtualRun run;
  const DeviceAddress a = run.upload(std::vector<int32_t>(64, 1), "a"), o = run.device->allocate(1024, "output");
  const std::string ptx = kernel_of(kOwnAddress + "ld.global.u32 %r2, [%rd5]; st.global.u32 [%rd7], %r2;");
  expect_ok(run.run(ptx, shape_of(1, 64), {a, a, o}));
  run.device->begin_life(a + 128, 4);
  expect_fault(run.run(ptx, shape_of(1, 64), {a, a, o}), {"uninitialised read", "'a' offset 128", "thread (32,0,0)"});
}

TEST(VirtualChecks, SharedRaceBetweenWarps) {
  const std::string exchange = R"(
  mov.u32 %r2, tile; add.u32 %r3, %r2, %r1; xor.b32 %r4, %r1, DISTANCE; add.u32 %r5, %r2, %r4;
  st.shared.u32 [%r3], %r0;
  BETWEEN
  ld.shared.u32 %r6, [%r5];
  st.global.u32 [%rd7], %r6;
)";
  const auto with = [&](const std::string& distance, const std::string& between) {
    std::string text = exchange;
    text.replace(text.find("DISTANCE"), 8, distance);
    text.replace(text.find("BETWEEN"), 7, between);
    return run_body(text);
  };
  expect_ok(with("128", "bar.sync 0;"));
  expect_fault(with("128", ""), {"uninitialised read"});  // the other warp has not run yet
  expect_fault(with("128", "bar.warp.sync -1;"), {"uninitialised read"});
  // Inside a warp.
  expect_ok(with("4", "bar.sync 0;"));
  expect_ok(with("4", "bar.warp.sync 0xffffffff;"));
  expect_fault(with("4", ""), {"shared memory race", "written by thread", "without a barrier"});
  expect_fault(with("4", "shfl.sync.bfly.b32 %r9, %r0, 1, 31, -1;"), {"shared memory race"});
}

TEST(VirtualChecks, SharedWriteAfterRead) {
  const std::string body = R"(
  mov.u32 %r2, tile; add.u32 %r3, %r2, %r1; xor.b32 %r4, %r1, 4; add.u32 %r5, %r2, %r4;
  st.shared.u32 [%r3], %r0;
  bar.sync 0;
  ld.shared.u32 %r6, [%r5];
)";
  expect_fault(run_body(body + "st.shared.u32 [%r3], %r6;"), {"shared memory race", "read by thread"});
  expect_ok(run_body(body + "bar.sync 0; st.shared.u32 [%r3], %r6;"));
}

TEST(VirtualChecks, SharedRaceOfBytes) {
  // Each thread writes a byte of a word: right, but not when another reads it, or writes another value to it.
  const std::string own = "mov.u32 %r2, tile; add.u32 %r3, %r2, %r0; st.shared.u8 [%r3], %r0;\n";
  expect_ok(run_body(own + "bar.sync 0; and.b32 %r4, %r1, 63; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];"));
  expect_fault(run_body(own + "bar.warp.sync -1; ld.shared.u8 %r5, [tile+40];"), {"uninitialised"});
  expect_fault(run_body("st.shared.u8 [tile+3], %r0;"), {"shared memory race"});
  const Outcome same = run_body("mov.u32 %r2, 7; st.shared.u8 [tile+3], %r2;");
  expect_ok(same);
  EXPECT_NE(same.log.find("the same value written twice"), std::string::npos) << same.log;
}

TEST(VirtualChecks, SharedAtomicsDoNotRace) {
  const std::string clear = "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [tile], 0; ";
  const std::string add = "atom.shared.add.u32 %r2, [tile], 1; ";
  expect_ok(run_body(clear + "bar.sync 0; " + add + "bar.sync 0; ld.shared.u32 %r3, [tile];"));
  expect_fault(run_body(clear + "bar.sync 0; " + add + "ld.shared.u32 %r3, [tile];"), {"shared memory race"});
  expect_fault(run_body(add), {"uninitialised read"});
}

TEST(VirtualChecks, NamedBarriersOrderTheirWarps) {
  // Warps 0 and 1 exchange at barrier 1, warps 2 and 3 at barrier 2.
  const std::string body = R"(
  mov.u32 %r2, tile; add.u32 %r3, %r2, %r1; xor.b32 %r4, %r1, DISTANCE; add.u32 %r5, %r2, %r4;
  shr.u32 %r6, %r0, 6; add.u32 %r6, %r6, 1;
  st.shared.u32 [%r3], %r0;
  bar.sync %r6, 64;
  ld.shared.u32 %r7, [%r5];
  st.global.u32 [%rd7], %r7;
)";
  const auto with = [&](const std::string& distance) {
    std::string text = body;
    return run_body(text.replace(text.find("DISTANCE"), 8, distance), shape_of(1, 128));
  };
  expect_ok(with("128"));
  const Outcome crossed = with("256");
  EXPECT_EQ(crossed.kind, OutcomeKind::memory_fault);
}

TEST(VirtualChecks, DivergentBarriers) {
  expect_fault(run_body("setp.lt.u32 %p1, %r0, 40; @%p1 bar.sync 0;"), {"divergent barrier", "bar.sync"});
  expect_fault(run_body("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 0; @%p1 bar.sync 1, 64;"), {"divergent barrier"});
  expect_ok(run_body("setp.lt.u32 %p1, %r0, 32; @!%p1 exit; bar.sync 0;"));  // exited warps have arrived
  expect_ok(run_body("setp.lt.u32 %p1, %r0, 50; @!%p1 exit; bar.sync 0;"));  // and exited lanes
  expect_ok(run_body("setp.lt.u32 %p1, %r0, 32; @%p1 bra $A; bar.sync 0; bra $B; $A: bar.sync 0; $B: bar.sync 0;"));
  expect_fault(run_body("setp.lt.u32 %p1, %r0, 7; @%p1 bar.warp.sync -1;"), {"divergent barrier"});
}

TEST(VirtualChecks, ConstantInputs) {
  for (const bool checked : {true, false}) {
    expect_fault(run_body("st.global.u32 [%rd5], %r0;", shape_of(1, 64), checked),
                 {"write to a constant input", "'input' offset 0"});
  }
  expect_fault(run_body("red.global.add.u32 [%rd5], %r0;"), {"write to a constant input"});
}

TEST(VirtualChecks, RacesBetweenCtas) {
  const std::string whole = "mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd8, %r2, 256; add.s64 %rd9, %rd7, %rd8;\n";
  expect_ok(run_body(whole + "st.global.u32 [%rd9], %r0;", shape_of(4, 64)));
  expect_fault(run_body("st.global.u32 [%rd7], %r0;", shape_of(4, 64)),
               {"race between CTAs", "'output'", "also written"});
  expect_fault(run_body(whole + "st.global.u32 [%rd9], %r0; add.s64 %rd10, %rd2, %rd8; ld.global.u32 %r3, [%rd2]; "
                                "st.global.u32 [%rd10], %r3;",
                        shape_of(4, 1)),
               {"race between CTAs", "'both' offset 0"});
  // Bytes of one word from different CTAs.
  expect_ok(
      run_body("mov.u32 %r2, %ctaid.x; cvt.u64.u32 %rd8, %r2; add.s64 %rd9, %rd3, %rd8; st.global.u8 [%rd9], %r2;",
               shape_of(64, 1)));
  expect_ok(run_body("red.global.add.u32 [%rd2], 1;", shape_of(4, 64)));
  expect_fault(run_body("red.global.add.u32 [%rd2], 1; st.global.u32 [%rd2], 1;", shape_of(4, 1)),
               {"race between CTAs"});
}

TEST(VirtualChecks, NonCoherentLoads) {
  expect_ok(run_body("ld.global.nc.u32 %r2, [%rd5]; st.global.u32 [%rd7], %r2;"));
  expect_fault(run_body("st.global.u32 [%rd7], %r0; ld.global.nc.u32 %r2, [%rd7];"), {"ld.global.nc", "'output'"});
  expect_fault(run_body("add.s64 %rd8, %rd2, %rd4; ld.global.nc.u32 %r2, [%rd8]; st.global.u32 [%rd8], %r2;"),
               {"ld.global.nc", "'both'"});
}

TEST(VirtualChecks, EndlessLoopsStop) {
  for (const bool checked : {true, false}) {
    expect_fault(run_body("$L: bra $L;", shape_of(8, 64), checked), {"limit of instructions"},
                 OutcomeKind::run_timeout);
    expect_fault(run_body("$L: ld.volatile.global.u32 %r2, [%rd5]; setp.ne.u32 %p1, %r2, 999; @%p1 bra $L;",
                          shape_of(1, 64), checked),
                 {"limit of instructions"}, OutcomeKind::run_timeout);
  }
}

TEST(VirtualChecks, TrapsCrash) { expect_fault(run_body("trap;"), {"trap"}, OutcomeKind::crashed); }

TEST(VirtualChecks, ADeviceGoesOnAfterAFault) {
  VirtualRun run;
  const DeviceAddress a = run.upload(std::vector<int32_t>(64, 1), "a"), o = run.device->allocate(256, "o");
  expect_fault(run.run(kernel_of("st.global.u32 [%rd3+1024], %r0;"), shape_of(1, 1), {a, a, o}), {"out of bounds"});
  expect_ok(run.run(kernel_of("st.global.u32 [%rd3], %r0;"), shape_of(1, 1), {a, a, o}));
}

TEST(VirtualChecks, FreedBuffersAreOutOfBounds) {
  VirtualRun run;
  const DeviceAddress o = run.device->allocate(256, "gone");
  run.device->free(o);
  expect_fault(run.run(kernel_of("st.global.u32 [%rd3], %r0;"), shape_of(1, 1), {o, o, o}), {"out of bounds", "gone"});
  EXPECT_THROW(run.device->free(o), UsageError);
}

TEST(VirtualChecks, LaunchesThatDoNotFit) {
  const std::string ptx = kernel_of("");
  VirtualRun run;
  const DeviceAddress o = run.device->allocate(256, "o");
  const auto refused = [&](const std::string& text, LaunchShape shape, const std::vector<DeviceAddress>& buffers,
                           const std::string& part) {
    expect_fault(run.run(text, shape, buffers), {part}, OutcomeKind::launch_error);
  };
  refused(ptx, shape_of(1, 2048), {o, o, o}, "block of (2048,1,1)");
  refused(ptx, shape_of(0, 32), {o, o, o}, "grid of (0,1,1)");
  refused(ptx, shape_of(1, 32), {o, o}, "2 arguments");
  LaunchShape large = shape_of(1, 32);
  large.dynamic_smem_bytes = 200'000;
  refused(ptx, large, {o, o, o}, "bytes of shared memory");
  std::string bounded = ptx;
  bounded.replace(bounded.find("\n{"), 2, "\n.maxntid 64, 1, 1\n{");
  refused(bounded, shape_of(1, 96), {o, o, o}, "compiled for at most 64");
  expect_ok(run.run(bounded, shape_of(1, 64), {o, o, o}));
}

TEST(VirtualChecks, RegistersOfABlockMustFit) {
  VirtualRun run;
  CompiledKernel compiled;
  compiled.entry = "k";
  compiled.ptx = kernel_of("");
  compiled.registers = 128;
  Launch launch;
  launch.kernel = run.device->load(compiled);
  launch.shape = shape_of(1, 1024);
  launch.arguments.resize(3);
  EXPECT_EQ(run.device->launch(launch).kind, OutcomeKind::launch_error);
  launch.shape = shape_of(1, 512);
  EXPECT_TRUE(run.device->launch(launch).ok());
}

}  // namespace
}  // namespace warpwright
