// Worker processes: deadlines, crashes, replacement, and that none is left behind.
#include "measure/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "measure/worker_protocol.h"
#include "measure/worker_requests.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/measure/fault_plan.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr double kLong_s = 60, kShort_s = 0.4;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// True when the process is gone, or dead and unreaped, within five seconds.
bool ends(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string id, name, state;
    if (!(stat >> id >> name >> state) || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

struct Bench {
  TemporaryFolder folder;
  WorkerProcess worker{WARPWRIGHT_TEST_WORKER, folder.path() / "log"};

  std::variant<CompiledKernel, Outcome> compile(double timeout_s, const StopCheck& stop = {}) {
    KernelSource source;
    source.entry = "kernel";
    source.source = "some text";
    return compile_in_worker(worker, {"", "sm_89", source, folder.path() / "kernel"}, {timeout_s, stop});
  }
  OutcomeKind kind(double timeout_s) { return std::get<Outcome>(compile(timeout_s)).kind; }
};

TEST(WorkerProcess, AnswersAndCarriesBinariesThroughFiles) {
  const FaultPlan plan({"chatter"}, {});
  Bench bench;
  const CompiledKernel kernel = std::get<CompiledKernel>(bench.compile(kLong_s));
  EXPECT_THAT(kernel.ptx, HasSubstr("PTX of"));
  EXPECT_EQ(kernel.cubin.substr(0, 2), std::string("\0\xff", 2));
  EXPECT_EQ(kernel.registers, 32);
  EXPECT_EQ(kernel.spill_store_bytes, 8);
}

TEST(WorkerProcess, HangAtCompilingIsKilledAtItsDeadlineAndReplaced) {
  const FaultPlan plan({"hang", "ok"}, {});
  Bench bench;
  const Clock::time_point begin = Clock::now();
  const Outcome outcome = std::get<Outcome>(bench.compile(kShort_s));
  EXPECT_EQ(outcome.kind, OutcomeKind::compile_timeout);
  EXPECT_THAT(outcome.message, HasSubstr("longer than 0.4 s"));
  EXPECT_LT(seconds_since(begin), kShort_s + 5);
  EXPECT_EQ(bench.worker.life(), 2) << "another process tells whether the compiler is broken";
  EXPECT_TRUE(std::holds_alternative<CompiledKernel>(bench.compile(kLong_s)));
  EXPECT_EQ(bench.worker.life(), 2);
}

TEST(WorkerProcess, CrashesAtCompilingAreCompileErrorsThatNameTheSignal) {
  const FaultPlan plan({"abort", "segv", "exit", "ok"}, {});
  Bench bench;
  const Outcome aborted = std::get<Outcome>(bench.compile(kLong_s));
  EXPECT_EQ(aborted.kind, OutcomeKind::compile_error);
  EXPECT_THAT(aborted.message, HasSubstr("signal 6 (Aborted)"));
  EXPECT_THAT(aborted.log, HasSubstr("assertion failed: something inside"));
  EXPECT_EQ(bench.kind(kLong_s), OutcomeKind::compile_error);
  const Outcome left = std::get<Outcome>(bench.compile(kLong_s));
  EXPECT_EQ(left.kind, OutcomeKind::compile_error);
  EXPECT_THAT(left.message, HasSubstr("exit status 7"));
  EXPECT_TRUE(std::holds_alternative<CompiledKernel>(bench.compile(kLong_s)));
}

TEST(WorkerProcess, KilledFromOutsideIsNotTheConfigsFault) {
  const FaultPlan plan({"killed"}, {});
  Bench bench;
  EXPECT_EQ(bench.kind(kLong_s), OutcomeKind::infrastructure);
}

TEST(WorkerProcess, HaltedFromOutsideIsNotTheConfigsFault) {
  const FaultPlan plan({"halt", "ok"}, {});
  Bench bench;
  const Outcome outcome = std::get<Outcome>(bench.compile(1));
  EXPECT_EQ(outcome.kind, OutcomeKind::infrastructure);
  EXPECT_THAT(outcome.message, HasSubstr("halted from outside"));
  EXPECT_TRUE(std::holds_alternative<CompiledKernel>(bench.compile(kLong_s)));
}

TEST(WorkerProcess, TimeInWhichTheParentIsHaltedDoesNotCount) {
  const FaultPlan plan({"nap", "ok"}, {});
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    Bench bench;
    const char ok = std::holds_alternative<CompiledKernel>(bench.compile(2.5)) ? 'y' : 'n';
    _exit(write(channel[1], &ok, 1) == 1 ? 0 : 1);
  }
  while (plan.taken("compile") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(parent, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));  // the worker answers meanwhile, after the deadline
  kill(parent, SIGCONT);
  char ok = 0;
  EXPECT_EQ(read(channel[0], &ok, 1), 1);
  EXPECT_EQ(ok, 'y');
  waitpid(parent, nullptr, 0);
  close(channel[0]);
  close(channel[1]);
}

TEST(WorkerProcess, DeadlineKillsGrandchildrenToo) {
  const FaultPlan plan({"grandchild"}, {});
  Bench bench;
  EXPECT_EQ(bench.kind(1.0), OutcomeKind::compile_timeout);
  pid_t grandchild = 0;
  std::ifstream(plan.folder() / "grandchild") >> grandchild;
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(ends(grandchild));
}

TEST(WorkerProcess, StopFlagInterrupts) {
  const FaultPlan plan({"hang"}, {});
  Bench bench;
  std::atomic<bool> stop{false};
  std::jthread signal([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  const Clock::time_point begin = Clock::now();
  EXPECT_EQ(std::get<Outcome>(bench.compile(kLong_s, [&stop] { return stop.load(); })).kind, OutcomeKind::interrupted);
  EXPECT_LT(seconds_since(begin), 8);
}

TEST(WorkerProcess, EnvironmentErrorCrossesTheProcess) {
  const FaultPlan plan({"environment", "ok"}, {});
  Bench bench;
  EXPECT_THROW(bench.compile(kLong_s), EnvironmentError);
  EXPECT_TRUE(std::holds_alternative<CompiledKernel>(bench.compile(kLong_s)));
  EXPECT_EQ(bench.worker.life(), 1);
}

TEST(WorkerProcess, IsReplacedAfterItsShareOfRequests) {
  const FaultPlan plan({}, {});
  Bench bench;
  for (int i = 0; i < WorkerProcess::kRequestsPerLife; ++i) bench.compile(kLong_s);
  EXPECT_EQ(bench.worker.life(), 1);
  const pid_t first = bench.worker.process_id();
  bench.compile(kLong_s);
  EXPECT_EQ(bench.worker.life(), 2);
  EXPECT_TRUE(ends(first));
}

TEST(WorkerProcess, ProgramsThatAreNoWorkerAreRefused) {
  const TemporaryFolder folder;
  for (const char* program : {"/nowhere/warpwright", "/bin/true"}) {
    WorkerProcess worker(program, folder.path() / "log");
    try {
      worker.call(Json::object(), kLong_s, {});
      ADD_FAILURE() << program;
    } catch (const EnvironmentError& error) {
      EXPECT_THAT(error.what(), HasSubstr(program));
    }
  }
}

TEST(WorkerProcess, EndsWithItsOwner) {
  pid_t process = 0;
  {
    const FaultPlan plan({}, {});
    Bench bench;
    bench.compile(kLong_s);
    process = bench.worker.process_id();
    ASSERT_GT(process, 0);
  }
  EXPECT_TRUE(ends(process));
}

TEST(WorkerProcess, EndsWhenItsParentIsKilled) {
  const FaultPlan plan({"ok", "hang"}, {});
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    Bench bench;
    bench.compile(kLong_s);
    const pid_t worker = bench.worker.process_id();
    if (write(channel[1], &worker, sizeof(worker)) == sizeof(worker)) bench.compile(kLong_s);
    _exit(0);
  }
  pid_t worker = 0;
  ASSERT_EQ(read(channel[0], &worker, sizeof(worker)), static_cast<ssize_t>(sizeof(worker)));
  close(channel[0]);
  close(channel[1]);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ends(worker));
}

TEST(WorkerProcess, FileDescriptorsDoNotPileUp) {
  const auto open_files = [] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  };
  const FaultPlan plan({"abort", "abort", "abort", "abort"}, {});
  const size_t before = open_files();
  {
    Bench bench;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(bench.kind(kLong_s), OutcomeKind::compile_error);
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace warpwright
