// Best history: the way down, evidence, and records that may not serve. No device, no compiler.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/compile/best_history.h"
#include "src/core/file.h"
#include "tests/compile/task_records.h"

namespace warpwright {
namespace {

Workload dense(int64_t rows, int64_t depth, int64_t columns) {
  Workload workload;
  workload.kind = OpKind::dense;
  workload.inputs = {nhwc_form(DType::s8, rows, 1, 1, depth)};
  workload.output = nhwc_form(DType::s8, rows, 1, 1, columns);
  workload.epilogue.bias = true;
  return workload;
}

Task task_of(const Workload& workload) {
  Task task;
  task.workload = workload;
  task.key = key(workload);
  return task;
}

const TestCard kCard{}, kOtherCard{"rtx4080"}, kOtherArch{"rtx3090"}, kVirtual{"rtx4090", true};

class History : public testing::Test {
 protected:
  History() : database_(open_database(folder_.path() / "h.db", OpenMode::read_write)) {
    for (uint64_t seed : {1, 2}) database_->begin_run({"digest", "a device", seed, Json::object()}, "model.onnx");
  }
  ~History() override { database_->close(); }

  /// In the run of that number.
  std::string add(Record record, int64_t run = 1) {
    record.run_id = run;
    record.trial_index = next_trial_++;
    return database_->add(record);
  }
  std::string add(const Config& config, double us, const TestCard& card = kCard, int64_t run = 1) {
    return add(task_record(task_, config, {us, us, us}, card), run);
  }
  void add_silicon(const Config& config, double us) { add(config, us); }
  void add_virtual(const Config& config, double us) { add(config, us, kVirtual); }
  void add_other_card(const Config& config, double us) { add(config, us, kOtherCard); }
  void add_final(const Config& config, const std::vector<double>& rounds_us, int64_t run = 1) {
    Record record = task_record(task_, config, rounds_us);
    record.objective = kFinalObjective;
    add(record, run);
  }
  Choice choose(EvidencePolicy policy = EvidencePolicy::prefer, bool is_virtual = false) const {
    return BestHistory(database_.get(), {target_preset("rtx4090"), is_virtual}, policy).choose(task_);
  }
  bool hit(const Choice& choice, Rung least, EvidencePolicy policy = EvidencePolicy::prefer,
           bool is_virtual = false) const {
    return is_hit(choice, least, {target_preset("rtx4090"), is_virtual}, policy);
  }

  TemporaryFolder folder_{"warpwright-history"};
  std::unique_ptr<Database> database_;
  Task task_ = task_of(dense(8, 512, 32));
  std::vector<Config> configs_ = some_configs(task_, target_preset("rtx4090"), 200);
  int64_t next_trial_ = 0;
};

TEST_F(History, NothingKnownGivesTheDefaultAndSaysSo) {
  const Choice choice = choose();
  EXPECT_EQ(choice.rung, Rung::default_config);
  EXPECT_EQ(choice.config, configs_[0]);
  EXPECT_FALSE(choice.evidence);
  EXPECT_NE(choice.why.find("no record"), std::string::npos);
  EXPECT_FALSE(hit(choice, Rung::near));
}

TEST_F(History, FastestOfThisCardIsExact) {
  add_silicon(configs_[0], 10);
  add_silicon(configs_[1], 7);
  add_silicon(configs_[2], 8);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[1]);
  EXPECT_EQ(choice.rung, Rung::exact);
  EXPECT_EQ(choice.evidence, Evidence::silicon);
  EXPECT_EQ(choice.trials, 3);
  EXPECT_EQ(choice.default_us, 10);
  EXPECT_EQ(choice.best_us, 7);
  EXPECT_EQ(choice.why, "");
  EXPECT_TRUE(hit(choice, Rung::exact));
}

TEST_F(History, TunedAndTheDefaultWonIsAHit) {
  add_silicon(configs_[0], 5);
  add_silicon(configs_[1], 7);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[0]);
  EXPECT_EQ(choice.rung, Rung::exact);
  EXPECT_TRUE(hit(choice, Rung::exact));
}

