// Configs that records disagree about: quarantined, tried again first of all, cleared when they are ok.
#include "src/tuner/contested.h"

#include <gtest/gtest.h>

#include "src/core/file.h"
#include "tests/tuner/fakes.h"

namespace warpwright {
namespace {

class ContestedTest : public ::testing::Test {
 protected:
  ContestedTest() : database_(open_database(folder_.path() / "c.db", OpenMode::read_write)) {
    options_.families = [this](const Workload&, const Target&) { return std::vector<const KernelFamily*>{&family_}; };
    options_.limits.trials = 4;
    options_.batch_size = 2;
  }
  ~ContestedTest() override { database_->close(); }

  Record record(const Config& config, OutcomeKind kind) const {
    Record record;
    record.workload_key = tasks_[0].key;
    record.workload_json = to_json(tasks_[0].workload).dump();
    record.config_json = key(config);
    record.device_name = "virtual:rtx4090";
    record.target_key = key(target_preset("rtx4090"));
    record.target_json = to_json(target_preset("rtx4090")).dump();
    record.arch = "sm_89";
    record.environment = "another host";
    record.outcome.kind = kind;
    if (record.outcome.ok()) record.outcome.samples_us = {fake_time_us(tasks_[0].workload, config)};
    return record;
  }
  std::vector<std::string> objections(const Config& config) const {
    return database_->objections(tasks_[0].key, key(config), "sm_89");
  }
  TuneSummary tune_once(FakeRunner& runner) {
    NearestCostModel model;
    const RunInfo run = database_->begin_run({"digest", "virtual:rtx4090", 1, Json::object()}, "m.onnx");
    return tune(tasks_, runner, model, *database_, run, options_, [](const TuneSummary&) {});
  }
  static std::string trial_of(const Task& task, const Config& config) { return key(task.workload) + key(config); }

  TemporaryFolder folder_{"warpwright-contested"};
  std::unique_ptr<Database> database_;
  FakeFamily family_;
  std::vector<Task> tasks_{fake_task(16)};
  TuneOptions options_;
  const Config contested_{"fake", 1, {{"a", 2}, {"b", 3}, {"c", 4}, {"d", 0}}};
  const Config wrong_{"fake", 1, {{"a", 3}, {"b", 3}, {"c", 4}, {"d", 0}}};
};

TEST_F(ContestedTest, AreTriedFirstAndClearedWhenTheyAreOk) {
  database_->add(record(contested_, OutcomeKind::ok));
  database_->add(record(contested_, OutcomeKind::wrong_result));
  database_->add(record(wrong_, OutcomeKind::memory_fault));
  ASSERT_EQ(objections(contested_).size(), 1u);
  FakeRunner runner;
  EXPECT_EQ(tune_once(runner).trials, 4);
  ASSERT_GE(runner.sequence.size(), 2u);
  EXPECT_EQ(runner.sequence[1], trial_of(tasks_[0], contested_));  // after the default
  EXPECT_TRUE(objections(contested_).empty());
  // What is wrong on every host is left alone.
  EXPECT_EQ(std::count(runner.sequence.begin(), runner.sequence.end(), trial_of(tasks_[0], wrong_)), 0);
  EXPECT_EQ(objections(wrong_).size(), 1u);
  // The run goes on, without measuring anything twice, from where it was.
  options_.limits.trials = 6;
  FakeRunner again;
  EXPECT_EQ(tune_once(again).trials, 6);
  EXPECT_EQ(again.measured, 2);
}

TEST_F(ContestedTest, StayQuarantinedWhenTheyAreWrongAgain) {
  database_->add(record(contested_, OutcomeKind::ok));
  database_->add(record(contested_, OutcomeKind::wrong_result));
  FakeRunner runner;
  runner.rule = [&](const Trial& trial) {
    Outcome outcome;
    const bool is_wrong = trial.config == contested_;
    outcome.kind = is_wrong ? OutcomeKind::wrong_result : OutcomeKind::ok;
    if (!is_wrong) outcome.samples_us = {fake_time_us(trial.workload, trial.config)};
    return outcome;
  };
  tune_once(runner);
  EXPECT_EQ(runner.sequence[1], trial_of(tasks_[0], contested_));
  EXPECT_EQ(objections(contested_).size(), 2u);
}

TEST_F(ContestedTest, TheVirtualDeviceDoesNotSpeakForSilicon) {
  Record silicon = record(contested_, OutcomeKind::wrong_result);
  silicon.evidence = Evidence::silicon;
  silicon.device_name = "NVIDIA GeForce RTX 4090";
  database_->add(silicon);
  Record ok = record(contested_, OutcomeKind::ok);
  const std::string ok_key = database_->add(ok);
  clear_objections(*database_, ok, ok_key);
  EXPECT_EQ(objections(contested_).size(), 1u);
  ok.evidence = Evidence::silicon;
  ok.device_name = silicon.device_name;
  clear_objections(*database_, ok, database_->add(ok));
  EXPECT_TRUE(objections(contested_).empty());
}

}  // namespace
}  // namespace warpwright
