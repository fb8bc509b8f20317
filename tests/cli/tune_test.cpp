// `tune` as users run it: plan, filters, several devices, one process a run, and fault tests T04, S1, S2 and S5.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "src/core/file.h"
#include "src/core/json.h"
#include "tests/cli/program.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDevice = "virtual:rtx4090";

/// A `tune` of its own, which the test may kill.
class RunningTune {
 public:
  /// `output`: of both outputs; -1: nowhere. `ignored`: a signal that it is started with ignored; 0: none.
  explicit RunningTune(const std::vector<std::string>& arguments, int output = -1, int ignored = 0) {
    process_ = fork();
    if (process_ != 0) return;
    if (ignored != 0) signal(ignored, SIG_IGN);
    if (output < 0) output = open("/dev/null", O_RDWR);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    std::vector<std::string> copies{WARPWRIGHT_PROGRAM};
    copies.insert(copies.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : copies) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(WARPWRIGHT_PROGRAM, argv.data());
    _exit(127);
  }
  pid_t process() const { return process_; }
  int end_by(int signal) {
    kill(process_, signal);
    return wait();
  }
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
};

/// Processes whose parent was `parent`, by their session of files: those that run our program as a worker.
std::vector<pid_t> workers_with(const std::string& environment) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream variables(entry.path() / "environ");
    const std::string text{std::istreambuf_iterator<char>(variables), {}};
    if (text.find(environment) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

class TuneTest : public testing::Test {
 protected:
  TuneTest() { std::filesystem::create_directory(temporary_); }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, {{"TMPDIR", temporary_.string()}});
  }
  Json json(std::vector<std::string> arguments, int status = 0) {
    arguments.push_back("--json");
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.status, status) << result.err << result.out;
    err_ = result.err;
    return Json::parse(result.out, nullptr, false);
  }
  int64_t records(const std::string& db) { return json({"db", "stats", db})["records"].get<int64_t>(); }
  std::vector<std::string> tune(const std::string& db, std::vector<std::string> more) const {
    std::vector<std::string> arguments{"tune", model_, "--db", db, "--device", kDevice};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  TemporaryFolder folder_{"warpwright-tune-test"};
  const std::filesystem::path temporary_ = folder_.path() / "tmp";
  std::string err_;
  const std::string model_ = (test_data() / "cases/block_residual_unrounded_s8/model.onnx").string();
};

