// Bad models and wrong flags: always a UsageError that names the culprit, whatever the bytes are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/graph/lowering.h"
#include "tests/graph/case_runner.h"
#include "tests/graph/graph_builder.h"

namespace warpwright {
namespace {

using testing::HasSubstr;

std::filesystem::path digits_path() { return test_data_folder() / "models/digits_qat/model.onnx"; }

/// What the refusal says; empty when the model is taken.
std::string refusal(const std::filesystem::path& path, const ShapeBindings& shapes) {
  try {
    lower(import_onnx(path, shapes));
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Refusal, DynamicShapeNamesInputAndFlag) {
  EXPECT_THAT(refusal(digits_path(), {}), HasSubstr("\"image\""));
  EXPECT_THAT(refusal(digits_path(), {}), HasSubstr("--shape image=1,1,8,8"));
}

TEST(Refusal, BindingsMustFit) {
  EXPECT_THAT(refusal(digits_path(), {{"image", {1, 1, 8, 8}}, {"picture", {1}}}), HasSubstr("picture"));
  EXPECT_THAT(refusal(digits_path(), {{"image", {1, 1, 8, 9}}}), HasSubstr("[batch,1,8,8]"));
  EXPECT_THAT(refusal(digits_path(), {{"image", {1, 1, 8}}}), HasSubstr("--shape image=1,1,8"));
  for (int64_t batch : {int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    EXPECT_THAT(refusal(digits_path(), {{"image", {batch, 1, 8, 8}}}), HasSubstr("\"image\"")) << batch;
  }
  EXPECT_EQ(refusal(digits_path(), {{"image", {3, 1, 8, 8}}}), "");
}

TEST(Refusal, ResultsOfConstantsAloneAreNamed) {
  GraphBuilder builder;
  builder.output(builder.quantize(builder.real_constant("c", {4}, {0, 1, 2, 3}), "codes", DType::u8, 0.5f, 3));
  try {
    lower(std::move(builder.graph()));
    FAIL() << "a graph without inputs was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"codes\""));
  }
}

TEST(Refusal, MissingFileAndFolder) {
  EXPECT_THAT(refusal("/no/such/model.onnx", {}), HasSubstr("/no/such/model.onnx"));
  EXPECT_THAT(refusal(test_data_folder(), {}), HasSubstr("folder"));
}

TEST(Refusal, NotOnnx) {
  const TemporaryFolder folder;
  write_file(folder.path() / "text.onnx", "This is no model, only some text that is long enough.\n");
  EXPECT_THAT(refusal(folder.path() / "text.onnx", {}), HasSubstr("no complete ONNX model"));
}

TEST(Refusal, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  const std::string bytes = read_file(digits_path());
  const auto path = folder.path() / "cut.onnx";
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 40) {
    write_file(path, std::string_view(bytes).substr(0, size));
    EXPECT_NE(refusal(path, {{"image", {1, 1, 8, 8}}}), "") << size << " bytes";
  }
}

TEST(Refusal, DamagedModelsAreTakenOrRefusedButNeverElse) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "damaged.onnx";
  std::mt19937 random(11);
  for (const char* name : {"block_qoperator", "conv_u8s8_channel_bias", "edge_texts", "hardswish", "concat_ties"}) {
    const std::string bytes = read_file(test_data_folder() / "cases" / name / "model.onnx");
    for (int round = 0; round < 60; ++round) {
      std::string damaged = bytes;
      for (int hits = 0; hits < 3; ++hits) damaged[random() % damaged.size()] = static_cast<char>(random());
      write_file(path, damaged);
      EXPECT_NO_THROW(refusal(path, {})) << name << " round " << round;
    }
  }
}

TEST(Refusal, DropoutInTraining) {
  const auto folder = test_data_folder() / "models/dropout";
  EXPECT_EQ(refusal(folder / "training_false.onnx", {}), "");
  EXPECT_THAT(refusal(folder / "training_true.onnx", {}), HasSubstr("'drop' (Dropout): training_mode"));
}

TEST(Refusal, AllUnsupportedNodesStandInOneMessage) {
  const std::string text = refusal(test_data_folder() / "cases/bad_unknown_operators/model.onnx", {});
  EXPECT_THAT(text, HasSubstr("'Conv_conv' (Convolve)"));
  EXPECT_THAT(text, HasSubstr("'fancy_node' (FancyNorm)"));
  EXPECT_THAT(text, HasSubstr("'sum_node' (Einsum2)"));
}

}  // namespace
}  // namespace warpwright