TEST_F(History, VirtualEvidenceServesButIsNoHitForACard) {
  add_virtual(configs_[0], 10);
  add_virtual(configs_[3], 4);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[3]);
  EXPECT_EQ(choice.rung, Rung::exact);
  EXPECT_EQ(choice.evidence, Evidence::virtual_device);
  EXPECT_NE(choice.why.find("no usable silicon record"), std::string::npos);
  EXPECT_FALSE(hit(choice, Rung::exact));
  EXPECT_FALSE(hit(choice, Rung::arch));
  EXPECT_TRUE(hit(choice, Rung::exact, EvidencePolicy::any));
  EXPECT_TRUE(hit(choose(EvidencePolicy::prefer, true), Rung::exact, EvidencePolicy::prefer, true));
  const Choice silicon = choose(EvidencePolicy::silicon);
  EXPECT_EQ(silicon.rung, Rung::default_config);
  EXPECT_NE(silicon.why.find("virtual evidence"), std::string::npos);
}

TEST_F(History, VirtualEvidenceNeverDisplacesSilicon) {
  add_virtual(configs_[0], 10);
  add_virtual(configs_[3], 1);
  add_silicon(configs_[0], 10);
  add_silicon(configs_[1], 9);
  EXPECT_EQ(choose().config, configs_[1]);
  EXPECT_EQ(choose(EvidencePolicy::any).config, configs_[1]);
  EXPECT_EQ(choose(EvidencePolicy::prefer, true).config, configs_[3]);
}

TEST_F(History, SameArchitectureIsTheSecondRung) {
  add_other_card(configs_[0], 10);
  add_other_card(configs_[1], 2);
  add_other_card(configs_[2], 9);
  const Choice choice = choose();
  EXPECT_EQ(choice.rung, Rung::arch);
  EXPECT_EQ(choice.measured_on, "NVIDIA GeForce RTX 4080");
  EXPECT_NE(choice.why.find("no usable record of NVIDIA GeForce RTX 4090"), std::string::npos);
  EXPECT_TRUE(hit(choice, Rung::arch));
  EXPECT_FALSE(hit(choice, Rung::exact));
  // The same records in any order give the same choice.
  EXPECT_EQ(choose().config, choice.config);
  // One record of the card itself goes first, however slow.
  add_silicon(configs_[4], 50);
  EXPECT_EQ(choose().rung, Rung::exact);
  EXPECT_EQ(choose().config, configs_[4]);
}

TEST_F(History, AnotherArchitectureDoesNotServe) {
  add(configs_[1], 1, kOtherArch);
  const Choice choice = choose();
  EXPECT_EQ(choice.rung, Rung::default_config);
  EXPECT_EQ(choice.refused.at("another architecture: sm_86"), 1);
}

TEST_F(History, RunsAreComparedByTheirDefaults) {
  // The second run had a slow card: 20 against a default of 40 is better than 11 against 20.
  add(configs_[0], 20, kCard, 1);
  add(configs_[1], 11, kCard, 1);
  add(configs_[0], 40, kCard, 2);
  add(configs_[2], 20, kCard, 2);
  EXPECT_EQ(choose().config, configs_[2]);
  EXPECT_EQ(choose().default_us, 40);
}

TEST_F(History, IllegalFailedAndStaleRecordsAreRefusedWithReasons) {
  Config illegal = configs_[1];
  illegal.knobs.begin()->second = 12345;
  add_silicon(illegal, 0.001);
  add(failed_task_record(task_, configs_[2], OutcomeKind::launch_error));
  Config old = configs_[3];
  old.space_version += 1000;
  add_silicon(old, 0.002);
  add_silicon(configs_[4], 30);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[4]);
  EXPECT_EQ(choice.refused.size(), 3u);
  EXPECT_EQ(choice.refused.at("failed: launch_error"), 1);
}

