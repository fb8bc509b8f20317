// Fault tests T08, T11 and T12: best history over databases that cannot be written, that hold records of other cards
// and drivers, and whose best records are no good today.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "database/check.h"
#include "database/json_lines.h"
#include "src/compile/best_history.h"
#include "src/core/file.h"
#include "tests/compile/task_records.h"

namespace warpwright {
namespace {

Task dense_task(int64_t columns) {
  Task task;
  task.workload.kind = OpKind::dense;
  task.workload.inputs = {nhwc_form(DType::s8, 8, 1, 1, 512)};
  task.workload.output = nhwc_form(DType::s8, 8, 1, 1, columns);
  task.key = key(task.workload);
  return task;
}

class HistoryFaults : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  /// One record after the other, in a run of its own.
  void write(const std::string& name, const std::vector<Record>& records) const {
    const auto database = open_database(path(name), OpenMode::read_write);
    const int64_t run = database->begin_run({"digest", "device", 1, Json::object()}, "model.onnx").id;
    int64_t index = 0;
    for (Record record : records) {
      record.run_id = run;
      record.trial_index = index++;
      database->add(record);
    }
    database->close();
  }
  Choice choose(const std::vector<std::filesystem::path>& paths) const {
    const auto database = open_databases(paths);
    return BestHistory(database.get(), {target_preset("rtx4090"), false}, EvidencePolicy::prefer).choose(task_);
  }

