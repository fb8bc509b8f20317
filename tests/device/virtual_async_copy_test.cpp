// cp.async: what it copies, when its bytes may be touched, and every wrong use beside a right one.
#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

const std::string kShared = "  .shared .align 16 .b8 tile[4096];\n";
// %r1 = own 16 bytes of tile, %r2 = those of the thread beside it in its warp, %r3 = of the other warp; %rd5 = own 16
// bytes of a, %rd7 of o.
const std::string kPlaces = R"(
  mov.u32 %r10, tile; shl.b32 %r11, %r0, 4; add.u32 %r1, %r10, %r11;
  xor.b32 %r12, %r11, 16; add.u32 %r2, %r10, %r12; xor.b32 %r13, %r11, 512; add.u32 %r3, %r10, %r13;
  cvt.u64.u32 %rd4, %r11; add.s64 %rd5, %rd1, %rd4; add.s64 %rd7, %rd3, %rd4; add.s64 %rd8, %rd2, %rd4;
)";
const std::string kCopy = "cp.async.cg.shared.global [%r1], [%rd5], 16;\n";
const std::string kLoad = "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r1];\n";
const std::string kStore = "st.global.v4.u32 [%rd7], {%r20, %r21, %r22, %r23};\n";
const std::string kCommit = "cp.async.commit_group;\n", kWait = "cp.async.wait_group 0;\n", kBarrier = "bar.sync 0;\n";

struct Ran {
  Outcome outcome;
  std::vector<uint8_t> output;
};

Ran run_body(const std::string& body, bool checked = true) {
  VirtualRun run(checked);
  std::vector<uint8_t> numbers(1024);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint8_t>(i * 7 + 1);
  const DeviceAddress a = run.upload(numbers, "input", true), b = run.upload(numbers, "both"),
                      o = run.device->allocate(1024, "output");
  Ran ran;
  ran.outcome = run.run(kernel_of(kPlaces + body, kShared), shape_of(1, 64), {a, b, o});
  ran.output = run.download<uint8_t>(o, 1024);
  return ran;
}

void expect_ok(const std::string& body) {
  const Ran ran = run_body(body);
  EXPECT_TRUE(ran.outcome.ok()) << body << ran.outcome.message;
}

void expect_fault(const std::string& body, const std::vector<std::string>& parts) {
  const Ran ran = run_body(body);
  EXPECT_EQ(ran.outcome.kind, OutcomeKind::memory_fault) << body << ran.outcome.message;
  for (const std::string& part : parts)
    EXPECT_NE(ran.outcome.message.find(part), std::string::npos) << body << ran.outcome.message;
}

TEST(VirtualAsyncCopy, CopiesEverySizeAndFillsWithZero) {
  for (const bool checked : {true, false}) {
    for (const int size : {4, 8, 16}) {
      for (int read = 0; read <= size; ++read) {
        const std::string copy = "mov.u32 %r4, " + std::to_string(read) +
                                 "; cp.async.ca.shared::cta.global.L2::128B [%r1], [%rd5], " + std::to_string(size) +
                                 ", %r4;\n";
        const std::string clear = "mov.u32 %r5, -1; st.shared.v4.u32 [%r1], {%r5, %r5, %r5, %r5};\n";
        const Ran ran = run_body(clear + copy + "cp.async.wait_all;\n" + kLoad + kStore, checked);
        ASSERT_TRUE(ran.outcome.ok()) << ran.outcome.message;
        for (int i = 0; i < 1024; ++i) {
          const int expected = i % 16 < read ? (i * 7 + 1) & 255 : i % 16 < size ? 0 : 255;
          ASSERT_EQ(ran.output[static_cast<size_t>(i)], expected) << copy << i;
        }
      }
    }
  }
}

TEST(VirtualAsyncCopy, PredicateIgnoresTheSource) {
  const Ran ran = run_body(
      "setp.lt.u32 %p1, %r0, 5; @%p1 mov.u64 %rd5, 0;\n"
      "cp.async.cg.shared.global [%r1], [%rd5], 16, %p1;\n" +
      kCommit + kWait + kLoad + kStore);
  ASSERT_TRUE(ran.outcome.ok()) << ran.outcome.message;
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(ran.output[static_cast<size_t>(i)], i < 5 * 16 ? 0 : (i * 7 + 1) & 255) << i;
}

TEST(VirtualAsyncCopy, TheOwnBytesNeedAWait) {
  expect_ok(kCopy + kCommit + kWait + kLoad);
  expect_ok(kCopy + "cp.async.wait_all;\n" + kLoad);
  expect_fault(kCopy + kCommit + kLoad, {"copy in flight", "16 bytes at offset 0 of shared memory",
                                         "thread (0,0,0) copies", "PTX line", "ld.shared.v4.u32"});
  expect_fault(kCopy + kCommit + kBarrier + kLoad, {"copy in flight"});
  expect_fault(kCopy + kWait + kLoad, {"copy in flight"});  // not committed
  expect_fault(kCopy + kCommit + "st.shared.u32 [%r1+4], %r0;", {"copy in flight", "st.shared.u32"});
  expect_fault(kCopy + kCommit + kCopy, {"copy in flight", "cp.async"});
  expect_fault(kCopy + kCommit + "ld.shared.u8 %r20, [%r1+15];", {"copy in flight"});
  expect_fault(kCopy + kCommit + "atom.shared.add.u32 %r20, [%r1], 1;", {"copy in flight"});
  expect_fault(kCopy + kCommit + kBarrier + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r1];",
               {"copy in flight", "ldmatrix"});
}

