// Times of the virtual device: samples of the grid, results left by time(), determinism; and lanes for every host.
#include <numeric>
#include <set>

#include "src/device/virtual/lanes/lanes.h"
#include "src/device/virtual/profiler.h"
#include "tests/device/virtual_harness.h"

namespace warpwright {
namespace {

using testing::kernel_of;
using testing::shape_of;
using testing::VirtualRun;

TEST(VirtualTime, SamplesStandForTheWholeGrid) {
  for (const auto& grid : std::vector<std::array<uint32_t, 3>>{{1, 1, 1},
                                                               {2, 1, 1},
                                                               {5, 1, 1},
                                                               {1000, 1, 1},
                                                               {7, 9, 1},
                                                               {100, 100, 100},
                                                               {2, 2, 2},
                                                               {1, 1, 40},
                                                               {50, 3, 16},
                                                               {3, 65000, 2}}) {
    LaunchShape shape;
    shape.grid = grid;
    const auto samples = virtual_gpu::stratify(shape);
    double weight = 0;
    std::set<uint64_t> ctas;
    const uint64_t total = uint64_t{grid[0]} * grid[1] * grid[2];
    for (const auto& sample : samples) {
      EXPECT_LT(sample.cta, total);
      EXPECT_GT(sample.weight, 0);
      weight += sample.weight;
      ctas.insert(sample.cta);
    }
    EXPECT_DOUBLE_EQ(weight, static_cast<double>(total));
    EXPECT_EQ(ctas.size(), samples.size());
    const uint32_t parts = grid[2] <= 16 ? grid[2] : 1;
    EXPECT_LE(samples.size(), 12u * parts);
    // Up to 16 CTAs along z share a sum: whole columns, in order.
    for (size_t i = 0; i < samples.size(); ++i) {
      EXPECT_EQ(samples[i].hands_on, i % parts + 1 < parts);
      if (i % parts == 0) continue;
      EXPECT_EQ(samples[i].cta, samples[i - 1].cta + uint64_t{grid[0]} * grid[1]);
    }
    if (grid[2] == 1) {
      EXPECT_TRUE(ctas.count(0) == 1 && ctas.count(grid[0] - 1) == 1);
    }
  }
}

Launch launch_of(VirtualRun& run, const std::string& ptx, LaunchShape shape,
                 const std::vector<DeviceAddress>& buffers) {
  CompiledKernel compiled;
  compiled.entry = "k";
  compiled.ptx = ptx;
  compiled.registers = 32;
  Launch launch;
  launch.kernel = run.device->load(compiled);
  launch.shape = shape;
  for (const DeviceAddress buffer : buffers) {
    BoundArgument argument;
    std::memcpy(argument.bytes.data(), &buffer, sizeof buffer);
    launch.arguments.push_back(argument);
  }
  return launch;
}

TEST(VirtualTime, LeavesTheResultOfOneMoreLaunch) {
  for (const bool checked : {true, false}) {
    VirtualRun run(checked);
    const DeviceAddress a = run.upload(std::vector<uint32_t>(64, 0), "a");
    const Launch launch = launch_of(run, kernel_of("red.global.add.u32 [%rd1], 1;"), shape_of(50, 64), {a, a, a});
    const Outcome first = run.device->time(launch, {}), second = run.device->time(launch, {});
    ASSERT_TRUE(first.ok()) << first.message;
    ASSERT_EQ(first.samples_us.size(), 1u);
    EXPECT_GT(first.samples_us[0], 0);
    EXPECT_EQ(first.samples_us, second.samples_us);
    EXPECT_FALSE(first.limited_by.empty());
    EXPECT_EQ(run.download<uint32_t>(a, 1)[0], 2u * 50 * 64);
  }
}

/// The kernel of that body on the device; arguments are left to the caller.
Launch loaded(Device& device, const std::string& body, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block) {
  CompiledKernel compiled;
  compiled.entry = "k";
  compiled.ptx = kernel_of(body);
  return {device.load(compiled), {grid, block, 0}, {}};
}

TEST(VirtualTime, TheLastCtaOfASplitSumIsSampledAsTheLast) {
  // Each CTA counts; the last of the three along z writes 128 bytes more and sets the counter back.
  const std::string body =
      "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd1, %rd4; atom.global.add.u32 %r2, [%rd5], 1; "
      "setp.ne.u32 %p1, %r2, 2; @%p1 bra $E; mul.wide.u32 %rd6, %r0, 4; add.s64 %rd7, %rd3, %rd6; "
      "st.global.u32 [%rd7], %r0; st.global.u32 [%rd5], 0; $E:";
  const auto device = open_virtual_device(target_preset("rtx4090"), {.checked = false});
  Launch launch = loaded(*device, body, {5, 1, 3}, {1, 1, 1});
  std::vector<DeviceAddress> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(device->allocate(4096, "buffer"));
  for (const DeviceAddress buffer : buffers) launch.arguments.push_back(bind_address(buffer));
  const LaunchProfile profile = device->profile(launch);
  ASSERT_EQ(profile.sampled.size() % 3, 0u);
  for (size_t i = 0; i < profile.sampled.size(); ++i) {
    EXPECT_EQ(profile.sampled[i].stores.count, i % 3 == 2 ? 3u : 1u);
  }
  std::vector<std::byte> counters(20);
  device->download(counters, buffers[0]);
  EXPECT_EQ(counters, std::vector<std::byte>(20));
}

TEST(VirtualTime, FirstReadsOfNeighboursAreCompared) {
  // CTA x reads sector x / 4 of a, and all read the first of b; behind the barrier nothing counts.
  const std::string body =
      "mov.u32 %r1, %ctaid.x; shr.u32 %r2, %r1, 2; mul.wide.u32 %rd4, %r2, 32; add.s64 %rd5, %rd1, %rd4; "
      "ld.global.u32 %r3, [%rd5]; ld.global.u32 %r4, [%rd2]; bar.sync 0; add.u32 %r3, %r3, %r4; "
      "mul.wide.u32 %rd6, %r1, 32; add.s64 %rd7, %rd2, %rd6; ld.global.u32 %r5, [%rd7+32]; "
      "add.u32 %r3, %r3, %r5; st.global.u32 [%rd3], %r3;";
  const auto device = open_virtual_device(target_preset("rtx4090"), {.checked = false});
  Launch launch = loaded(*device, body, {12, 1, 1}, {32, 1, 1});
  for (int i = 0; i < 3; ++i) launch.arguments.push_back(bind_address(device->allocate(4096, "buffer")));
  const LaunchProfile profile = device->profile(launch);
  // Of the two to three sectors of a CTA one is of a; those of b are taken to be like the first.
  const double of_a = profile.fresh_reads.at(4);
  EXPECT_GT(of_a, 1.0 / 3 - 1e-9);
  EXPECT_LT(of_a, 0.5);
  EXPECT_EQ(profile.fresh_reads, (std::vector<double>{1, 0, 0, 0, of_a, 0, 0, 0, of_a, 0, 0, 0}));
  EXPECT_EQ(profile.read_footprint_bytes, 8192u);
  EXPECT_EQ(profile.written_footprint_bytes, 4096u);
}

TEST(VirtualTime, AColdLaunchTakesAtLeastTheTimeOfItsBytes) {
  // As a product with one row: all CTAs read the same row first, and behind a barrier weights of their own.
  const std::string body =
      "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd4, %r0, 16; add.s64 %rd5, %rd1, %rd4; "
      "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd5]; bar.sync 0; mul.lo.u32 %r6, %r1, 65536; cvt.u64.u32 %rd6, %r6; "
      "add.s64 %rd7, %rd2, %rd6; add.s64 %rd7, %rd7, %rd4; mov.u32 %r7, 0; $L: "
      "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd7]; xor.b32 %r2, %r2, %r10; add.s64 %rd7, %rd7, 4096; "
      "add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 16; @%p1 bra $L; mul.wide.u32 %rd8, %r0, 4; "
      "add.s64 %rd9, %rd3, %rd8; st.global.u32 [%rd9], %r2;";
  const auto device = open_virtual_device(target_preset("rtx4090"), {.checked = false});
  Launch launch = loaded(*device, body, {256, 1, 1}, {256, 1, 1});
  for (const int64_t bytes : {4096, 256 * 65536, 4096}) {
    launch.arguments.push_back(bind_address(device->allocate(bytes, "buffer")));
  }
  const Outcome cold = device->time(launch, {});
  ASSERT_TRUE(cold.ok()) << cold.message;
  EXPECT_GT(cold.median_us(), 256 * 65536 / 1008.1e3);
  EXPECT_LT(cold.median_us(), 2 * 256 * 65536 / 1008.1e3);
  EXPECT_EQ(cold.limited_by, "dram");
}

TEST(VirtualTime, MoreWorkTakesLonger) {
  const auto time_of = [](int rounds) {
    VirtualRun run;
    const DeviceAddress o = run.device->allocate(1 << 20, "o");
    const std::string body =
        "mov.u32 %r1, 0; $L: mad.lo.u32 %r2, %r2, %r1, %r0; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, " +
        std::to_string(rounds) +
        "; @%p1 bra $L; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r3, %r3, 256, %r0; mul.wide.u32 %rd4, %r3, 4; "
        "add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r2;";
    const Outcome outcome = run.device->time(launch_of(run, kernel_of(body), shape_of(128, 256), {o, o, o}), {});
    EXPECT_TRUE(outcome.ok()) << outcome.message;
    return outcome.ok() ? outcome.samples_us[0] : 0;
  };
  EXPECT_GT(time_of(2000), 3 * time_of(100));
}

TEST(VirtualTime, ASequenceIsTheSumOfItsLaunches) {
  VirtualRun run;
  const DeviceAddress o = run.device->allocate(4096, "o");
  const std::string store = "mul.wide.u32 %rd4, %r0, 4; add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r0;";
  const std::vector<Launch> launches = {launch_of(run, kernel_of(store), shape_of(1, 64), {o, o, o}),
                                        launch_of(run, kernel_of(store), shape_of(1, 1024), {o, o, o})};
  double sum = 0;
  for (const Launch& launch : launches) sum += run.device->time(launch, {}).samples_us.at(0);
  EXPECT_DOUBLE_EQ(run.device->time_sequence(launches, {}).samples_us.at(0), sum);
  EXPECT_FALSE(run.device->time(launch_of(run, kernel_of("trap;"), shape_of(1, 1), {o, o, o}), {}).ok());
}

TEST(VirtualTime, PtxForANewerCardDoesNotLoad) {
  const std::unique_ptr<Device> device = open_virtual_device(target_preset("t4"));
  CompiledKernel compiled;
  compiled.entry = "k";
  compiled.ptx = kernel_of("");
  EXPECT_THROW(device->load(compiled), EnvironmentError);
  compiled.entry = "other";
  EXPECT_THROW(open_virtual_device(target_preset("rtx4090"))->load(compiled), UsageError);
}

// Both builds of the lanes give the same bits, with and without a full mask.
TEST(VirtualLanes, AllInstructionSetsAgree) {
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0)
    GTEST_SKIP() << "this host has no AVX2";
  const ptx::Module module = ptx::parse(kernel_of(R"(
  dp4a.s32.u32 %r10, %r1, %r2, %r3; dp4a.u32.s32 %r10, %r1, %r2, %r3; mad.lo.s32 %r10, %r1, %r2, %r3;
  prmt.b32 %r10, %r1, %r2, %r3; lop3.b32 %r10, %r1, %r2, %r3, 0xca; bfe.s32 %r10, %r1, %r2, %r3;
  fma.rn.f32 %r10, %r1, %r2, %r3; div.rn.f32 %r10, %r1, %r2; min.f32 %r10, %r1, %r2; cvt.rni.s32.f32 %r10, %r1;
  cvt.rni.sat.s8.f32 %r10, %r1; cvt.rn.f32.u32 %r10, %r1; sqrt.rn.f32 %r10, %r1; shf.l.wrap.b32 %r10, %r1, %r2, %r3;
)"));
  using virtual_gpu::LaneLine;
  std::vector<LaneLine> lines(8);
  for (const ptx::Instruction& in : module.kernels[0].instructions) {
    if (in.destinations.empty() || in.sources.size() < 1 || in.opcode == ptx::Opcode::ld ||
        in.opcode == ptx::Opcode::mov) {
      continue;
    }
    SCOPED_TRACE(in.text);
    virtual_gpu::Warp warp;
    virtual_gpu::Op op;
    op.instruction = &in;
    op.table = 0xca;
    for (int i = 0; i < 3; ++i) op.s[static_cast<size_t>(i)] = 128 * (i + 1);
    warp.bases = {lines[0].bytes.data(), lines[0].bytes.data()};
    for (uint32_t round = 0; round < 200; ++round) {
      for (const uint32_t mask : {0xffffffffu, 0x00f0ff13u}) {
        const auto values = testing::hard_numbers(96, round);
        std::memcpy(lines[1].bytes.data(), values.data(), 384);
        std::array<LaneLine, 2> results;
        for (const bool fast : {false, true}) {
          lines[0] = lines[1];
          const virtual_gpu::Handlers run =
              fast ? virtual_gpu::lanes_avx2(in, false, false) : virtual_gpu::lanes_baseline(in, false, false);
          (mask == 0xffffffffu ? run.full : run.masked)(warp, op, mask);
          results[fast ? 1 : 0] = lines[0];
        }
        ASSERT_EQ(results[0].bytes, results[1].bytes);
      }
    }
  }
}

}  // namespace
}  // namespace warpwright
