// The main path on small networks: extract, tune, build, run, bench, verify, db, as a user types them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <csignal>

#include "src/core/file.h"
#include "src/core/json.h"
#include "src/core/npy.h"
#include "src/runtime/package.h"
#include "tests/cli/edited_model.h"
#include "tests/cli/program.h"

namespace warpwright {
namespace {

constexpr const char* kDevice = "virtual:rtx4090";

class MainPath : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// Runs and expects success; gives stdout.
  std::string run(const std::vector<std::string>& arguments, int status = 0) {
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.status, status) << result.err << result.out;
    err_ = result.err;
    return result.out;
  }
  Json run_json(std::vector<std::string> arguments, int status = 0) {
    arguments.push_back("--json");
    const Json json = Json::parse(run(arguments, status), nullptr, false);
    EXPECT_FALSE(json.is_discarded());
    return json;
  }

  TemporaryFolder folder_{"warpwright-main-path"};
  std::string err_;
  const std::string case_ = (test_data() / "cases/block_residual_unrounded_s8").string();
  const std::string model_ = case_ + "/model.onnx";
  const std::string input_ = "x=" + case_ + "/input_0_x.npy";
};

TEST_F(MainPath, EveryVerbHasHelp) {
  const std::string all = run({"--help"});
  for (const char* verb : {"devices", "extract", "tune", "build", "run", "bench", "verify", "db"}) {
    EXPECT_NE(all.find(verb), std::string::npos);
    EXPECT_NE(run({verb, "--help"}), "");
  }
  EXPECT_EQ(all.find("worker"), std::string::npos);
}

TEST_F(MainPath, DevicesListsTheVirtualOnes) {
  const Json json = run_json({"devices"});
  EXPECT_EQ(json["schema"], "warpwright.devices/1");
  bool found = false;
  for (const Json& device : json["devices"]) found = found || device["name"] == kDevice;
  EXPECT_TRUE(found);
}

TEST_F(MainPath, ExtractListsTasksAndGraphs) {
  const Json json = run_json({"extract", model_});
  EXPECT_EQ(json["schema"], "warpwright.extract/1");
  ASSERT_FALSE(json["tasks"].empty());
  for (const Json& task : json["tasks"]) {
    EXPECT_EQ(task["key"].get<std::string>().substr(0, 3), "w1-");
    EXPECT_GE(task["families"].size(), 1u);
    EXPECT_GE(task["other_families"].size(), 1u);
    for (const Json& family : task["families"]) EXPECT_GE(family["legal"], 1) << family;
    for (const Json& family : task["other_families"]) EXPECT_NE(family["why"], "") << family;
  }
  EXPECT_NE(run({"extract", model_, "-v"}).find("layout_change: no, "), std::string::npos);
  EXPECT_NE(run({"extract", model_}).find("multiply-adds"), std::string::npos);
}

TEST_F(MainPath, RunOnTheReferenceGivesTheExpectedBits) {
  run({"run", model_, "--input", input_, "--output", path("out")});
  EXPECT_EQ(read_npy(path("out/y.npy")), read_npy(case_ + "/expected_0_y.npy"));
  run({"verify", model_, "reference", "--input", input_, "--expect", "y=" + case_ + "/expected_0_y.npy"});
  Tensor wrong = read_npy(case_ + "/expected_0_y.npy");
  wrong.bytes[wrong.bytes.size() / 2] ^= std::byte{1};
  write_npy(path("wrong.npy"), wrong);
  const Json json =
      run_json({"verify", model_, "reference", "--input", input_, "--expect", "y=" + path("wrong.npy")}, 1);
  EXPECT_EQ(json["outputs"]["y"]["wrong"], 1);
  EXPECT_FALSE(json["right"]);
}

TEST_F(MainPath, DefaultPackageIsBitExactAndReproducible) {
  const std::vector<std::string> build{"build", model_, "--target", "rtx4090", "-o"};
  auto first = build, second = build;
  first.push_back(path("a.pkg")), second.push_back(path("b.pkg"));
  const Json built = run_json(first);
  EXPECT_EQ(built["schema"], "warpwright.build/1");
  for (const Json& kernel : built["kernels"]) EXPECT_EQ(kernel["rung"], "default");
  run(second);
  EXPECT_EQ(read_file(path("a.pkg")), read_file(path("b.pkg")));
  // Again on top: the code is compared with what was there.
  EXPECT_NE(run(first).find("cubins unchanged"), std::string::npos);
  run({"run", path("a.pkg"), "--device", kDevice, "--input", input_, "--output", path("out")});
  EXPECT_EQ(read_npy(path("out/y.npy")), read_npy(case_ + "/expected_0_y.npy"));
  run({"verify", model_, path("a.pkg"), "--device", kDevice, "--input", input_, "--per-layer"});
  const Json bench = run_json({"bench", path("a.pkg"), "--device", kDevice});
  EXPECT_TRUE(bench["estimate"]);
  double sum = 0;
  for (const Json& kernel : bench["kernels"]) sum += kernel["us"].get<double>();
  EXPECT_NEAR(sum + bench["between_kernels_us"].get<double>(), bench["total"]["median_us"].get<double>(), 1e-6 * sum);
  EXPECT_NE(run({"bench", path("a.pkg"), path("b.pkg"), "--device", kDevice}).find("first / second"),
            std::string::npos);
}

