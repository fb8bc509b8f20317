// `verify --per-layer --dump-tensors`: the first wrong kernel with all that is known of it, and files to look at.
#include <fmt/format.h>

#include "src/core/hash.h"
#include "src/core/npy.h"
#include "tests/cli/edited_model.h"
#include "tests/cli/program_fixture.h"

namespace warpwright {
namespace {

/// A package of other weights in one convolution, step 4, beside the model without them: four images in two batches.
class VerifyLayers : public ProgramTest {
 protected:
  VerifyLayers() {
    write_file(path("new.onnx"), retrained(read_file(model_), model_));
    Tensor images(DType::f32, {4, 1, 8, 8});
    for (size_t i = 0; i < images.as<float>().size(); ++i) images.as<float>()[i] = static_cast<float>(i % 17) / 16.0f;
    write_npy(path("images.npy"), images);
  }
  void build_new(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"build",    path("new.onnx"), "--shape", "image=2,1,8,8",
                                       "--target", "rtx4090",        "-o",      path("new.pkg")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run(arguments);
  }
  std::vector<std::string> verify(const std::string& model, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{
        "verify", model, path("new.pkg"), "--device", "virtual:rtx4090", "--input", "image=" + path("images.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<std::string> dump() const { return {"--per-layer", "--dump-tensors", path("dump")}; }
};

TEST_F(VerifyLayers, AllThatIsKnownOfTheFirstWrongKernelIsTold) {
  build_new();
  const Json document = run_json(verify(model_, {"--per-layer"}), 1);
  ASSERT_EQ(document["layers"].size(), 1u) << document["layers"];
  const Json& wrong = document["first_wrong_kernel"];
  EXPECT_EQ(wrong["step"], 4);
  EXPECT_EQ(wrong["batch"], 0);
  EXPECT_EQ(wrong["shape"], Json({2, 4, 4, 32}));
  EXPECT_EQ(wrong["onnx_nodes"].at(0), "conv3");
  EXPECT_EQ(wrong["record"], "");
  EXPECT_EQ(wrong["source_sha256"].get<std::string>().size(), 64u);
  // Within the network the fault goes on from there.
  EXPECT_EQ(document["chained"]["first"]["step"], 4);
  EXPECT_EQ(document["chained"]["first"]["first_wrong"], wrong["first_wrong"]);
  EXPECT_EQ(document["chained"]["wrong_steps"].at(0), 4);
  EXPECT_GT(document["chained"]["wrong_steps"].size(), 1u);
  const std::string text = run(verify(model_, {"--per-layer"}), 1);
  EXPECT_NE(
      text.find("first wrong kernel: step 4 (conv2d 2x4x4x32 -> 4x4x32 k1x1 s1 s8*s8 +rounded), ONNX nodes conv3"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(fmt::format("got {}, expected {} at {} of [2,4,4,32] in batch 0; {} of 1024 wrong",
                                  wrong["first_wrong"]["got"].get<std::string>(),
                                  wrong["first_wrong"]["expected"].get<std::string>(),
                                  wrong["first_wrong"]["index"].get<std::string>(), wrong["wrong"].get<int>())),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  record none\n"), std::string::npos) << text;
  EXPECT_NE(text.find("8 of 9 kernels right on the reference's inputs"), std::string::npos) << text;
  EXPECT_NE(text.find(fmt::format("{} of 9 steps right in the network", 9 - document["chained"]["wrong_steps"].size())),
            std::string::npos)
      << text;
}

TEST_F(VerifyLayers, TheRecordBehindAWrongKernelIsNamed) {
  const auto database = open_database(path("some.db"), OpenMode::read_write);
  const Program program = lower(import_onnx(model_, {{"image", {2, 1, 8, 8}}}));
  std::string record_key;
  for (const Task& task : extract_tasks(program)) {
    const int64_t run = database->begin_run({task.key, "NVIDIA GeForce RTX 4090", 1, Json::object()}, "model").id;
    double us = 10;
    for (const Config& config : some_configs(task, target_preset("rtx4090"), 2)) {
      Record record = task_record(task, config, {us, us, us});
      record.run_id = run;
      database->add(record);
      us /= 2;
    }
  }
  database->close();
  build_new({"--db", path("some.db")});
  const Json wrong = run_json(verify(model_, {"--per-layer"}), 1)["first_wrong_kernel"];
  const Json record = run_json({"db", "show", path("some.db"), wrong["record"].get<std::string>()});
  EXPECT_EQ(record["config"], wrong["config"]);
  EXPECT_EQ(record["workload_key"], key(program.steps[4].workload));
}

TEST_F(VerifyLayers, DumpHoldsWhatTheReportSpeaksOf) {
  build_new();
  std::vector<std::string> arguments = verify(model_, dump());
  const Json document = run_json(arguments, 1);
  const std::vector<std::string> files = files_in(path("dump"));
  EXPECT_EQ(document["dump"]["files"].size(), files.size());
  // The reference's output of nine steps; of the wrong one the kernel's alone, the network's, and the source.
  EXPECT_EQ(files.size(), 12u);
  std::string expected, alone, source;
  for (const std::string& file : files) {
    EXPECT_TRUE(file.starts_with("step-000")) << file;
    if (!file.starts_with("step-0004.")) continue;
    EXPECT_NE(file.find(".conv3+"), std::string::npos) << file;
    if (file.ends_with(".expected.npy")) expected = path("dump/" + file);
    if (file.ends_with(".alone.npy")) alone = path("dump/" + file);
    if (file.ends_with(".cu")) source = path("dump/" + file);
  }
  const Tensor ours = read_npy(alone), theirs = read_npy(expected);
  EXPECT_EQ(ours.shape, (Shape{2, 4, 4, 32}));
  EXPECT_EQ(theirs.shape, ours.shape);
  int64_t wrong = 0;
  for (size_t i = 0; i < ours.bytes.size(); ++i) wrong += ours.bytes[i] != theirs.bytes[i];
  EXPECT_EQ(document["first_wrong_kernel"]["wrong"], wrong);
  EXPECT_EQ(document["first_wrong_kernel"]["source_sha256"], sha256_hex(read_file(source)));
}

TEST_F(VerifyLayers, WhereAllIsRightTheReferenceAloneIsWritten) {
  build_new();
  const std::string text = run(verify(path("new.onnx"), dump()));
  EXPECT_NE(text.find("9 of 9 kernels right on the reference's inputs"), std::string::npos) << text;
  EXPECT_NE(text.find("9 of 9 steps right in the network"), std::string::npos) << text;
  EXPECT_NE(text.find("9 files written to " + path("dump")), std::string::npos) << text;
  for (const std::string& file : files_in(path("dump"))) EXPECT_TRUE(file.ends_with(".expected.npy")) << file;
}

TEST_F(VerifyLayers, AStepBetweenNodesIsCalledByItsTensor) {
  const std::string folder = (test_data() / "models/movement/").string(), model = folder + "model.onnx";
  run({"build", model, "--target", "rtx4090", "-o", path("new.pkg")});
  run({"verify", model, path("new.pkg"), "--device", "virtual:rtx4090", "--fast", "--input",
       "x=" + folder + "input_x.npy", "--per-layer", "--dump-tensors", path("dump")});
  const std::vector<std::string> files = files_in(path("dump"));
  EXPECT_EQ(files.size(), 35u);
  for (const std::string& file : files) EXPECT_EQ(file.find(".."), std::string::npos) << file;
}

TEST_F(VerifyLayers, ADumpOverwritesNothingAndLeavesItsFolderNever) {
  build_new();
  // A node that is called like a path.
  write_file(path("named.onnx"), with_replaced(read_file(model_),
                                               "\x1a\x05"
                                               "conv3",
                                               "\x1a\x05"
                                               "../.."));
  const std::vector<std::string> before = files_in(folder_.path());
  run(verify(path("named.onnx"), dump()), 1);
  std::vector<std::string> after = files_in(folder_.path());
  EXPECT_EQ(after.size(), before.size() + 13);  // and the folder
  const std::vector<std::string> files = files_in(path("dump"));
  EXPECT_EQ(files.size(), 12u);
  EXPECT_TRUE(std::any_of(files.begin(), files.end(), [](const std::string& file) {
    return file.starts_with("step-0004.batch-0..._..");
  })) << files[4];
  // Again: the folder holds something now.
  run(verify(path("named.onnx"), dump()), 2);
  EXPECT_TRUE(says("--dump-tensors " + path("dump") + ": the folder is not empty")) << err_;
  EXPECT_TRUE(is_one_error_line(err_)) << err_;
  EXPECT_EQ(files_in(path("dump")), files);
  run(verify(model_, {"--per-layer", "--dump-tensors", path("images.npy")}), 3);
  EXPECT_TRUE(says("images.npy: the output folder cannot be made")) << err_;
  run(verify(model_, {"--dump-tensors", path("other")}), 2);
  EXPECT_TRUE(says("--dump-tensors requires --per-layer")) << err_;
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

}  // namespace
}  // namespace warpwright
