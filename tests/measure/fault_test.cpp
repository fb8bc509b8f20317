// Fault tests T01, T02, T03 and T05: real kernels on the virtual device in real workers, and a compiler and a device
// that fail on request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "measure/runner.h"
#include "tests/measure/fault_plan.h"
#include "tests/measure/kernel_bench.h"

namespace warpwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr double kTimeout_s = 1;
/// What runs to its end and is wrong, since nobody hand-writes small_dense here: the worker is sound.
constexpr const char* kPlainBody = "y[threadIdx.x] = x[threadIdx.x];";

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::unique_ptr<Runner> runner_on(const std::string& device, double run_timeout_s = 30, double compile_timeout_s = 30) {
  RunnerOptions options;
  options.devices = {device};
  options.jobs = 1;
  options.worker_program = WARPWRIGHT_TEST_WORKER;
  options.run_timeout_s = run_timeout_s;
  options.compile_timeout_s = compile_timeout_s;
  return open_worker_runner(options);
}

std::vector<TrialResult> results_of(Runner& runner, size_t count) {
  const Workload workload = small_dense();
  return runner.run(std::vector<Trial>(count, {workload, default_config(workload, runner.target())}), nullptr);
}

std::vector<OutcomeKind> kinds(const std::vector<TrialResult>& results) {
  std::vector<OutcomeKind> kinds;
  for (const TrialResult& result : results) kinds.push_back(result.outcome.kind);
  return kinds;
}

TEST(FaultTests, T01KernelThatLoopsForEver) {
  KernelBench bench;
  EXPECT_EQ(bench.run("volatile signed char* flag = y; while (*flag != 77 || x[0] == 0) *flag = 1;").kind,
            OutcomeKind::run_timeout);
  EXPECT_EQ(bench.run(kPlainBody).kind, OutcomeKind::wrong_result);
  for (const char* device : {"fake:card", "fake:virtual"}) {  // one that no instruction count stops
    const FaultPlan plan({}, {"hang", "ok"});
    const std::unique_ptr<Runner> runner = runner_on(device, kTimeout_s);
    const Clock::time_point begin = Clock::now();
    EXPECT_THAT(kinds(results_of(*runner, 2)), ElementsAre(OutcomeKind::run_timeout, OutcomeKind::ok));
    EXPECT_LT(seconds_since(begin), kTimeout_s + 5);
  }
}

TEST(FaultTests, T02OutOfBoundsTrapAndSignal) {
  KernelBench bench;
  const Outcome wild = bench.run("y[threadIdx.x + 100000] = x[threadIdx.x];");
  EXPECT_EQ(wild.kind, OutcomeKind::memory_fault) << wild.message;
  EXPECT_EQ(bench.run("if (x[0] != 99) __trap(); y[0] = 1;").kind, OutcomeKind::crashed);
  EXPECT_EQ(bench.run(kPlainBody).kind, OutcomeKind::wrong_result);
  for (const char* device : {"fake:card", "fake:virtual"}) {
    const FaultPlan plan({}, {"ok", "segv", "ok", "memory_fault", "ok"});
    const std::unique_ptr<Runner> runner = runner_on(device);
    const std::vector<TrialResult> results = results_of(*runner, 5);
    EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::ok, OutcomeKind::crashed, OutcomeKind::ok,
                                            OutcomeKind::memory_fault, OutcomeKind::ok));
    EXPECT_THAT(results[1].outcome.message, HasSubstr("signal 11"));
    EXPECT_EQ(results[2].outcome.samples_us, results[0].outcome.samples_us) << "the same time as alone";
    EXPECT_EQ(results[4].outcome.samples_us, results[0].outcome.samples_us);
  }
}

TEST(FaultTests, T03CompilerThatHangsAbortsOrIsSlow) {
  const FaultPlan plan({"hang", "abort", "ok", "error", "ok"}, {});
  const std::unique_ptr<Runner> runner = runner_on("fake:virtual", 30, kTimeout_s);
  const std::vector<TrialResult> results = results_of(*runner, 5);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::compile_timeout, OutcomeKind::compile_error, OutcomeKind::ok,
                                          OutcomeKind::compile_error, OutcomeKind::ok));
  EXPECT_THAT(results[1].outcome.log, HasSubstr("assertion failed: something inside"));
  EXPECT_EQ(plan.taken("compile"), 5u) << "none is tried again";
  KernelBench bench;  // the real compiler, and a source that keeps it busy
  const Outcome slow = bench.run(
      "int v[96]; \n#pragma unroll\nfor (int i = 0; i < 96; ++i) v[i] = x[i * threadIdx.x];\nint s = 0;\n"
      "#pragma unroll\nfor (int i = 0; i < 96; ++i)\n#pragma unroll\nfor (int j = 0; j < 96; ++j)\n"
      "#pragma unroll\nfor (int k = 0; k < 8; ++k) s += v[i] * v[j] ^ (s >> k);\ny[0] = s;",
      {{1, 1, 1}, {32, 1, 1}, 0}, kTimeout_s);
  EXPECT_EQ(slow.kind, OutcomeKind::compile_timeout) << slow.message;
  EXPECT_EQ(bench.run(kPlainBody).kind, OutcomeKind::wrong_result);
}

TEST(FaultTests, T05LyingCandidates) {
  KernelBench bench;
  const Clock::time_point begin = Clock::now();
  const Outcome large = bench.run("y[threadIdx.x] = x[0];", {{1, 1, 1}, {2048, 1, 1}, 0});
  EXPECT_EQ(large.kind, OutcomeKind::launch_error);
  EXPECT_THAT(large.message, HasSubstr("2048 threads"));
  EXPECT_LT(seconds_since(begin), kLong_s);
  const Outcome half = bench.run("if (threadIdx.x < 16) y[threadIdx.x] = 0;");
  EXPECT_EQ(half.kind, OutcomeKind::wrong_result) << half.message;
  // A kernel in place: what it reads is what an earlier launch of it left there.
  const Outcome in_place = bench.run("for (int i = threadIdx.x; i < 256; i += 32) y[i] = y[i] + x[i];");
  EXPECT_TRUE(in_place.kind == OutcomeKind::wrong_result || in_place.kind == OutcomeKind::memory_fault)
      << in_place.message;
  const Outcome writes_input = bench.run("const_cast<signed char*>(x)[threadIdx.x] = 1; y[0] = 1;");
  EXPECT_EQ(writes_input.kind, OutcomeKind::memory_fault);
  for (const char* device : {"fake:card", "fake:virtual"}) {
    const FaultPlan plan({}, {"half", "change_input", "ok"});
    const std::unique_ptr<Runner> runner = runner_on(device);
    EXPECT_THAT(kinds(results_of(*runner, 3)),
                ElementsAre(OutcomeKind::wrong_result, OutcomeKind::memory_fault, OutcomeKind::ok));
  }
  // Right at first and wrong when it is launched again: only the check after the timed loop tells.
  const FaultPlan plan({}, {"wrong_later", "ok"});
  const std::unique_ptr<Runner> runner = runner_on("fake:card");
  EXPECT_THAT(kinds(results_of(*runner, 2)), ElementsAre(OutcomeKind::wrong_result, OutcomeKind::ok));
}

}  // namespace
}  // namespace warpwright
