// The program on a card: the cuda device over a driver whose kernels run, and a driver's faults, one at a time.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "src/core/npy.h"
#include "tests/cli/virtual_card.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kTasks = 5;  // of the model

/// A trial as its record tells it; times of the virtual clock do not vary.
struct Trial {
  std::string config, outcome;
  std::vector<double> samples_us;
  bool operator==(const Trial&) const = default;
};
void PrintTo(const Trial& trial, std::ostream* stream) {
  *stream << trial.outcome << ' ' << testing::PrintToString(trial.samples_us) << ' ' << trial.config;
}

class CardFaults : public VirtualCard {
 protected:
  /// The default of each task, if nothing else is said: no trial hangs on another one's outcome.
  std::vector<std::string> tune(const std::string& db,
                                const std::vector<std::string>& more = {"--trials-per-task", "1"}) const {
    std::vector<std::string> arguments = {"tune", model_, "--db", path(db), "--device", "cuda:0", "--jobs", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// By their number, after all tries; the samples of finalists left out.
  std::map<int64_t, Trial> trials_of(const std::string& db) {
    std::map<int64_t, Trial> trials;
    const Json listed = json({"db", "list", path(db), "--limit", "100"});
    for (const Json& record : listed.at("records")) {
      if (record.at("objective") != "median_cold_l2_us") continue;
      const int64_t number = record.at("trial").get<int64_t>();
      if (trials.contains(number) && record.at("outcome") != "ok") continue;
      trials[number] = {record.at("config").dump(), record.at("outcome").get<std::string>(),
                        record.at("samples_us").get<std::vector<double>>()};
    }
    return trials;
  }
  /// A launch in the middle of the second trial, and that trial's number.
  int64_t launch_in_second_trial() {
    EXPECT_EQ(run(tune("one.db", {"--trials", "1"})).status, 0);
    return count("launches") + 4;
  }
};

TEST_F(CardFaults, TheProgramRunsOnACard) {
  const ProgramResult listed = run({"devices"});
  EXPECT_THAT(listed.out, AllOf(HasSubstr("cuda:0"), HasSubstr("GPU-5e5e5e5e"), HasSubstr("driver of CUDA 13.0")));
  const Json tuned = json(tune("d.db", {"--op", "dequantize", "--trials", "3"}));
  EXPECT_EQ(tuned.at("trials"), 3);
  for (const Json& task : tuned.at("tasks")) {
    EXPECT_EQ(task.at("ok"), task.at("trials"));
    EXPECT_GT(task.at("best_us").get<double>(), 0);
  }
  const std::string package = path("p.pkg");
  const ProgramResult built = run({"build", model_, "--db", path("d.db"), "--target", "rtx4090", "-o", package});
  EXPECT_EQ(built.status, 0) << built.err;
  EXPECT_THAT(built.out, HasSubstr("silicon"));
  const std::string input = "x=" + (case_ / "input_0_x.npy").string();
  const ProgramResult ran = run({"run", package, "--device", "cuda:0", "--input", input, "--output", path("out")});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(read_npy(path("out/y.npy")).bytes, read_npy(case_ / "expected_0_y.npy").bytes);
  EXPECT_EQ(run({"verify", model_, package, "--device", "cuda:0", "--input", input}).status, 0);
  const Json bench = json({"bench", package, "--device", "cuda:0"});
  EXPECT_GT(bench.at("total").at("median_us").get<double>(), 0);
  EXPECT_FALSE(bench.at("estimate").get<bool>());
  const double us = bench.at("total").at("median_us");
  EXPECT_DOUBLE_EQ(bench.at("total").at("runs_per_second"), 1e6 / us);
  const Json two = json({"bench", package, package, "--device", "cuda:0"});
  const double low = two.at("ratio_interval").at(0), high = two.at("ratio_interval").at(1);
  EXPECT_LE(low, two.at("ratio").get<double>());
  EXPECT_LE(two.at("ratio").get<double>(), high);
}

TEST_F(CardFaults, AKernelsFaultCostsItsTrialAlone) {
  EXPECT_EQ(run(tune("calm.db")).status, 0);
  const std::map<int64_t, Trial> calm = trials_of("calm.db");
  ASSERT_EQ(calm.size(), size_t{kTasks});
  const int64_t launch = launch_in_second_trial();
  const std::pair<const char*, const char*> faults[] = {{"illegal_address", "memory_fault"},
                                                        {"misaligned", "memory_fault"},
                                                        {"launch_timeout", "run_timeout"},
                                                        {"assertion", "crashed"}};
  for (const auto& [fault, outcome] : faults) {
    const std::string db = fmt::format("{}.db", fault);
    const ProgramResult result = run(tune(db), fmt::format("{}@{}", fault, launch));
    EXPECT_EQ(result.status, 0) << result.err;
    std::map<int64_t, Trial> trials = trials_of(db);
    ASSERT_EQ(trials.size(), calm.size());
    int hit = 0;
    for (const auto& [number, trial] : trials) {
      if (trial.outcome == "ok") {
        EXPECT_EQ(trial, calm.at(number)) << fault;
      } else {
        EXPECT_EQ(trial.outcome, outcome);
        EXPECT_EQ(trial.config, calm.at(number).config);
        ++hit;
      }
    }
    EXPECT_EQ(hit, 1) << fault;
  }
}

TEST_F(CardFaults, WhatIsNotTheKernelsFaultIsTriedAgain) {
  EXPECT_EQ(run(tune("calm.db")).status, 0);
  const int64_t calm_openings = count("openings");
  const std::map<int64_t, Trial> calm = trials_of("calm.db");
  const int64_t launch = launch_in_second_trial();
  for (const char* fault : {"lost", "ecc", "out_of_memory"}) {
    const std::string db = fmt::format("{}.db", fault);
    const ProgramResult result = run(tune(db), fmt::format("{}@{}", fault, launch));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(count("openings"), calm_openings + 1) << fault << " struck, and another process took over";
    EXPECT_EQ(trials_of(db), calm) << fault;
  }
  // Another process has the card for a moment: at the opening behind those of plan and checks.
  EXPECT_EQ(run(tune("busy.db", {"--trials", "1"})).status, 0);
  const ProgramResult busy = run(tune("busy.db"), "busy@4");
  EXPECT_EQ(busy.status, 0) << busy.err;
  EXPECT_EQ(trials_of("busy.db").size(), size_t{kTasks});
  for (const auto& [number, trial] : trials_of("busy.db")) EXPECT_EQ(trial.outcome, "ok");
}

TEST_F(CardFaults, ACardThatIsGoneEndsTheRunAndNothingIsLost) {
  const int64_t launch = launch_in_second_trial();
  const ProgramResult result = run(tune("d.db", {"--trials", "24", "--patience", "0"}), fmt::format("gone@{}", launch));
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("in a row failed"), HasSubstr("goes on from there")));
  const std::map<int64_t, Trial> kept = trials_of("d.db");
  ASSERT_TRUE(kept.contains(0));
  EXPECT_EQ(kept.at(0).outcome, "ok");
  const Json tuned = json(tune("d.db", {"--trials", "24", "--patience", "0", "--dry-run"}));
  EXPECT_EQ(tuned.at("runs").at(0).at("cost"), "of 1 records") << "what was measured is known";
  const Json again = json(tune("d.db"));
  for (const Json& task : again.at("tasks")) EXPECT_EQ(task.at("ok"), 1);
}

TEST_F(CardFaults, WhatNoTrialCouldMendIsToldBeforeTheFirst) {
  const ProgramResult busy = run(tune("d.db"), "busy@0");
  EXPECT_EQ(busy.status, 3) << busy.err;
  EXPECT_THAT(busy.err, AllOf(HasSubstr("Another process has it for itself"), HasSubstr("nvidia-smi")));
  const ProgramResult old = run(tune("d.db"), "old_driver");
  EXPECT_EQ(old.status, 3) << old.err;
  EXPECT_THAT(old.err, AllOf(HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"), HasSubstr("Install a newer driver")));
  EXPECT_EQ(run({"devices", "--device", "cuda:0"}, "gone@0").status, 3);
  EXPECT_FALSE(std::filesystem::exists(path("d.db")));
}

}  // namespace
}  // namespace warpwright
