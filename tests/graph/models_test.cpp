// The real models: the integer rule's results bit for bit, through import, passes and reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "src/core/file.h"
#include "src/core/npy.h"
#include "src/graph/lowering.h"
#include "tests/graph/case_runner.h"

namespace warpwright {
namespace {

struct ModelCase {
  const char* folder;
  const char* input;
  Shape shape;
  std::vector<std::string> outputs;
};

/// Outputs by name, all checked against integer_NAME.npy; empty when the model is not there.
NamedTensors run_model(const std::filesystem::path& models, const ModelCase& model) {
  const auto folder = models / model.folder;
  const Program program = lower(import_onnx(folder / "model.onnx", {{model.input, model.shape}}));
  const Tensor input = read_npy(folder / (std::string("input_") + model.input + ".npy"));
  NamedTensors outputs = run_on_reference(program, {{model.input, input}});
  EXPECT_EQ(outputs.size(), model.outputs.size());
  for (const std::string& name : model.outputs) {
    EXPECT_EQ(difference(outputs.at(name), read_npy(folder / ("integer_" + name + ".npy"))), "") << model.folder;
  }
  return outputs;
}

std::vector<size_t> best_classes(const Tensor& scores) {
  const auto columns = static_cast<size_t>(scores.shape[1]);
  std::vector<size_t> best;
  for (auto row = scores.as<float>(); !row.empty(); row = row.subspan(columns)) {
    best.push_back(static_cast<size_t>(std::max_element(row.begin(), row.begin() + columns) - row.begin()));
  }
  return best;
}

const ModelCase kDigits{"digits_qat", "image", {1, 1, 8, 8}, {"logits"}};
const ModelCase kMixedShapes{"mixed_shapes", "input", {1, 3, 96, 160}, {"gemm_23", "averagepool_20"}};
const ModelCase kEfficientNet{"efficientnet_lite0", "input", {1, 3, 224, 224}, {"gemm_94"}};
const ModelCase kMobileNet{"mobilenet_v2_qoperator", "input", {1, 3, 224, 224}, {"gemm_100"}};
const ModelCase kResNet{"resnet50_qdq", "input", {1, 3, 224, 224}, {"gemm_122"}};

class Models : public testing::Test {
 protected:
  void SetUp() override {
    const auto shared = shared_folder();
    if (!shared) GTEST_SKIP() << "no folder of models";
    models_ = *shared / "models";
  }
  std::filesystem::path models_;
};

TEST_F(Models, EfficientNet) {
  const auto best = best_classes(run_model(models_, kEfficientNet).at("gemm_94"));
  EXPECT_EQ(best[0], 285u);
  EXPECT_EQ(best[1], 967u);
  EXPECT_EQ(best[2], 657u);
}

TEST_F(Models, MobileNetQOperator) { run_model(models_, kMobileNet); }
TEST_F(Models, ResNet50) { run_model(models_, kResNet); }

TEST(ShippedModels, MixedShapes) { run_model(test_data_folder() / "models", kMixedShapes); }

TEST(ShippedModels, DigitsWithTheirLabels) {
  const auto best = best_classes(run_model(test_data_folder() / "models", kDigits).at("logits"));
  // An .npy file of int64: the numbers are its last 8 * 360 bytes.
  const std::string bytes = read_file(test_data_folder() / "models/digits_qat/labels.npy");
  std::vector<int64_t> labels(best.size());
  ASSERT_GT(bytes.size(), labels.size() * 8);
  std::memcpy(labels.data(), bytes.data() + bytes.size() - labels.size() * 8, labels.size() * 8);
  size_t right = 0;
  for (size_t i = 0; i < best.size(); ++i) right += static_cast<int64_t>(best[i]) == labels[i] ? 1 : 0;
  EXPECT_EQ(best.size(), 360u);
  EXPECT_EQ(right, 354u);
}

/// examples/qat: what its training script exports is fused from end to end. scores.npy is the integer rule's result.
TEST(ShippedModels, QuantizationAwareTrainingIsFused) {
  const auto folder = std::filesystem::path(WARPWRIGHT_SOURCE_DIR) / "examples/qat";
  const Program program = lower(import_onnx(folder / "model.onnx", {{"image", {360, 1, 8, 8}}}));
  std::vector<OpKind> kinds;
  for (const ProgramStep& step : program.steps) kinds.push_back(step.workload.kind);
  const std::vector<OpKind> wanted{OpKind::quantize,     OpKind::conv2d, OpKind::conv2d,    OpKind::conv2d,
                                   OpKind::conv2d,       OpKind::conv2d, OpKind::concat,    OpKind::conv2d,
                                   OpKind::average_pool, OpKind::dense,  OpKind::dequantize};
  EXPECT_EQ(kinds, wanted);
  const NamedTensors outputs = run_on_reference(program, {{"image", read_npy(folder / "images.npy")}});
  EXPECT_EQ(difference(outputs.at("scores"), read_npy(folder / "scores.npy")), "");
}

}  // namespace
}  // namespace warpwright
