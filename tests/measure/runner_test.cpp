// The runner over a misbehaving worker: every fault costs one trial and gets its own outcome.
#include "measure/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <set>
#include <thread>

#include "cost_model/default_config.h"
#include "measure/builder.h"
#include "measure/diagnosis.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/named_lock.h"
#include "tests/measure/fault_plan.h"
#include "tests/measure/small_workload.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

RunnerOptions options_for(const std::string& device, int jobs = 1) {
  RunnerOptions options;
  options.devices = {device};
  options.jobs = jobs;
  options.worker_program = WARPWRIGHT_TEST_WORKER;
  options.run_timeout_s = 30;
  return options;
}

std::vector<Trial> trials(size_t count) {
  const Workload workload = small_dense();
  return std::vector<Trial>(count, {workload, default_config(workload, target_preset("rtx4090"))});
}

std::vector<TrialResult> run_with(const RunnerOptions& options, size_t count) {
  return open_worker_runner(options)->run(trials(count), nullptr);
}

std::vector<OutcomeKind> kinds(const std::vector<TrialResult>& results) {
  std::vector<OutcomeKind> kinds;
  for (const TrialResult& result : results) kinds.push_back(result.outcome.kind);
  return kinds;
}

class OnEachDevice : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Runner, OnEachDevice, ::testing::Values("fake:card", "fake:virtual"),
                         [](const auto& info) { return std::string(info.param).substr(5); });

TEST_P(OnEachDevice, GivesTimesHashesAndSeconds) {
  const FaultPlan plan({}, {});
  const std::unique_ptr<Runner> runner = open_worker_runner(options_for(GetParam()));
  EXPECT_EQ(runner->target().name, "rtx4090");
  const bool is_card = std::string(GetParam()) == "fake:card";
  EXPECT_EQ(runner->device_name(), is_card ? "NVIDIA GeForce RTX 4090" : "virtual:rtx4090");
  std::vector<size_t> done;
  const std::vector<TrialResult> results = runner->run(trials(2), [&](size_t index, const TrialResult& result) {
    EXPECT_TRUE(result.outcome.ok());
    done.push_back(index);
  });
  EXPECT_THAT(done, ElementsAre(0, 1));
  const TrialResult& result = results[1];
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.message;
  EXPECT_THAT(result.outcome.samples_us, ElementsAre(10.125, 11.0, 1.0 / 3.0));
  EXPECT_EQ(result.outcome.limited_by, "dram");
  EXPECT_EQ(result.evidence, is_card ? Evidence::silicon : Evidence::virtual_device);
  EXPECT_EQ(result.environment, "a device for tests, Fake 1.0");
  EXPECT_EQ(result.warm_samples_us, is_card ? std::vector<double>{5.5} : std::vector<double>{});
  EXPECT_EQ(result.clocks, is_card ? (CardClocks{2520, 10501, "power_cap"}) : CardClocks{});
  EXPECT_EQ(result.kernel.registers, 32);
  EXPECT_EQ(result.kernel.spill_store_bytes, 8);
  EXPECT_EQ(result.ptx_hash, sha256_hex(result.kernel.ptx));
  EXPECT_EQ(result.cubin_hash, sha256_hex(result.kernel.cubin));
  EXPECT_EQ(result.kernel.ptx, "PTX of " + result.source_hash);
  EXPECT_GT(result.seconds.compile, 0);
  EXPECT_GT(result.seconds.verify, 0);
  EXPECT_GE(result.seconds.wall, result.seconds.compile + result.seconds.verify + result.seconds.run);
}

TEST_P(OnEachDevice, FaultCostsOneTrial) {
  const FaultPlan plan({}, {"ok", "segv", "ok", "memory_fault", "ok", "loop", "ok", "full", "ok"});
  const std::vector<TrialResult> results = run_with(options_for(GetParam()), 9);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::ok, OutcomeKind::crashed, OutcomeKind::ok,
                                          OutcomeKind::memory_fault, OutcomeKind::ok, OutcomeKind::run_timeout,
                                          OutcomeKind::ok, OutcomeKind::out_of_memory, OutcomeKind::ok));
  EXPECT_THAT(results[1].outcome.message, HasSubstr("signal 11"));
  EXPECT_EQ(results[2].outcome.samples_us, results[0].outcome.samples_us);
}

TEST_P(OnEachDevice, HangIsKilledAfterTheRunTimeout) {
  const FaultPlan plan({}, {"hang", "ok"});
  RunnerOptions options = options_for(GetParam());
  options.run_timeout_s = 1;
  const Clock::time_point begin = Clock::now();
  const std::vector<TrialResult> results = run_with(options, 2);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::run_timeout, OutcomeKind::ok));
  EXPECT_LT(seconds_since(begin), 1 + 5);
}

