// `build` over the databases of several teams: rungs, gates, lists of misses, locks, and fault tests T10 and T14.
#include <fmt/format.h>

#include <functional>

#include "src/core/npy.h"
#include "src/runtime/package.h"
#include "src/tasks/task_list.h"
#include "src/tuner/tuner.h"
#include "tests/cli/program_fixture.h"
#include "tests/tuner/fakes.h"

namespace warpwright {
namespace {

using BuildTest = ProgramTest;

TEST_F(BuildTest, SaysRungEvidenceAndEffortOfEachKernel) {
  const std::string exact = write_database("exact.db", 0, 3),
                    arch = write_database("arch.db", 0, tasks_.size(), {"rtx4080"});
  const std::string text = run(build({"--db", exact, "--db", arch, "--dry-run"}));
  EXPECT_NE(text.find("exact, 2 trials"), std::string::npos) << text;
  EXPECT_NE(text.find("arch, 2 trials on NVIDIA GeForce RTX 4080"), std::string::npos) << text;
  EXPECT_NE(text.find(fmt::format("{} kernels for rtx4090: 3 exact, {} arch; ", tasks_.size(), tasks_.size() - 3)),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" % of the expected time on exact"), std::string::npos) << text;
  EXPECT_NE(text.find("NVIDIA GeForce RTX 4080 with driver 580.65, NVRTC 13.0 (silicon)"), std::string::npos) << text;
  const Json document = run_json(build({"--db", exact, "--db", arch, "--dry-run"}));
  EXPECT_EQ(document["rungs"]["exact"]["kernels"], 3);
  double share = 0;
  for (const auto& [rung, count] : document["rungs"].items()) share += count["time_share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-9);
}

TEST_F(BuildTest, GatesRefuseWithTheListOfMissesAndTheirReasons) {
  const std::string db = write_database("some.db", 1, tasks_.size());
  run(build({"--db", db, "-o", path("p.pkg"), "--require-hit", "exact"}), 1);
  EXPECT_TRUE(says(fmt::format("1 of {} kernels miss --require-hit exact; nothing is written", tasks_.size()))) << err_;
  EXPECT_TRUE(says("miss: " + tasks_[0].workload.summary())) << err_;
  EXPECT_TRUE(says("no record of this task")) << err_;
  EXPECT_FALSE(std::filesystem::exists(path("p.pkg")));
  // The one that misses may, by the name of its ONNX node.
  const std::string node = tasks_[0].onnx_nodes.at(0);
  const Json allowed = run_json(build({"--db", db, "--dry-run", "--require-hit", "exact", "--allow-miss", node}));
  EXPECT_EQ(allowed["misses"].at(0)["allowed"], true);
  EXPECT_EQ(allowed["hit_time_share"], 1.0);
  run(build({"--db", db, "--dry-run", "--allow-miss", "no such node"}), 2);
  EXPECT_TRUE(says("no such node")) << err_;
  // Or by its share of the time.
  const double covered = 100 * run_json(build({"--db", db, "--dry-run"}))["hit_time_share"].get<double>();
  EXPECT_GT(covered, 0);
  EXPECT_LT(covered, 100);
  run(build(
      {"--db", db, "--dry-run", "--require-hit", "exact", "--min-time-coverage", fmt::format("{}", covered - 0.1)}));
  run(build({"--db", db, "--dry-run", "--min-time-coverage", fmt::format("{}", covered + 0.1)}), 1);
  EXPECT_TRUE(says("% of the expected time is on exact or better, less than --min-time-coverage")) << err_;
}

TEST_F(BuildTest, GatesAskForSiliconUnlessAnyEvidenceWillDo) {
  const std::string db = write_database("virtual.db", 0, tasks_.size(), {"rtx4090", true});
  run(build({"--db", db, "--dry-run", "--require-hit", "near"}), 1);
  EXPECT_TRUE(says("exact, 2 trials (virtual): no usable silicon record")) << err_;
  run(build({"--db", db, "--dry-run", "--require-hit", "exact", "--evidence", "any"}));
  run(build({"--db", db, "--dry-run", "--require-hit", "exact", "--evidence", "prefer"}), 1);
  EXPECT_EQ(run_json(build({"--db", db, "--dry-run", "--evidence", "silicon"}))["rungs"]["default"]["kernels"],
            tasks_.size());
}

TEST_F(BuildTest, MissesGoToTuneAsAList) {
  const std::string db = write_database("some.db", 2, tasks_.size());
  run(build({"--db", db, "--dry-run", "--misses-out", path("miss.json")}));
  const std::vector<ListedTask> listed = read_task_list(path("miss.json"));
  ASSERT_EQ(listed.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(listed[i].task.key, tasks_[i].key);
    EXPECT_EQ(listed[i].task.weight, tasks_[i].weight);
    EXPECT_NE(listed[i].why.find("no record of this task"), std::string::npos) << listed[i].why;
  }
  run(build({"--db", db, "--dry-run", "--misses-out", db}), 2);
  EXPECT_TRUE(says("would be overwritten")) << err_;
}

TEST_F(BuildTest, TheLockAloneGivesTheSamePackage) {
  const std::string db = write_database("some.db", 1, tasks_.size()),
                    other = write_database("arch.db", 0, 1, {"rtx4080"});
  run(build({"--db", db, "--db", other, "-o", path("a.pkg"), "--write-lock", path("a.lock")}));
  const std::string text = run({"build", model_, "--shape", shape_, "--lock", path("a.lock"), "-o", path("b.pkg")});
  EXPECT_NE(text.find(fmt::format("{} kernels: same code as locked", tasks_.size())), std::string::npos) << text;
  EXPECT_EQ(read_file(path("a.pkg")), read_file(path("b.pkg")));
  // What differs is said: here the lock claims another source.
  std::string lock = read_file(path("a.lock"));
  const std::string mark = "\"code\":{\"cubin\":\"";
  const size_t at = lock.find(mark) + mark.size();
  lock[at] = lock[at] == '0' ? '1' : '0';
  write_file(path("c.lock"), lock);
  const Json changed = run_json({"build", model_, "--shape", shape_, "--lock", path("c.lock"), "-o", path("c.pkg")});
  EXPECT_EQ(changed["unchanged_cubins"], tasks_.size() - 1);
  EXPECT_EQ(changed["locked_code"].size(), 2u) << changed["locked_code"];
}

using FaultT10 = ProgramTest;

TEST_F(FaultT10, ABuildFallsBackFromADatabaseThatIsNoGood) {
  struct Damage {
    std::string name;
    std::function<void(const std::string& file)> make;
    std::vector<std::string> words;  // what was expected and what was found
  };
  const std::vector<Damage> damages{
      {"text.db", [](const std::string& file) { write_file(file, std::string(4096, 'x')); }, {"is no database"}},
      {"cut.db", [](const std::string& file) { std::filesystem::resize_file(file, 8192); }, {"was cut", "8192 bytes"}},
      {"newer.db",
       [](const std::string& file) { execute_sql(file, "PRAGMA user_version = 99"); },
       {"schema version 99", "newer than"}},
      {"foreign.db",
       [](const std::string& file) { execute_sql(file, "PRAGMA application_id = 7"); },
       {"application_id 0x7, expected"}},
      {"column.db",
       [](const std::string& file) { execute_sql(file, "ALTER TABLE records DROP COLUMN limited_by"); },
       {"is not laid out"}},
  };
  const std::string good = write_database("good.db", 0, 2);
  for (const Damage& damage : damages) {
    const std::string bad = write_database(damage.name, 0, tasks_.size());
    damage.make(bad);
    const std::string before = read_file(bad);
    const Json alone = run_json(build({"--db", bad, "--dry-run"}));
    EXPECT_EQ(alone["rungs"]["default"]["kernels"], tasks_.size()) << damage.name;
    for (const std::string& word : damage.words) EXPECT_TRUE(says(word)) << word << "\n" << err_;
    EXPECT_TRUE(says(damage.name) && says("the build goes on without it")) << err_;
    for (const auto& both : {std::vector<std::string>{bad, good}, {good, bad}}) {
      const Json rest = run_json(build({"--db", both[0], "--db", both[1], "--dry-run"}));
      EXPECT_EQ(rest["rungs"]["exact"]["kernels"], 2) << damage.name;
    }
    run(build({"--db", bad, "-o", path("p.pkg"), "--require-hit", "exact"}), 1);
    EXPECT_EQ(read_file(bad), before) << damage.name;
  }
  EXPECT_FALSE(std::filesystem::exists(path("p.pkg")));
}

TEST_F(FaultT10, DamageInsideIsLeftOutRowByRowOrFileByFile) {
  const std::string good = write_database("good.db", 0, 2), bad = write_database("bad.db", 0, tasks_.size());
  const std::string whole = read_file(bad);
  int wholly_left_out = 0;
  for (size_t page = 1; page < whole.size() / 4096; page += 2) {
    std::string bytes = whole;
    for (size_t i = 0; i < 64; ++i) bytes[page * 4096 + i] = static_cast<char>(bytes[page * 4096 + i] ^ 0x5a);
    write_file(bad, bytes);
    const Json document = run_json(build({"--db", bad, "--db", good, "--dry-run"}));
    EXPECT_GE(document["rungs"].value("exact", Json{{"kernels", 0}})["kernels"], 2) << page;
    wholly_left_out += says("the build goes on without it");
    EXPECT_EQ(read_file(bad), bytes);
  }
  EXPECT_GT(wholly_left_out, 0);
}

TEST_F(FaultT10, AMissingFieldCostsItsRowsAlone) {
  const std::string bad = write_database("bad.db", 0, tasks_.size());
  execute_sql(bad, "UPDATE configs SET json = '{}' WHERE id = 1");
  const Json document = run_json(build({"--db", bad, "--dry-run"}));
  EXPECT_EQ(document["kernels"].size(), tasks_.size());
  EXPECT_GE(document["rungs"]["exact"]["kernels"], tasks_.size() - 1);
}

class FaultT14 : public ProgramTest {
 protected:
  /// What `tune` leaves for the model, by its own loop over a runner that only answers.
  void tune_with_fake_runner(const std::string& file) {
    const auto database = open_database(file, OpenMode::read_write);
    const RunInfo run = database->begin_run({"digest", "virtual:rtx4090", 1, Json::object()}, "model.onnx");
    FakeRunner runner;
    runner.rule = [](const Trial&) {
      Outcome outcome;
      outcome.kind = OutcomeKind::ok;
      outcome.samples_us = {10};
      return outcome;
    };
    TuneOptions options;
    options.limits.trials_per_task = 1;
    const auto model = make_analytic_cost_model();
    const TuneSummary summary = tune(tasks_, runner, *model, *database, run, options, [](const TuneSummary&) {});
    EXPECT_EQ(summary.trials, static_cast<int64_t>(tasks_.size()));
    database->close();
  }
};

TEST_F(FaultT14, WhatWasTunedIsAppliedToTheLastKernel) {
  const std::string db = path("tuned.db");
  tune_with_fake_runner(db);
  const std::vector<std::string> apply{"build", model_, "--shape",   shape_,          "--target", "virtual:rtx4090",
                                       "--db",  db,     "--dry-run", "--require-hit", "exact"};
  EXPECT_EQ(run_json(apply)["rungs"]["exact"]["kernels"], tasks_.size());
  // One row less: exactly that task is missed, and named.
  const Json records = run_json({"db", "list", db, "--task", tasks_[1].key})["records"];
  ASSERT_EQ(records.size(), 1u);
  run({"db", "retract", db, records[0]["key"].get<std::string>(), "--reason", "test"});
  const Json document = run_json(apply, 1);
  ASSERT_EQ(document["misses"].size(), 1u);
  EXPECT_EQ(document["misses"][0]["workload_key"], tasks_[1].key);
  EXPECT_TRUE(says("miss: " + tasks_[1].workload.summary())) << err_;
  EXPECT_TRUE(says(tasks_[1].onnx_nodes.at(0))) << err_;
}

TEST_F(FaultT14, ASymbolicBatchWithoutShapeIsAClearError) {
  run({"build", model_, "--target", "rtx4090", "-o", path("p.pkg")}, 2);
  EXPECT_TRUE(says("image") && says("--shape")) << err_;
  EXPECT_TRUE(is_one_error_line(err_)) << err_;
}

}  // namespace
}  // namespace warpwright
