// Fixture: the loop with a fake runner over three tasks, and what it recorded.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/core/file.h"
#include "src/tuner/tuner.h"
#include "tests/tuner/fakes.h"

namespace warpwright {

class TunerTest : public ::testing::Test {
 protected:
  TunerTest() { use(family_); }

  void use(const KernelFamily& family) {
    options_.families = [&family](const Workload&, const Target&) { return std::vector<const KernelFamily*>{&family}; };
  }

  std::unique_ptr<Database> open(const std::string& file = "a.db") const {
    return open_database(folder_.path() / file, OpenMode::read_write);
  }

  TuneSummary tune_into(const std::string& file, FakeRunner& runner) {
    auto database = open(file);
    RunKey run_key{"digest", runner.device_name(), options_.seed, Json{{"trials", options_.limits.trials.value_or(0)}}};
    const RunInfo run = database->begin_run(run_key, "m");
    NearestCostModel model;
    runner.stop = options_.stop;
    return tune(tasks_, runner, model, *database, run, options_, progress_);
  }

  /// What the first run of the file recorded: Workload, Config and outcome by trial.
  std::vector<std::string> recorded(const std::string& file) const {
    auto database = open_database(folder_.path() / file, OpenMode::read_only);
    std::vector<std::string> lines;
    for (const Record& record : database->run_records(database->runs().at(0).id)) {
      lines.push_back(fmt::format("{} {} {} {}", record.trial_index, record.workload_key, record.config_json,
                                  name(record.outcome.kind)));
    }
    return lines;
  }

  TemporaryFolder folder_;
  FakeFamily family_;
  TinyFamily tiny_;
  TuneOptions options_;
  std::vector<Task> tasks_ = {fake_task(16), fake_task(32, 3), fake_task(48)};
  ProgressCallback progress_;
};

}  // namespace warpwright