TEST_P(OnEachDevice, LyingKernelsAreFound) {
  const FaultPlan plan({}, {"half", "wrong_later", "change_input", "ok"});
  const std::vector<TrialResult> results = run_with(options_for(GetParam()), 4);
  EXPECT_EQ(results[0].outcome.kind, OutcomeKind::wrong_result);
  EXPECT_THAT(results[0].outcome.message, AllOf(HasSubstr("first launch: element 128 (n 4, h 0, w 0, c 0): got"),
                                                HasSubstr("128 of 256 elements")));
  EXPECT_EQ(results[2].outcome.kind, OutcomeKind::memory_fault);
  EXPECT_THAT(results[2].outcome.message, HasSubstr("changed input 0 at byte 0"));
  EXPECT_TRUE(results[3].outcome.ok());
}

TEST(Runner, WrongOutputOfTheTimedLoopIsFound) {
  const FaultPlan plan({}, {"wrong_later"});
  const std::vector<TrialResult> results = run_with(options_for("fake:card"), 1);
  EXPECT_EQ(results[0].outcome.kind, OutcomeKind::wrong_result);
  EXPECT_THAT(results[0].outcome.message, HasSubstr("after the timed loop: element 128"));
}

TEST(Runner, GuardZonesOfACardAreWatched) {
  const FaultPlan plan({}, {"before", "behind", "lost", "unloadable", "ok"});
  const std::vector<TrialResult> results = run_with(options_for("fake:card"), 5);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::memory_fault, OutcomeKind::memory_fault,
                                          OutcomeKind::device_lost, OutcomeKind::launch_error, OutcomeKind::ok));
  EXPECT_THAT(results[0].outcome.message, HasSubstr("wrote 3 bytes before the start of output"));
  EXPECT_THAT(results[1].outcome.message, HasSubstr("wrote 9 bytes behind the end of output (256 bytes)"));
  EXPECT_THAT(results[2].outcome.message, HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE"));
}

TEST(Runner, CompilerFaultsCostOneTrial) {
  const FaultPlan plan({"hang", "abort", "error", "ok"}, {});
  RunnerOptions options = options_for("fake:virtual");
  options.compile_timeout_s = 1;
  const std::vector<TrialResult> results = run_with(options, 4);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::compile_timeout, OutcomeKind::compile_error,
                                          OutcomeKind::compile_error, OutcomeKind::ok));
  EXPECT_THAT(results[1].outcome.message, HasSubstr("signal 6"));
  EXPECT_EQ(plan.taken("compile"), 4u) << "a failed compilation is not tried again";
  EXPECT_TRUE(results[0].kernel.ptx.empty());
}

TEST(Runner, WhatTheCardCannotLaunchIsKnownBeforeItRuns) {
  const FaultPlan plan({"smem", "ok"}, {});
  const std::vector<TrialResult> results = run_with(options_for("fake:virtual"), 2);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::launch_error, OutcomeKind::ok));
  EXPECT_THAT(results[0].outcome.message, HasSubstr("bytes of shared memory a CTA; rtx4090 has"));
  EXPECT_EQ(plan.taken("run"), 1u);
}

TEST(Runner, IllegalConfigIsNotCompiled) {
  const FaultPlan plan({}, {});
  std::vector<Trial> batch = trials(3);
  batch[0].config.family = "no such family";
  batch[1].config.knobs.begin()->second = 12345;
  const std::vector<TrialResult> results = open_worker_runner(options_for("fake:virtual"))->run(batch, nullptr);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::illegal, OutcomeKind::illegal, OutcomeKind::ok));
  EXPECT_THAT(results[0].outcome.message, HasSubstr("no such family"));
  EXPECT_EQ(plan.taken("compile"), 1u);
}

TEST(Runner, LanesShareABatchAndKeepItsOrder) {
  const FaultPlan plan({}, {});
  const std::unique_ptr<Runner> runner = open_worker_runner(options_for("fake:card", 3));
  std::vector<Trial> batch;
  for (int64_t rows = 1; rows <= 12; ++rows) {
    const Workload workload = small_dense(rows);
    batch.push_back({workload, default_config(workload, runner->target())});
  }
  std::set<size_t> done;
  const auto results = runner->run(batch, [&](size_t index, const TrialResult&) { done.insert(index); });
  EXPECT_EQ(done.size(), batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    ASSERT_TRUE(results[i].outcome.ok()) << results[i].outcome.message;
    const KernelSource source = family_of(batch[i].config).emit(batch[i].workload, batch[i].config, runner->target());
    EXPECT_EQ(results[i].source_hash, sha256_hex(source.source));
  }
}