  TemporaryFolder folder_{"warpwright-history-faults"};
  Task task_ = dense_task(32);
  std::vector<Config> configs_ = some_configs(task_, target_preset("rtx4090"), 12);
};

using FaultT08 = HistoryFaults;
using FaultT11 = HistoryFaults;
using FaultT12 = HistoryFaults;

/// Runs `body` in a process without root's right to write everywhere.
bool holds_for_nobody(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(9);
    bool holds = false;
    try {
      holds = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(holds ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(FaultT08, ApplyWorksFromAReadOnlyFolder) {
  write("a.db", {task_record(task_, configs_[0], {10}), task_record(task_, configs_[1], {5})});
  write("b.db", {task_record(task_, configs_[0], {10}), task_record(task_, configs_[2], {4})});
  for (const char* name : {"a.db", "b.db"}) chmod(path(name).c_str(), 0444);
  chmod(folder_.path().c_str(), 0555);
  EXPECT_TRUE(holds_for_nobody([&] {
    if (access(folder_.path().c_str(), W_OK) == 0) return false;  // the test would show nothing
    return choose({path("a.db")}).config == configs_[1] && choose({path("a.db"), path("b.db")}).config == configs_[2];
  }));
  chmod(folder_.path().c_str(), 0700);
}

TEST_F(FaultT08, AnExportWhileAWriterRunsIsSoundAndServes) {
  const auto writer = open_database(path("w.db"), OpenMode::read_write);
  writer->add(task_record(task_, configs_[0], {10}));
  writer->add(task_record(task_, configs_[1], {5}));
  std::string lines;
  export_rows(path("w.db"), {}, [&](const std::string& line) { lines += line + "\n"; });
  writer->add(task_record(task_, configs_[2], {1}));
  write_file(path("w.jsonl"), lines);
  import_rows(path("w.jsonl"), path("copy.db"));
  EXPECT_TRUE(check_database(path("copy.db"), [](const Record&) {}).faults.empty());
  EXPECT_EQ(choose({path("copy.db")}).config, configs_[1]);
  EXPECT_EQ(choose({path("w.db")}).config, configs_[2]);
}

TEST_F(FaultT11, OnlyThisCardIsExactAndNothingForeignIsFatal) {
  const TestCard ampere{"a100"}, other_driver{"rtx4090", false, "driver 535.54, NVRTC 12.2"};
  write("all.db", {task_record(task_, configs_[0], {10}), task_record(task_, configs_[1], {8}),
                   task_record(task_, configs_[2], {0.5}, ampere)});
  const Choice exact = choose({path("all.db")});
  EXPECT_EQ(exact.config, configs_[1]);
  EXPECT_EQ(exact.rung, Rung::exact);
  EXPECT_EQ(exact.environment, "driver 580.65, NVRTC 13.0");
  EXPECT_EQ(exact.refused, (std::map<std::string, int64_t>{{"another architecture: sm_80", 1}}));
  // The same card with another driver is the same card, and the driver is shown.
  write("other.db",
        {task_record(task_, configs_[0], {10}, other_driver), task_record(task_, configs_[3], {6}, other_driver)});
  const Choice merged = choose({path("all.db"), path("other.db")});
  EXPECT_EQ(merged.config, configs_[3]);
  EXPECT_EQ(merged.rung, Rung::exact);
  EXPECT_EQ(merged.environment, "driver 535.54, NVRTC 12.2");
  // Without this card's records the lower rung is named.
  write("4080.db", {task_record(task_, configs_[0], {10}, {"rtx4080"}),
                    task_record(task_, configs_[1], {2}, {"rtx4080"}), task_record(task_, configs_[2], {0.5}, ampere)});
  const Choice arch = choose({path("4080.db")});
  EXPECT_EQ(arch.rung, Rung::arch);
  EXPECT_EQ(arch.measured_on, "NVIDIA GeForce RTX 4080");
  EXPECT_NE(arch.why.find("no usable record of NVIDIA GeForce RTX 4090"), std::string::npos) << arch.why;
}

TEST_F(FaultT12, AStaleOrInvalidBestRecordGivesWayToTheNext) {
  Config refused = configs_[1];
  refused.knobs.begin()->second = 12345;
  const std::vector<Record> records{task_record(task_, configs_[0], {10}), task_record(task_, refused, {0.1}),
                                    failed_task_record(task_, configs_[2], OutcomeKind::launch_error),
                                    task_record(task_, configs_[3], {7})};
  write("t12.db", records);
  const Choice choice = choose({path("t12.db")});
  EXPECT_EQ(choice.config, configs_[3]);
  EXPECT_EQ(choice.rung, Rung::exact);
  ASSERT_EQ(choice.refused.size(), 2u);
  EXPECT_EQ(choice.refused.at("failed: launch_error"), 1);
  EXPECT_TRUE(choice.refused.rbegin()->first.starts_with("illegal today: ")) << choice.refused.rbegin()->first;
  // Records of other tasks change nothing.
  std::vector<Record> unrelated;
  for (const int64_t columns : {64, 96, 160}) {
    const Task task = dense_task(columns);
    for (const Config& config : some_configs(task, target_preset("rtx4090"), 8)) {
      unrelated.push_back(task_record(task, config, {0.01}));
    }
  }
  write("unrelated.db", unrelated);
  EXPECT_EQ(choose({path("unrelated.db"), path("t12.db")}).config, configs_[3]);
  EXPECT_EQ(choose({path("t12.db"), path("unrelated.db")}).refused, choice.refused);
}

TEST_F(FaultT12, AFailedRecordWithATimeIsDamagedAndReported) {
  write("t12.db", {task_record(task_, configs_[0], {10}), task_record(task_, configs_[1], {0.5}),
                   task_record(task_, configs_[3], {7})});
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path("t12.db").c_str(), &handle), SQLITE_OK);
  // It says that it failed, and has times: not what was written.
  EXPECT_EQ(sqlite3_exec(handle, "UPDATE records SET outcome = 'launch_error', median_us = 0 WHERE id = 2", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(handle);
  const Choice choice = choose({path("t12.db")});
  EXPECT_EQ(choice.config, configs_[3]);
  ASSERT_EQ(choice.refused.size(), 1u);
  EXPECT_TRUE(choice.refused.begin()->first.starts_with("damaged record: ")) << choice.refused.begin()->first;
}

}  // namespace
}  // namespace warpwright