TEST(VirtualAsyncCopy, OthersNeedABarrierBehindTheWait) {
  const std::string beside = "ld.shared.u32 %r20, [%r2];\n", across = "ld.shared.u32 %r20, [%r3];\n";
  expect_ok(kCopy + kCommit + kWait + kBarrier + beside + across);
  expect_ok(kCopy + kCommit + kWait + "bar.warp.sync -1;\n" + beside);
  expect_fault(kCopy + kCommit + kWait + beside, {"shared memory race", "written by thread (1,0,0)"});
  expect_fault(kCopy + kCommit + kBarrier + kWait + beside, {"shared memory race"});
  expect_fault(kCopy + kCommit + kBarrier + kWait + across, {"copy in flight", "thread (32,0,0) copies"});
}

TEST(VirtualAsyncCopy, OntoBytesThatOthersMayRead) {
  const std::string first = kCopy + kCommit + kWait + kBarrier;
  const std::string read = "ld.shared.u32 %r20, [%r2];\n";
  expect_ok(first + read + kBarrier + kCopy + kCommit + kWait + kLoad);
  expect_fault(first + read + kCopy, {"shared memory race", "read by thread", "cp.async"});
  expect_fault("st.shared.u32 [%r2], %r0;\n" + kCopy, {"shared memory race", "written by thread"});
  expect_ok("st.shared.u32 [%r2], %r0;\n" + kBarrier + kCopy + kCommit + kWait);
}

TEST(VirtualAsyncCopy, GroupsAreCounted) {
  const std::string second = "cp.async.ca.shared.global [%r1+2048], [%rd5], 8;\n";
  const std::string load_second = "ld.shared.u32 %r20, [%r1+2048];\n";
  const std::string two = kCopy + kCommit + second + kCommit;
  expect_ok(two + "cp.async.wait_group 1;\n" + kLoad);
  expect_fault(two + "cp.async.wait_group 1;\n" + load_second, {"copy in flight"});
  expect_fault(two + "cp.async.wait_group 2;\n" + kLoad, {"copy in flight"});
  expect_ok(two + "cp.async.wait_group 1;\n" + kLoad + kWait + load_second);
  // An empty group counts: three are committed, the first is done when two are left.
  expect_ok(kCopy + kCommit + kCommit + kCommit + "cp.async.wait_group 2;\n" + kLoad);
  expect_fault(kCopy + kCommit + kCommit + "cp.async.wait_group 2;\n" + kLoad, {"copy in flight"});
  // What is not committed is waited for by wait_all alone.
  expect_fault(kCopy + kCommit + second + kWait + load_second, {"copy in flight"});
  expect_ok(kCopy + kCommit + second + kWait + kLoad + "cp.async.wait_all;\n" + load_second);
  // Groups of a thread are its own.
  expect_fault("setp.lt.u32 %p1, %r0, 32; " + kCopy + "@%p1 cp.async.commit_group;\n" + kWait + kLoad,
               {"copy in flight", "thread (32,0,0)"});
}

TEST(VirtualAsyncCopy, TheSourceIsALoad) {
  for (const std::string read : {"16", "12"}) {
    expect_fault("cp.async.cg.shared.global [%r1], [%rd5+16], 16, " + read + ";",
                 {"out of bounds", "'input' offset 1024", "thread (63,0,0)", "cp.async"});
  }
  expect_ok("cp.async.cg.shared.global [%r1], [%rd5+16], 16, 0;");
  expect_fault("add.s64 %rd5, %rd5, 8; " + kCopy, {"misaligned", "'input' offset 8"});
  expect_fault("cp.async.ca.shared.global [%r1], [%rd7], 4;",
               {"uninitialised read: 4 bytes at buffer 'output' offset 0"});
  // Bytes that are not read need not exist.
  const std::string part = "st.global.u32 [%rd7], %r0; cp.async.cg.shared.global [%r1], [%rd7], 16, ";
  expect_ok(part + "4;");
  expect_fault(part + "5;", {"uninitialised read: 5 bytes"});
  expect_fault("add.u32 %r1, %r1, 8; " + kCopy, {"misaligned: 16 bytes at offset 8 of shared memory"});
  expect_fault("add.u32 %r1, %r1, 3072; add.u32 %r1, %r1, 1024;" + kCopy, {"out of bounds: 16 bytes at offset 4096"});
  expect_fault("mov.u32 %r4, 17; cp.async.cg.shared.global [%r1], [%rd5], 16, %r4;", {"a source size of 17 bytes"});
}

TEST(VirtualAsyncCopy, CopiesLeftAtTheEndAreAWarning) {
  const Ran ran = run_body(kCopy + kCommit);
  EXPECT_TRUE(ran.outcome.ok()) << ran.outcome.message;
  EXPECT_NE(ran.outcome.log.find("warning: CTA (0,0,0) ends with copies in flight, of thread (0,0,0)"),
            std::string::npos)
      << ran.outcome.log;
  EXPECT_TRUE(run_body(kCopy + kCommit + kWait).outcome.log.empty());
}

}  // namespace
}  // namespace warpwright