TEST(Runner, StopFlagInterruptsTheBatch) {
  const FaultPlan plan({}, {"hang"});
  std::atomic<bool> stop{false};
  RunnerOptions options = options_for("fake:virtual");
  options.run_timeout_s = 1000;
  options.stop = &stop;
  const std::unique_ptr<Runner> runner = open_worker_runner(options);
  std::jthread signal([&] {
    for (int i = 0; i < 1000 && plan.taken("run") == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    stop = true;
  });
  const Clock::time_point begin = Clock::now();
  EXPECT_THAT(kinds(runner->run(trials(3), nullptr)),
              ElementsAre(OutcomeKind::interrupted, OutcomeKind::interrupted, OutcomeKind::interrupted));
  EXPECT_LT(seconds_since(begin), 8 + 10);
}

TEST(Runner, NothingBeginsAfterTheDeadline) {
  const std::unique_ptr<Runner> runner = open_worker_runner(options_for("fake:virtual"));
  runner->begin_nothing_after(Clock::now());
  EXPECT_THAT(kinds(runner->run(trials(2), nullptr)), ElementsAre(OutcomeKind::interrupted, OutcomeKind::interrupted));
  runner->begin_nothing_after(std::nullopt);
  EXPECT_THAT(kinds(runner->run(trials(2), nullptr)), ElementsAre(OutcomeKind::ok, OutcomeKind::ok));
}

TEST(Runner, AStopWhileDevicesOpenIsNoFaultOfTheirs) {
  const std::atomic<bool> stop{true};
  RunnerOptions options = options_for("fake:virtual");
  options.stop = &stop;
  EXPECT_THROW(open_worker_runner(options), Interrupted);
  EXPECT_THROW(identify_device("fake:virtual", options), Interrupted);
  EXPECT_THROW(diagnose_in_worker({"fake:virtual", "", 0}, options), Interrupted);
}

TEST(Runner, EnvironmentThatLacksFromTheStartIsThrown) {
  RunnerOptions options = options_for("fake:virtual");
  options.nvrtc_path = "/nowhere";
  EXPECT_THROW(open_worker_runner(options), EnvironmentError);
  EXPECT_THROW(open_worker_runner(options_for("fake:other")), UsageError);
}

TEST(Runner, EnvironmentThatLacksForAWhileCostsOneTrial) {
  const FaultPlan plan({"ok", "environment", "memory"}, {"ok", "environment", "ok"});
  const std::vector<TrialResult> results = run_with(options_for("fake:virtual"), 5);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::ok, OutcomeKind::infrastructure, OutcomeKind::out_of_memory,
                                          OutcomeKind::infrastructure, OutcomeKind::ok));
  EXPECT_THAT(results[1].outcome.message, HasSubstr("the disk is gone"));
}

TEST(Runner, BrokenCompilerIsTheEnvironmentsFaultAndNotEachTrials) {
  const FaultPlan plan({"abort", "error", "hang", "abort"}, {}, {"abort", "error", "exit", "ok"});
  RunnerOptions options = options_for("fake:virtual");
  options.compile_timeout_s = 1;
  const std::vector<TrialResult> results = run_with(options, 4);
  EXPECT_THAT(kinds(results), ElementsAre(OutcomeKind::infrastructure, OutcomeKind::infrastructure,
                                          OutcomeKind::infrastructure, OutcomeKind::compile_error));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(results[i].outcome.message, HasSubstr("the compiler is broken, an empty kernel fails too"));
  }
}

TEST(Runner, SeveralCardsShareABatchAndADeadOneEndsItsLaneAlone) {
  const FaultPlan plan({}, {});
  RunnerOptions options = options_for("fake:card", 2);
  options.devices = {"fake:card", "fake:second"};
  setenv("WARPWRIGHT_TEST_DEAD_CARD", "fake:second", 1);
  const std::vector<TrialResult> results = open_worker_runner(options)->run(trials(24), nullptr);
  unsetenv("WARPWRIGHT_TEST_DEAD_CARD");
  size_t lost = 0;
  for (const TrialResult& result : results) {
    EXPECT_TRUE(result.outcome.ok() || result.outcome.kind == OutcomeKind::device_lost) << result.outcome.message;
    lost += !result.outcome.ok();
  }
  EXPECT_EQ(lost, 2u) << "the third loss retires the card, and its trial goes to the other one";
}

TEST(Runner, CardsNamedTwiceOrUnlikeAreRefused) {
  RunnerOptions options = options_for("fake:card");
  options.devices = {"fake:card", "fake:card"};
  EXPECT_THROW(open_worker_runner(options), UsageError);
  options.devices = {"fake:card", "fake:virtual"};
  EXPECT_THROW(open_worker_runner(options), UsageError);
}