TEST_F(History, WrongOnOneHostIsQuarantined) {
  add_silicon(configs_[1], 1);
  const std::string wrong = add(failed_task_record(task_, configs_[1], OutcomeKind::wrong_result));
  add_silicon(configs_[2], 30);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[2]);
  EXPECT_EQ(choice.refused.size(), 2u);
  // Verified again on any card of this architecture: it serves.
  database_->clear(wrong, add(configs_[1], 1.5, kOtherCard));
  EXPECT_EQ(choose().config, configs_[1]);
}

TEST_F(History, WhatIsNotFasterBeyondItsSpreadLosesToTheDefault) {
  add(task_record(task_, configs_[0], {10, 10.4, 9.6, 10.2, 9.8}));
  add(task_record(task_, configs_[1], {9.9, 10.3, 9.5, 10.1, 9.7}));
  const Choice close = choose();
  EXPECT_EQ(close.config, configs_[0]);
  EXPECT_EQ(close.rung, Rung::exact);
  EXPECT_NE(close.why.find("no Config beats the default beyond noise"), std::string::npos) << close.why;
  EXPECT_TRUE(hit(close, Rung::exact));
  add(task_record(task_, configs_[2], {9.0, 9.4, 8.6, 9.2, 8.8}));
  EXPECT_EQ(choose().config, configs_[2]);
}

TEST_F(History, TheVerdictOfFinalistsDecides) {
  // By lucky trials the first is the fastest; in turn with the default it gains nothing, and the second does.
  add(configs_[0], 10);
  add(configs_[1], 5);
  add(configs_[2], 8);
  add_final(configs_[0], noisy(10, 0.01, 20, 1));
  add_final(configs_[1], noisy(10, 0.01, 20, 2));
  add_final(configs_[2], noisy(8, 0.01, 20, 3));
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[2]);
  EXPECT_NEAR(choice.best_us, 8, 0.1);
  EXPECT_NEAR(choice.default_us, 10, 0.1);
  // A later run without finalists: only what is faster at its worst displaces a winner.
  add(task_record(task_, configs_[3], {7.9, 8.2, 7.7}), 1);
  EXPECT_EQ(choose().config, configs_[2]);
  add(task_record(task_, configs_[4], {6.9, 7.2, 6.7}), 1);
  EXPECT_EQ(choose().config, configs_[4]);
}

TEST_F(History, NoFinalistWonSoTheDefaultServes) {
  add_final(configs_[0], noisy(10, 0.01, 20, 1));
  add_final(configs_[1], noisy(9.99, 0.01, 20, 2));
  add(configs_[1], 5);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[0]);
  EXPECT_EQ(choice.rung, Rung::exact);
  EXPECT_NE(choice.why.find("measured in turn"), std::string::npos) << choice.why;
}

/// Another shape of the same form, with records of its own.
class NearHistory : public History {
 protected:
  std::string add_to(const Task& task, const Config& config, double us, const TestCard& card = kCard) {
    return add(task_record(task, config, {us, us, us}, card));
  }
  /// A Config that both shapes take, and that is expected to be about as good here as there.
  Config shared_config(const Task& other) const {
    for (const Config& config : some_configs(other, target_preset("rtx4090"), 200)) {
      const bool is_default =
          config == default_config(other.workload, target_preset("rtx4090")) || config == configs_[0];
      if (!is_default && !why_illegal(task_.workload, config, target_preset("rtx4090"))) return config;
    }
    throw std::runtime_error("the shapes share no Config");
  }
  Task like_ = task_of(dense(8, 512, 48)), larger_ = task_of(dense(8, 512, 512));
};

TEST_F(NearHistory, TheNearestShapeServesWhereTheTaskHasNoRecord) {
  const Config config = shared_config(like_);
  add_to(like_, default_config(like_.workload, target_preset("rtx4090")), 10);
  const std::string near = add_to(like_, config, 1);
  add_to(larger_, default_config(larger_.workload, target_preset("rtx4090")), 10);
  add_to(larger_, shared_config(larger_), 0.5);
  const Choice choice = choose();
  EXPECT_EQ(choice.rung, Rung::near) << choice.why;
  EXPECT_EQ(choice.config, config);
  EXPECT_EQ(choice.record_key, near);
  EXPECT_EQ(choice.measured_workload, like_.workload.summary());
  EXPECT_EQ(choice.trials, 2);
  EXPECT_NE(choice.why.find("no record of this task"), std::string::npos);
  EXPECT_TRUE(hit(choice, Rung::near));
  EXPECT_FALSE(hit(choice, Rung::arch));
  // The task's own records go first, of another card too.
  add_other_card(configs_[0], 10);
  add_other_card(configs_[1], 1);
  EXPECT_EQ(choose().rung, Rung::arch);
}

