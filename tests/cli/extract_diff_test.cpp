// `extract NEW --diff OLD`: how much of an old database serves a new model.
#include "tests/cli/edited_model.h"
#include "tests/cli/program_fixture.h"

namespace warpwright {
namespace {

using ExtractDiff = ProgramTest;

TEST_F(ExtractDiff, SaysWhatChangedAndWhatStaysTheSame) {
  write_file(path("new.onnx"), with_other_strides(read_file(model_)));
  const std::string text = run({"extract", path("new.onnx"), "--diff", model_, "--shape", shape_});
  EXPECT_TRUE(text.ends_with("\n2 changed, 7 same\n")) << text;
  EXPECT_NE(text.find("same: 32.1 % of the multiply-adds"), std::string::npos) << text;
  const Json document = run_json({"extract", path("new.onnx"), "--diff", model_, "--shape", shape_});
  EXPECT_EQ(document["schema"], "warpwright.extract-diff/1");
  EXPECT_EQ(document["counts"], (Json{{"same", 7}, {"changed", 2}, {"new", 0}, {"gone", 0}}));
  EXPECT_NEAR(document["same_share_of_multiply_adds"].get<double>(), 104416.0 / 325600, 1e-9);
  std::map<std::string, Json> changed;  // by the first of their nodes
  for (const Json& task : document["tasks"]) {
    EXPECT_EQ(task["weight"], 1);
    if (task["change"] == "changed") changed[task["onnx_nodes"].at(0)] = task;
  }
  ASSERT_TRUE(changed.contains("conv4")) << document;
  EXPECT_EQ(changed["conv4"]["was"]["key"], tasks_[5].key);
  EXPECT_EQ(changed["conv4"]["old_weight"], 0);
}

TEST_F(ExtractDiff, NewWeightsChangeNoTask) {
  write_file(path("new.onnx"), retrained(read_file(model_), model_));
  const std::string text = run({"extract", path("new.onnx"), "--diff", model_, "--shape", shape_});
  EXPECT_TRUE(text.ends_with("\n0 changed, 9 same\n")) << text;
}

TEST_F(ExtractDiff, ShapesBindTheInputsOfBothModels) {
  write_file(path("new.onnx"), with_replaced(read_file(model_), "image", "photo"));
  const std::vector<std::string> diff{"extract", path("new.onnx"), "--diff", model_};
  auto both = diff, one = diff, unknown = diff;
  both.insert(both.end(), {"--shape", shape_, "--shape", "photo=1,1,8,8"});
  EXPECT_TRUE(run(both).ends_with("\n0 changed, 9 same\n"));
  // A file alone is left open: it is named.
  one.insert(one.end(), {"--shape", shape_});
  run(one, 2);
  EXPECT_TRUE(says("new.onnx: ") && says("--shape photo=1,1,8,8")) << err_;
  EXPECT_TRUE(is_one_error_line(err_)) << err_;
  unknown.insert(unknown.end(), {"--shape", shape_, "--shape", "text=1,1,8,8"});
  run(unknown, 2);
  EXPECT_TRUE(says("--shape text=1,1,8,8: neither model has an input of this name")) << err_;
}

TEST_F(ExtractDiff, WhatSaysNothingAboutTwoModelsIsRefused) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"-v"}, {"--nodes"}, {"--target", "rtx3090"}, {"--after", "fuse_maps"}}) {
    std::vector<std::string> arguments{"extract", model_, "--diff", model_, "--shape", shape_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run(arguments, 2);
    EXPECT_TRUE(says("--diff") && is_one_error_line(err_)) << err_;
  }
  run({"extract", model_, "--diff", path("absent.onnx"), "--shape", shape_}, 2);
  EXPECT_TRUE(says("absent.onnx")) << err_;
}

}  // namespace
}  // namespace warpwright
