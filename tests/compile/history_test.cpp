// Best history: the way down, evidence, and records that may not serve. No device, no compiler.
#include <gtest/gtest.h>

#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/compile/best_history.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

Workload small_dense() {
  Workload workload;
  workload.kind = OpKind::dense;
  workload.inputs = {nhwc_form(DType::s8, 8, 1, 1, 512)};
  workload.output = nhwc_form(DType::s8, 8, 1, 1, 32);
  workload.epilogue.bias = true;
  return workload;
}

class History : public testing::Test {
 protected:
  History() : database_(open_database(folder_.path() / "h.db", OpenMode::read_write)) {
    task_.workload = small_dense();
    task_.key = key(task_.workload);
    configs_ = kernel_families_space();
    for (uint64_t seed : {1, 2}) database_->begin_run({"digest", "a device", seed, Json::object()}, "model.onnx");
  }
  ~History() override { database_->close(); }

  /// Legal Configs on sm_89, the default first.
  std::vector<Config> kernel_families_space() const {
    const Config start = default_config(task_.workload, target_preset("rtx4090"));
    std::vector<Config> configs{start};
    for (const Config& config : family_of(start).space(task_.workload, target_preset("rtx4090")).enumerate(200)) {
      if (!(config == start)) configs.push_back(config);
    }
    return configs;
  }

  Record record(const Config& config, double us, const std::string& device, Evidence evidence,
                const std::string& target = "rtx4090", int64_t run = 1) {
    Record record;
    record.workload_key = task_.key;
    record.workload_json = to_json(task_.workload).dump();
    record.config_json = key(config);
    record.device_name = device;
    record.target_json = to_json(target_preset(target)).dump();
    record.target_key = key(target_preset(target));
    record.arch = target_preset(target).arch();
    record.evidence = evidence;
    record.environment = "test";
    record.outcome.kind = OutcomeKind::ok;
    record.outcome.samples_us = {us, us, us};
    record.is_default = config == configs_.front();
    record.run_id = run;
    record.trial_index = next_trial_++;
    return record;
  }
  void add_silicon(const Config& config, double us) {
    database_->add(record(config, us, "NVIDIA GeForce RTX 4090", Evidence::silicon));
  }
  void add_virtual(const Config& config, double us) {
    database_->add(record(config, us, "virtual:rtx4090", Evidence::virtual_device));
  }
  void add_other_card(const Config& config, double us) {
    database_->add(record(config, us, "NVIDIA GeForce RTX 4080", Evidence::silicon, "rtx4080"));
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
  Task task_;
  std::vector<Config> configs_;
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
  database_->add(record(configs_[1], 1, "NVIDIA GeForce RTX 3090", Evidence::silicon, "rtx3090"));
  const Choice choice = choose();
  EXPECT_EQ(choice.rung, Rung::default_config);
  EXPECT_EQ(choice.refused.at("another architecture: sm_86"), 1);
}

TEST_F(History, RunsAreComparedByTheirDefaults) {
  // The second run had a slow card: 20 against a default of 40 is better than 11 against 20.
  const auto add = [&](const Config& config, double us, int64_t run) {
    database_->add(record(config, us, "NVIDIA GeForce RTX 4090", Evidence::silicon, "rtx4090", run));
  };
  add(configs_[0], 20, 1);
  add(configs_[1], 11, 1);
  add(configs_[0], 40, 2);
  add(configs_[2], 20, 2);
  EXPECT_EQ(choose().config, configs_[2]);
  EXPECT_EQ(choose().default_us, 40);
}

TEST_F(History, IllegalFailedAndStaleRecordsAreRefusedWithReasons) {
  Config illegal = configs_[1];
  illegal.knobs.begin()->second = 12345;
  add_silicon(illegal, 0.001);
  Record failed = record(configs_[2], 0, "NVIDIA GeForce RTX 4090", Evidence::silicon);
  failed.outcome = {OutcomeKind::launch_error, "no", "", {}, ""};
  database_->add(failed);
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
  Record wrong = record(configs_[1], 0, "NVIDIA GeForce RTX 4090", Evidence::silicon);
  wrong.outcome = {OutcomeKind::wrong_result, "index 3", "", {}, ""};
  wrong.environment = "another host";
  database_->add(wrong);
  add_silicon(configs_[2], 30);
  const Choice choice = choose();
  EXPECT_EQ(choice.config, configs_[2]);
  EXPECT_EQ(choice.refused.size(), 2u);
}

}  // namespace
}  // namespace warpwright