TEST_F(MainPath, TunedRecordsServeTheBuild) {
  const std::string db = path("d.db");
  const std::vector<std::string> tune{"tune", model_,   "--db", db, "--device", kDevice, "--trials-per-task",
                                      "2",    "--seed", "3"};
  const Json tuned = run_json(tune);
  EXPECT_EQ(tuned["schema"], "warpwright.tune/1");
  const auto trials = tuned["trials"].get<int64_t>();
  EXPECT_GT(trials, 0);
  // The same again: complete, nothing measured.
  EXPECT_EQ(run_json(tune)["trials"], trials);
  EXPECT_NE(err_.find("is complete"), std::string::npos) << err_;
  const Json stats = run_json({"db", "stats", db});
  EXPECT_EQ(stats["records"], trials);
  EXPECT_EQ(stats["runs"].size(), 1u);
  const Json best = run_json({"db", "best", db});
  ASSERT_FALSE(best["records"].empty());
  const auto record = best["records"][0]["key"].get<std::string>();
  EXPECT_EQ(run_json({"db", "show", db, record.substr(0, 16)})["key"], record);
  EXPECT_EQ(run_json({"db", "list", db, "--outcome", "ok", "--limit", "1"})["records"].size(), 1u);
  // For the card the virtual evidence serves, but does not count; for the virtual device it does.
  run({"build", model_, "--db", db, "--target", "rtx4090", "-o", path("p.pkg"), "--require-hit", "exact"}, 1);
  EXPECT_FALSE(std::filesystem::exists(path("p.pkg")));
  run({"build", model_, "--db", db, "--target", "rtx4090", "-o", path("p.pkg"), "--require-hit", "exact", "--evidence",
       "any"});
  const Json built = run_json({"build", model_, "--db", db, "--target", kDevice, "-o", path("v.pkg"), "--require-hit",
                               "exact", "--write-lock", path("v.lock")});
  for (const Json& kernel : built["kernels"]) {
    EXPECT_EQ(kernel["rung"], "exact");
    EXPECT_EQ(kernel["evidence"], "virtual");
    EXPECT_EQ(kernel["code"], "same code as measured");
  }
  // The lock needs no database and gives the same bytes.
  const Json locked = run_json({"build", model_, "--lock", path("v.lock"), "-o", path("l.pkg")});
  EXPECT_EQ(locked["unchanged_cubins"], built["kernels"].size());
  EXPECT_EQ(locked["target"], kDevice);
  run({"verify", model_, path("l.pkg"), "--device", kDevice, "--input", input_});
}

TEST_F(MainPath, NewWeightsKeepTheCode) {
  const std::string model = (test_data() / "models/digits_qat/model.onnx").string();
  const std::string changed = retrained(read_file(model), model);
  ASSERT_NE(changed, read_file(model));
  write_file(path("new.onnx"), changed);
  const std::vector<std::string> shape{"--shape", "image=2,1,8,8"};
  const auto build = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "build");
    arguments.insert(arguments.end(), shape.begin(), shape.end());
    return run(arguments);
  };
  build({model, "--target", kDevice, "-o", path("old.pkg"), "--write-lock", path("old.lock")});
  const std::string text = build({path("new.onnx"), "--lock", path("old.lock"), "-o", path("new.pkg")});
  const size_t kernels = PackageFile(path("new.pkg")).manifest()["kernels"].size();
  EXPECT_NE(text.find(fmt::format("{0} of {0} cubins unchanged", kernels)), std::string::npos) << text;
  Tensor images(DType::f32, {4, 1, 8, 8});
  for (size_t i = 0; i < images.as<float>().size(); ++i) images.as<float>()[i] = static_cast<float>(i % 17) / 16.0f;
  write_npy(path("images.npy"), images);
  const std::vector<std::string> verify{"--device", kDevice, "--input", "image=" + path("images.npy"), "--per-layer"};
  std::vector<std::string> right{"verify", path("new.onnx"), path("new.pkg")}, wrong{"verify", model, path("new.pkg")};
  right.insert(right.end(), verify.begin(), verify.end());
  wrong.insert(wrong.end(), verify.begin(), verify.end());
  run(right);
  // The new package is not the old model, and the first kernel that differs is named.
  EXPECT_NE(run(wrong, 1).find("first wrong kernel: step"), std::string::npos);
}

TEST_F(MainPath, TargetsMayComeFromFiles) {
  write_file(path("card.json"), run({"devices", "--device", kDevice, "--json"}));
  const Json built = run_json({"build", model_, "--target", path("card.json"), "--dry-run"});
  EXPECT_EQ(built["target"], "rtx4090");
  EXPECT_EQ(files_in(folder_.path()), std::vector<std::string>{"card.json"});
}

TEST_F(MainPath, SignalsEndTuneWithItsSummary) {
  for (const auto& [signal, status] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result = interrupt_program(
        {"tune", model_, "--db", path("i.db"), "--device", kDevice, "--trials", "100000", "--patience", "0"}, signal,
        3);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.out.find("ended: interrupted"), std::string::npos) << result.out << result.err;
    EXPECT_LT(elapsed.count(), 3 + 8);
  }
  EXPECT_EQ(files_in(folder_.path()), std::vector<std::string>{"i.db"});
}

TEST_F(MainPath, SignalDuringCompilationLeavesNoTemporaryFolder) {
  const std::filesystem::path temporary = folder_.path() / "tmp", data = test_data() / "models/mixed_shapes";
  std::filesystem::create_directory(temporary);
  const char* before = std::getenv("TMPDIR");
  const std::string restored = before ? before : "";
  setenv("TMPDIR", temporary.c_str(), 1);
  const ProgramResult result =
      interrupt_program({"run", (data / "model.onnx").string(), "--input",
                         "input=" + (data / "input_input.npy").string(), "--device", kDevice, "--output", path("out")},
                        SIGINT, 1);
  before ? setenv("TMPDIR", restored.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_TRUE(result.status == -SIGINT || result.status == 0) << result.status << result.err;  // 0: it was faster
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

}  // namespace
}  // namespace warpwright
