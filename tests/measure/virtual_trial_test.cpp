// Trials with the real compiler on the virtual device, in real workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cost_model/default_config.h"
#include "measure/runner.h"
#include "search_space/kernel_family.h"
#include "tests/measure/kernel_bench.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VirtualTrial, EndlessKernelIsStoppedByItsInstructions) {
  KernelBench bench;
  const Outcome outcome = bench.run("volatile signed char* flag = y; while (*flag != 77 || x[0] == 0) *flag = 1;");
  EXPECT_EQ(outcome.kind, OutcomeKind::run_timeout) << outcome.message;
}

TEST(VirtualTrial, WildWriteIsAMemoryFaultAndTheNextTrialIsRight) {
  KernelBench bench;
  const Outcome outcome = bench.run("y[threadIdx.x + 100000] = x[threadIdx.x];");
  EXPECT_EQ(outcome.kind, OutcomeKind::memory_fault) << outcome.message;
  EXPECT_THAT(outcome.message, HasSubstr("output"));
  EXPECT_EQ(bench.run("y[threadIdx.x] = x[threadIdx.x];").kind, OutcomeKind::wrong_result);
}

TEST(VirtualTrial, WriteToAnInputIsAMemoryFault) {
  KernelBench bench;
  EXPECT_EQ(bench.run("const_cast<signed char*>(x)[threadIdx.x] = 1; y[0] = 1;").kind, OutcomeKind::memory_fault);
}

TEST(VirtualTrial, WorkspaceHoldsNothingAtFirst) {
  KernelBench bench;
  bench.has_scratch = true;
  const Outcome outcome = bench.run("y[threadIdx.x] = x[threadIdx.x] + workspace[threadIdx.x];");
  EXPECT_EQ(outcome.kind, OutcomeKind::memory_fault) << outcome.message;
  EXPECT_THAT(outcome.message, HasSubstr("workspace"));
}

TEST(VirtualTrial, CountersMustBeLeftZero) {
  KernelBench bench;
  bench.has_scratch = true;
  const std::string body = "workspace[threadIdx.x] = 1; y[threadIdx.x] = x[threadIdx.x]; ";
  Outcome outcome = bench.run(body + "atomicAdd(counters, 1u);");
  EXPECT_EQ(outcome.kind, OutcomeKind::wrong_result) << outcome.message;
  EXPECT_THAT(outcome.message, HasSubstr("leaves 32 in counter 0"));
  outcome = bench.run(body + "if (*counters == 0) y[0] = 1;");
  EXPECT_THAT(outcome.message, Not(HasSubstr("counter")));
}

TEST(VirtualTrial, TooManyThreadsAreALaunchError) {
  KernelBench bench;
  const Outcome outcome = bench.run("y[threadIdx.x] = x[0];", {{1, 1, 1}, {2048, 1, 1}, 0});
  EXPECT_EQ(outcome.kind, OutcomeKind::launch_error);
  EXPECT_THAT(outcome.message, HasSubstr("2048 threads"));
}

TEST(VirtualTrial, HugeUnrollIsACompileTimeout) {
  KernelBench bench;
  const Outcome outcome = bench.run(
      "int v[96]; \n#pragma unroll\nfor (int i = 0; i < 96; ++i) v[i] = x[i * threadIdx.x];\nint s = 0;\n"
      "#pragma unroll\nfor (int i = 0; i < 96; ++i)\n#pragma unroll\nfor (int j = 0; j < 96; ++j)\n"
      "#pragma unroll\nfor (int k = 0; k < 8; ++k) s += v[i] * v[j] ^ (s >> k);\ny[0] = s;",
      {{1, 1, 1}, {32, 1, 1}, 0}, 0.5);
  EXPECT_EQ(outcome.kind, OutcomeKind::compile_timeout) << outcome.message;
  EXPECT_EQ(bench.run("y[threadIdx.x] = x[threadIdx.x];").kind, OutcomeKind::wrong_result);
}

std::unique_ptr<Runner> open_virtual_runner() {
  RunnerOptions options;
  options.devices = {"virtual:rtx4090"};
  options.worker_program = WARPWRIGHT_PLAIN_WORKER;
  options.jobs = 2;
  return open_worker_runner(options);
}

TEST(VirtualTrial, SliceOfWiderPixelsIsVerifiedInItsOwnLanes) {
  const std::unique_ptr<Runner> runner = open_virtual_runner();
  Workload product = small_dense();
  product.output.pixel_stride = 64;
  product.output.channel_offset = 16;
  Workload lookup;
  lookup.kind = OpKind::lookup;
  lookup.inputs = {nhwc_form(DType::s8, 1, 3, 3, 20)};
  lookup.output = nhwc_form(DType::s8, 1, 3, 3, 20);
  lookup.output.pixel_stride = 96;
  lookup.output.channel_offset = 32;
  for (const Workload& workload : {product, lookup}) {
    const Config config = default_config(workload, runner->target());
    for (const TrialResult& result : runner->run({{workload, config}}, nullptr)) {
      EXPECT_TRUE(result.outcome.ok()) << workload.summary() << ": " << result.outcome.message;
    }
  }
}

TEST(VirtualTrial, DefaultOfAFamilyIsVerifiedAndTimed) {
  const std::unique_ptr<Runner> runner = open_virtual_runner();
  EXPECT_EQ(runner->device_name(), "virtual:rtx4090");
  const Workload workload = small_dense(17);
  const Config config = default_config(workload, runner->target());
  const std::vector<TrialResult> results = runner->run({{workload, config}, {workload, config}}, nullptr);
  for (const TrialResult& result : results) {
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.message;
    EXPECT_GT(result.outcome.median_us(), 0);
    EXPECT_EQ(result.outcome.samples_us, results[0].outcome.samples_us);
    EXPECT_EQ(result.cubin_hash, results[0].cubin_hash);
    EXPECT_EQ(result.evidence, Evidence::virtual_device);
    EXPECT_THAT(result.environment, HasSubstr("virtual, NVRTC 1"));
    EXPECT_THAT(result.kernel.ptx, Not(HasSubstr("fma.rn")));
    EXPECT_FALSE(result.outcome.limited_by.empty());
  }
}

}  // namespace
}  // namespace warpwright