TEST(Runner, ACardIsTimedByOneProcessAtATime) {
  const FaultPlan plan({}, {});
  const std::unique_ptr<Runner> runner = open_worker_runner(options_for("fake:card"));
  NamedLock other("test fake:card");  // another process that times on it
  ASSERT_TRUE(other.try_lock());
  std::atomic<bool> is_free{false};
  std::jthread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    is_free = true;
    other.unlock();
  });
  runner->run(trials(1), [&](size_t, const TrialResult& result) {
    EXPECT_TRUE(is_free);
    EXPECT_TRUE(result.outcome.ok());
    EXPECT_LT(result.seconds.wall, result.seconds.compile + result.seconds.verify + result.seconds.run + 5);
  });
}

TEST(Runner, CancelDropsWhatIsUnderWay) {
  const FaultPlan plan({}, {"hang"});
  RunnerOptions options = options_for("fake:virtual");
  options.run_timeout_s = 1000;
  const std::unique_ptr<Runner> runner = open_worker_runner(options);
  for (uint64_t ticket = 0; ticket < 3; ++ticket) runner->submit(ticket, trials(1)[0]);
  while (plan.taken("run") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  runner->cancel();
  runner->submit(7, trials(1)[0]);
  const FinishedTrial finished = runner->next();
  EXPECT_EQ(finished.ticket, 7u);
  EXPECT_TRUE(finished.result.outcome.ok());
}

TEST_P(OnEachDevice, InterleavesRoundsAndLeavesOutWhatFails) {
  const FaultPlan plan({"ok", "ok", "error"}, {"ok", "ok", "ok", "half"});
  const std::unique_ptr<Runner> runner = open_worker_runner(options_for(GetParam()));
  const std::vector<Trial> same = trials(3);
  std::vector<std::vector<size_t>> seen;
  const std::vector<TrialResult> results =
      runner->interleave(same[0].workload, {same[0].config, same[1].config, same[2].config},
                         [&](const std::vector<std::vector<double>>& rounds_us) {
                           seen.push_back({rounds_us[0].size(), rounds_us[1].size(), rounds_us[2].size()});
                           return seen.size() == 3;
                         });
  // The second round begins with the second Config, so that the fourth run is the first one's.
  EXPECT_THAT(seen,
              ElementsAre(std::vector<size_t>{1, 1, 0}, std::vector<size_t>{0, 2, 0}, std::vector<size_t>{0, 3, 0}));
  EXPECT_EQ(results[0].outcome.kind, OutcomeKind::wrong_result);
  EXPECT_EQ(results[2].outcome.kind, OutcomeKind::compile_error);
  EXPECT_THAT(results[1].outcome.samples_us, ElementsAre(10.125, 10.125, 10.125));
  EXPECT_EQ(plan.taken("compile"), 3u) << "compiled once for all rounds";
}

TEST(Runner, ThrowingCallbackEndsTheBatchAndNotTheRunner) {
  const FaultPlan plan({}, {});
  const std::unique_ptr<Runner> runner = open_worker_runner(options_for("fake:virtual", 2));
  EXPECT_THROW(runner->run(trials(6), [](size_t, const TrialResult&) { throw UsageError("disk full"); }), UsageError);
  EXPECT_EQ(runner->run(trials(2), nullptr).size(), 2u);
}

TEST(Runner, CompilerNewerThanTheDriverIsRefusedWithTheCure) {
  setenv("WARPWRIGHT_TEST_OLD_DRIVER", "1", 1);
  try {
    open_worker_runner(options_for("fake:card"));
    ADD_FAILURE() << "opened";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("CUDA 13"), HasSubstr("580"), HasSubstr("--nvrtc")));
  }
  unsetenv("WARPWRIGHT_TEST_OLD_DRIVER");
}

TEST(Builder, CompilesInOrderAndSurvivesCrashes) {
  const FaultPlan plan({"ok", "abort", "ok", "hang", "ok"}, {});
  std::vector<BuildJob> jobs;
  for (int i = 0; i < 5; ++i) {
    KernelSource source;
    source.entry = "kernel_" + std::to_string(i);
    source.source = "text " + std::to_string(i);
    jobs.push_back({source, "sm_89"});
  }
  BuilderOptions options;
  options.worker_program = WARPWRIGHT_TEST_WORKER;
  options.jobs = 1;
  options.compile_timeout_s = 1;
  const auto results = compile_all(jobs, options);
  ASSERT_EQ(results.size(), 5u);
  for (const size_t i : {0, 2, 4}) {
    EXPECT_EQ(std::get<CompiledKernel>(results[i]).entry, jobs[i].source.entry);
    EXPECT_EQ(std::get<CompiledKernel>(results[i]).ptx, "PTX of " + sha256_hex(jobs[i].source.source));
  }
  EXPECT_EQ(std::get<Outcome>(results[1]).kind, OutcomeKind::compile_error);
  EXPECT_EQ(std::get<Outcome>(results[3]).kind, OutcomeKind::compile_timeout);
  EXPECT_TRUE(compile_all({}, options).empty());
}

}  // namespace
}  // namespace warpwright