TEST_F(TuneTest, DryRunPlansAndRecordsNothing) {
  const ProgramResult result = run(tune(path("d.db"), {"--time", "1h", "--dry-run"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("conv2d"));
  EXPECT_THAT(result.out, HasSubstr("s a trial"));
  EXPECT_THAT(result.out, HasSubstr("trials in the time given"));
  EXPECT_FALSE(std::filesystem::exists(path("d.db")));
  const Json plan = json(tune(path("d.db"), {"--trials", "10", "--dry-run"}));
  EXPECT_EQ(plan["schema"], "warpwright.tune-plan/1");
  EXPECT_GT(plan["runs"][0]["seconds_a_trial"].get<double>(), 0);
  EXPECT_GE(plan["runs"][0]["tasks"][0]["points"].get<int64_t>(), 1);
  EXPECT_EQ(files_in(temporary_).size(), 0u);
}

TEST_F(TuneTest, FiltersByTaskOperatorAndList) {
  const Json all = json({"extract", model_})["tasks"];
  std::string conv, other;
  for (const Json& task : all) {
    (task["workload"]["kind"] == "conv2d" ? conv : other) = task["key"].get<std::string>();
  }
  ASSERT_NE(conv, "");
  ASSERT_NE(other, "");
  const Json by_task = json(tune(path("a.db"), {"--trials-per-task", "1", "--task", other.substr(0, 12)}));
  ASSERT_EQ(by_task["tasks"].size(), 1u);
  EXPECT_EQ(by_task["tasks"][0]["key"], other);
  const Json by_kind = json(tune(path("b.db"), {"--trials", "1", "--op", "conv2d"}));
  for (const Json& task : by_kind["tasks"]) EXPECT_THAT(task["workload"].get<std::string>(), HasSubstr("conv2d"));
  // Only what has no record yet.
  const Json misses = json(tune(path("a.db"), {"--trials-per-task", "1", "--only-misses", "--dry-run"}));
  EXPECT_EQ(misses["runs"][0]["tasks"].size(), all.size() - 1);
  // A list of tasks needs no model.
  for (const Json& task : all) {
    if (task["key"] == other) {
      write_file(path("list.jsonl"),
                 Json{{"task", other}, {"workload", task["workload"]}, {"why", "no record"}}.dump());
    }
  }
  const Json listed =
      json({"tune", "--tasks-from", path("list.jsonl"), "--db", path("c.db"), "--device", kDevice, "--trials", "1"});
  ASSERT_EQ(listed["tasks"].size(), 1u);
  EXPECT_EQ(listed["tasks"][0]["key"], other);
  for (const std::vector<std::string>& wrong :
       {tune(path("a.db"), {"--task", "w1-zz"}), tune(path("a.db"), {"--op", "pool"}),
        tune(path("a.db"), {"--until", "25:00"}), tune(path("a.db"), {"--tasks-from", model_})}) {
    const ProgramResult result = run(wrong);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_TRUE(is_one_error_line(result.err)) << result.err;
  }
}

TEST_F(TuneTest, WithNothingMissingNoRunIsBegun) {
  json(tune(path("a.db"), {"--trials-per-task", "1"}));
  const int64_t before = records(path("a.db"));
  const Json runs = json({"db", "runs", path("a.db")});
  const ProgramResult result = run(tune(path("a.db"), {"--trials-per-task", "1", "--only-misses", "--seed", "2"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out + result.err, HasSubstr("nothing to tune"));
  EXPECT_EQ(records(path("a.db")), before);
  EXPECT_EQ(json({"db", "runs", path("a.db")}), runs);
}

TEST_F(TuneTest, KindsOfOperatorsAndBeginningsOfKeys) {
  const ProgramResult wrong = run(tune(path("a.db"), {"--op", "conv"}));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--op conv"));
  EXPECT_THAT(wrong.err, HasSubstr("conv2d"));
  const Json tuned = json(tune(path("a.db"), {"--trials-per-task", "1", "--op", "conv2d"}));
  const std::string task = tuned["tasks"][0]["key"].get<std::string>();
  const Json whole = json({"db", "best", path("a.db"), "--task", task});
  EXPECT_FALSE(whole["records"].empty()) << whole;
  EXPECT_EQ(json({"db", "best", path("a.db"), "--task", task.substr(0, 15)}), whole);
}

TEST_F(TuneTest, UnlikeDevicesAreTunedApartInOneRun) {
  const Json tuned = json({"tune", model_, "--db", path("d.db"), "--device", "virtual:rtx4090,virtual:rtx3070",
                           "--trials", "4", "--op", "conv2d"});
  ASSERT_EQ(tuned["runs"].size(), 2u);
  EXPECT_EQ(tuned["runs"][0]["device"], "virtual:rtx4090");
  EXPECT_EQ(tuned["runs"][1]["device"], "virtual:rtx3070");
  for (const Json& each : tuned["runs"]) EXPECT_EQ(each["trials"], 4);
  const Json stats = json({"db", "stats", path("d.db")});
  EXPECT_EQ(stats["records"], 8);
  const ProgramResult twice =
      run({"tune", model_, "--db", path("e.db"), "--device", "virtual:rtx4090,virtual:rtx4090"});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("twice"));
}

TEST_F(TuneTest, ARunHasOneProcess) {
  const std::vector<std::string> endless = tune(path("d.db"), {"--trials", "100000", "--patience", "0"});
  RunningTune first(endless);
  while (!std::filesystem::exists(path("d.db"))) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const ProgramResult second = run(endless);
  EXPECT_EQ(second.status, 2) << second.out;
  EXPECT_THAT(second.err, HasSubstr("another process is making this run"));
  EXPECT_EQ(run(tune(path("d.db"), {"--trials", "1", "--seed", "7"})).status, 0)
      << "another run is none of its business";
  EXPECT_EQ(first.end_by(SIGTERM), 143);
}

TEST_F(TuneTest, T04WhereNothingIsLegalTheReasonsAreCounted) {
  Json card = json({"devices", "--device", kDevice})["devices"][0]["target"];
  for (const char* limit : {"smem_per_block_bytes", "smem_per_sm_bytes", "registers_per_sm"}) card[limit] = 1024;
  write_file(path("tiny.json"), card.dump());
  const ProgramResult result = run({"tune", model_, "--db", path("d.db"), "--device", "virtual:" + path("tiny.json"),
                                    "--trials", "5", "--op", "conv2d"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("points looked at"));
  EXPECT_THAT(result.err, HasSubstr("shared memory exceed"));
  EXPECT_FALSE(std::filesystem::exists(path("d.db"))) << "refused before anything is recorded";
  // For the real card the defaults still build.
  EXPECT_EQ(run({"build", model_, "--target", "rtx4090", "--dry-run"}).status, 0);
}

TEST_F(TuneTest, ACardWhereSomeFamiliesHaveNoConfigIsTunedByTheOthers) {
  Json card = json({"devices", "--device", kDevice})["devices"][0]["target"];
  card["smem_per_block_bytes"] = 1024;
  card["smem_per_sm_bytes"] = 2048;  // an SM keeps 1 KB a CTA for itself
  write_file(path("small.json"), card.dump());
  const Json tuned = json(
      {"tune", model_, "--db", path("d.db"), "--device", "virtual:" + path("small.json"), "--trials-per-task", "2"});
  for (const Json& task : tuned["tasks"]) EXPECT_GT(task["ok"].get<int>(), 0) << task.dump();
}

TEST_F(TuneTest, S1StopAndResumeLeaveNothingBehindAndMeasureNothingTwice) {
  setenv("TMPDIR", temporary_.c_str(), 1);
  const std::vector<std::string> arguments = tune(path("d.db"), {"--trials", "12", "--patience", "0"});
  for (const int signal : {SIGKILL, SIGINT, SIGKILL}) {
    RunningTune running(arguments);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    running.end_by(signal);
    for (int i = 0; i < 100 && !workers_with("TMPDIR=" + temporary_.string()).empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(workers_with("TMPDIR=" + temporary_.string()).empty());
  }
  // What a killed process left is swept once it is old enough not to be anybody's new folder.
  for (const auto& entry : std::filesystem::directory_iterator(temporary_)) {
    const timespec old[2] = {{1, 0}, {1, 0}};
    utimensat(AT_FDCWD, entry.path().c_str(), old, 0);
  }
  const int64_t before = std::filesystem::exists(path("d.db")) ? records(path("d.db")) : 0;
  const Json tuned = json(arguments);
  EXPECT_EQ(tuned["trials"], 12);
  EXPECT_EQ(tuned["measured"], 12 - before);
  EXPECT_EQ(records(path("d.db")), 12);
  EXPECT_EQ(files_in(temporary_).size(), 0u);
  const Json again = json(arguments);
  EXPECT_EQ(again["measured"], 0);
  unsetenv("TMPDIR");
}

TEST_F(TuneTest, ASignalWhileCompilerAndDeviceOpenIsNoFailureOfTheirs) {
  setenv("TMPDIR", temporary_.c_str(), 1);
  const std::vector<std::vector<std::string>> verbs{tune(path("d.db"), {"--trials", "100000", "--patience", "0"}),
                                                    {"doctor", "--device", kDevice}};
  for (const auto& arguments : verbs) {
    for (const auto& [signal, status] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143), std::pair(SIGHUP, 129)}) {
      RunningTune running(arguments);
      // The first thing that a worker needs.
      while (std::filesystem::is_empty(temporary_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(running.end_by(signal), status) << arguments.front();
      EXPECT_EQ(files_in(temporary_).size(), 0u);
    }
  }
  unsetenv("TMPDIR");
  if (!std::filesystem::exists(path("d.db"))) return;
  const Json runs = json({"db", "runs", path("d.db")})["runs"];
  for (const Json& each : runs) EXPECT_EQ(each["end_reason"], "interrupted");
}

TEST_F(TuneTest, AHangUpThatIsIgnoredStaysIgnored) {
  RunningTune running(tune(path("d.db"), {"--trials", "6"}), -1, SIGHUP);
  while (!std::filesystem::exists(path("d.db"))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(running.end_by(SIGHUP), 0);
  EXPECT_EQ(records(path("d.db")), 6);
}

TEST_F(TuneTest, AnOutputThatNobodyReadsEndsNoRun) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  RunningTune running(tune(path("d.db"), {"--trials", "6"}), pipe_ends[1]);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  EXPECT_EQ(running.wait(), 128 + SIGPIPE);
  const Json stats = json({"db", "stats", path("d.db")});
  EXPECT_EQ(stats["records"], 6);
  EXPECT_EQ(stats["runs"][0]["end_reason"], "trials");
  EXPECT_EQ(files_in(temporary_).size(), 0u);
}

TEST_F(TuneTest, ADatabaseThatGoesWhileItIsWrittenToIsSaved) {
  RunningTune running(tune(path("d.db"), {"--trials", "100000", "--patience", "0"}));
  const auto has_records = [&] { return std::filesystem::exists(path("d.db")) && records(path("d.db")) > 2; };
  while (!has_records()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path("d.db") + suffix);
  EXPECT_EQ(running.wait(), 3);
  EXPECT_FALSE(std::filesystem::exists(path("d.db")));
  for (const std::string& name : files_in(folder_.path())) {
    if (!name.starts_with("d.db.rescued-")) continue;
    EXPECT_GT(records(path(name)), 2);
    return;
  }
  ADD_FAILURE() << "no copy";
}

TEST_F(TuneTest, S2TinySpaceSaysExhausted) {
  const std::string model = (test_data() / "models/digits_qat/model.onnx").string();
  const ProgramResult result = run({"tune", model, "--shape", "image=2,1,8,8", "--db", path("d.db"), "--device",
                                    kDevice, "--op", "quantize", "--trials", "100", "--jobs", "4"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ended: exhausted"));
  EXPECT_LT(records(path("d.db")), 100);
}

TEST_F(TuneTest, S5WhatIsLeftOfAModelIsTuned) {
  const std::string whole = (test_data() / "models/digits_qat/model.onnx").string(), odd = path("odd.onnx");
  std::string bytes = read_file(whole);
  const std::string known = "Flatten", unknown = "Flutter";
  for (size_t at = 0; (at = bytes.find(known, at)) != std::string::npos;) bytes.replace(at, known.size(), unknown);
  write_file(odd, bytes);
  const std::vector<std::string> shape{"--shape", "image=1,1,8,8"};
  const ProgramResult refused = run({"tune", odd, shape[0], shape[1], "--db", path("d.db"), "--device", kDevice});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("'flatten' (Flutter)"));
  EXPECT_THAT(refused.err, HasSubstr("--skip-unsupported"));

  std::set<std::string> all;
  const Json extracted = json({"extract", whole, shape[0], shape[1]});
  for (const Json& task : extracted["tasks"]) all.insert(task["key"]);
  const Json left = json({"extract", odd, shape[0], shape[1], "--skip-unsupported"});
  EXPECT_EQ(left["left_out"].size(), 4u) << left["left_out"];  // and the Gemm, Q and DQ that hang on it
  size_t marked = 0;
  for (const Json& node : left["onnx_nodes"])
    marked += node["precision"] == "left out" && node.contains("why_left_out");
  EXPECT_EQ(marked, 4u) << left["onnx_nodes"];
  size_t shared = 0;
  for (const Json& task : left["tasks"]) shared += all.count(task["key"]);
  EXPECT_EQ(shared, all.size() - 2);  // without the dense layer and the last DequantizeLinear
  const Json diff = json({"extract", odd, "--diff", whole, shape[0], shape[1], "--skip-unsupported"});
  // What was an input of the dense layer is a DequantizeLinear of its own now.
  EXPECT_EQ(diff["counts"], (Json{{"same", shared}, {"changed", 1}, {"new", 0}, {"gone", 1}}));
  EXPECT_EQ(diff["left_out"], left["left_out"]);

  const Json tuned = json({"tune", odd, shape[0], shape[1], "--skip-unsupported", "--db", path("d.db"), "--device",
                           kDevice, "--trials-per-task", "1"});
  EXPECT_THAT(err_, HasSubstr("left out"));
  EXPECT_EQ(tuned["tasks"].size(), left["tasks"].size());
  for (const Json& task : tuned["tasks"]) EXPECT_GT(task["ok"].get<int>(), 0) << task.dump();
}

}  // namespace
}  // namespace warpwright