TEST_F(NearHistory, WhereTheDefaultWonOnTheNearestShapeItServes) {
  ASSERT_EQ(default_config(like_.workload, target_preset("rtx4090")), configs_[0]);
  add_to(like_, configs_[0], 10);
  add_to(like_, shared_config(like_), 12);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[0]);
  EXPECT_EQ(choice.rung, Rung::near);
}

TEST_F(NearHistory, WhatIsIllegalOrFailedHereDoesNotServe) {
  const Config config = shared_config(larger_);
  add_to(larger_, default_config(larger_.workload, target_preset("rtx4090")), 10);
  Config illegal = config;
  illegal.knobs.begin()->second = 12345;
  add_to(larger_, illegal, 0.1);
  add_to(larger_, config, 1);
  EXPECT_EQ(choose().rung, Rung::near);
  EXPECT_EQ(choose().config, config);
  add(failed_task_record(task_, config, OutcomeKind::launch_error));
  const Choice choice = choose();
  EXPECT_NE(choice.config, config);
  EXPECT_EQ(choice.refused.at("of a like shape: failed for the task itself in today's space"), 1);
}

TEST_F(History, AnOlderSpaceVersionIsTheLastRung) {
  const auto older = [](Config config) {
    config.space_version -= 1;
    return config;
  };
  ASSERT_GE(configs_[1].space_version, 1);
  Record of_default = task_record(task_, older(configs_[0]), {10, 10, 10});
  of_default.is_default = true;
  add(of_default);
  add(older(configs_[1]), 5);
  Config gone = older(configs_[2]);
  gone.knobs.begin()->second = 12345;
  add(gone, 1);
  const Choice choice = choose();
  EXPECT_EQ(choice.rung, Rung::stale) << choice.why;
  EXPECT_EQ(choice.config, configs_[1]);  // in today's version
  EXPECT_FALSE(hit(choice, Rung::near));
  EXPECT_NE(choice.why.find("space version"), std::string::npos) << choice.why;
  // Refused by today's space.
  int64_t illegal = 0;
  for (const auto& [why, count] : choice.refused) illegal += why.find("illegal today") != std::string::npos ? count : 0;
  EXPECT_EQ(illegal, 1);
  // Anything of today's version goes first.
  add_other_card(configs_[0], 10);
  EXPECT_EQ(choose().rung, Rung::arch);
}

TEST_F(History, TheSameChoiceWhateverTheOrderAndTheFiles) {
  std::vector<Record> records;
  for (size_t i = 0; i < 12; ++i)
    records.push_back(task_record(task_, configs_[i], {10 - 0.1 * static_cast<double>(i)}));
  std::set<std::string> chosen;
  std::mt19937 random(1);
  for (int round = 0; round < 6; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    const auto first = folder_.path() / fmt::format("a{}.db", round),
               second = folder_.path() / fmt::format("b{}.db", round);
    for (size_t half = 0; half < 2; ++half) {
      const auto database = open_database(half == 0 ? first : second, OpenMode::read_write);
      for (size_t i = half; i < records.size(); i += 2) database->add(records[i]);
      database->add(records[0]);  // in both
      database->close();
    }
    const auto both = open_databases({first, second});
    chosen.insert(
        key(BestHistory(both.get(), {target_preset("rtx4090"), false}, EvidencePolicy::prefer).choose(task_).config));
  }
  EXPECT_EQ(chosen.size(), 1u);
}

}  // namespace
}  // namespace warpwright
