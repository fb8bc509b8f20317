// QuantizeLinear and DequantizeLinear in the forms that exporters write, against plain integers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kUint8 = onnx_type<uint8_t>();
constexpr float kXScale = 0.5f, kYScale = 2.0f;
constexpr int kXZero = 3, kYZero = 10;
constexpr size_t kChannels = 3, kOutputs = 2;

const std::vector<uint8_t> kCodes{0, 7, 255, 3, 128, 19};       // two rows of three channels
const std::vector<uint8_t> kWeights{200, 17, 90, 4, 131, 250};  // [2][3]
const std::vector<int32_t> kBias{-40, 1000};

struct Affine {
  std::vector<float> scale{0.25f, 0.75f};
  std::vector<int32_t> zero_point{0, 0};
  std::vector<int32_t> bias{0, 0};  // of scale x_scale * scale
};

/// y[row][k] by the rule of products.
std::vector<uint8_t> product(const Affine& weights) {
  std::vector<uint8_t> y;
  for (size_t row = 0; row < 2; ++row) {
    for (size_t k = 0; k < kOutputs; ++k) {
      int32_t sum = weights.bias[k];
      for (size_t c = 0; c < kChannels; ++c) {
        sum += (int32_t{kCodes[row * kChannels + c]} - kXZero) *
               (int32_t{kWeights[k * kChannels + c]} - weights.zero_point[k]);
      }
      const float value = std::nearbyint(static_cast<float>(sum) * ((kXScale * weights.scale[k]) / kYScale));
      y.push_back(static_cast<uint8_t>(std::fmin(std::fmax(value, -kYZero), 255 - kYZero) + kYZero));
    }
  }
  return y;
}

/// Codes x [2,3,1] by DequantizeLinear, "product" over them, QuantizeLinear: what every model here shares.
class Forms : public testing::Test {
 protected:
  static ModelBuilder begin(int64_t opset = 13) {
    ModelBuilder model(opset);
    model.input("x", kUint8, {2, kChannels, 1});
    model.constant<float>("x_scale", {}, {kXScale});
    model.constant<uint8_t>("x_zero", {}, {kXZero});
    model.constant<float>("y_scale", {}, {kYScale});
    model.constant<uint8_t>("y_zero", {}, {kYZero});
    model.node("DequantizeLinear", {"x", "x_scale", "x_zero"}, {"x_real"});
    model.constant<uint8_t>("w", {kOutputs, kChannels, 1}, kWeights);
    return model;
  }
  static void end(ModelBuilder& model, const std::vector<std::string>& conv_inputs) {
    model.node("Conv", conv_inputs, {"product"});
    model.node("QuantizeLinear", {"product", "y_scale", "y_zero"}, {"y"});
    model.output("y");
  }
  static std::vector<uint8_t> run(const ModelBuilder& model) {
    return values_of<uint8_t>(model.run({{"x", tensor_of(DType::u8, {2, kChannels, 1}, kCodes)}}));
  }
  /// A convolution whose weights have these scales and zero points, named "w_scale" and "w_zero".
  static ModelBuilder with_weights(const Shape& scale_shape, const std::vector<float>& scale,
                                   const std::optional<std::vector<uint8_t>>& zero_point, int64_t axis) {
    ModelBuilder model = begin();
    model.constant<float>("w_scale", scale_shape, scale);
    if (zero_point) model.constant<uint8_t>("w_zero", scale_shape, *zero_point);
    onnx::NodeProto& node = model.node("DequantizeLinear", {"w", "w_scale"}, {"w_real"});
    if (zero_point) node.add_input("w_zero");
    set(node, "axis", axis);
    end(model, {"x_real", "w_real"});
    return model;
  }
};

TEST_F(Forms, T15ConvTakesWeightZeroPointsThatDiffer) {
  EXPECT_EQ(run(with_weights({2}, {0.25f, 0.75f}, {{100, 31}}, 0)), product({{0.25f, 0.75f}, {100, 31}}));
  EXPECT_EQ(run(with_weights({}, {0.25f}, {{100}}, 1)), product({{0.25f, 0.25f}, {100, 100}}));
}

TEST_F(Forms, T15MatMulTakesWeightZeroPointsThatDiffer) {
  ModelBuilder model = begin();
  model.constant<float>("w_scale", {2}, {0.25f, 0.75f});
  model.constant<uint8_t>("w_zero", {2}, {100, 31});
  set(model.node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"w_real"}), "axis", int64_t{0});
  model.constant<int64_t>("rows", {2}, {2, kChannels});
  model.constant<int64_t>("matrix", {2}, {kOutputs, kChannels});
  model.node("Reshape", {"x_real", "rows"}, {"x_rows"});
  model.node("Reshape", {"w_real", "matrix"}, {"w_matrix"});
  model.node("Transpose", {"w_matrix"}, {"w_columns"});
  model.node("MatMul", {"x_rows", "w_columns"}, {"product"});
  model.node("QuantizeLinear", {"product", "y_scale", "y_zero"}, {"y"});
  model.output("y");
  EXPECT_EQ(run(model), product({{0.25f, 0.75f}, {100, 31}}));
}

TEST_F(Forms, T16ScalesOfEveryShape) {
  const auto one = product({{0.25f, 0.25f}});
  EXPECT_EQ(run(with_weights({}, {0.25f}, std::nullopt, 1)), one);
  EXPECT_EQ(run(with_weights({1}, {0.25f}, std::nullopt, 1)), one);
  EXPECT_EQ(run(with_weights({1}, {0.25f}, {{0}}, 0)), one);
  EXPECT_EQ(run(with_weights({2}, {0.25f, 0.75f}, std::nullopt, 0)), product({}));
  EXPECT_EQ(run(with_weights({2}, {0.25f, 0.75f}, {{0, 0}}, -3)), product({}));
}

TEST_F(Forms, T16AxisThatDoesNotFitIsNamed) {
  EXPECT_THAT(with_weights({2}, {0.25f, 0.75f}, std::nullopt, 1).refusal(),
              AllOf(HasSubstr("node_w_real"), HasSubstr("w_scale")));
  EXPECT_THAT(with_weights({2}, {0.25f, 0.75f}, std::nullopt, 3).refusal(), HasSubstr("node_w_real"));
  EXPECT_THAT(with_weights({3}, {1, 1, 1}, std::nullopt, 0).refusal(), HasSubstr("w_scale"));
  EXPECT_THAT(with_weights({2}, {0.25f, 0}, std::nullopt, 0).refusal(), HasSubstr("w_scale"));
}

TEST_F(Forms, T16ScalesFromConstantNodesBehindFoldedChains) {
  ModelBuilder model = begin();
  set(model.node("Constant", {}, {"raw"}), "value", tensor_proto<float>("", {2, 1}, {0.125f, 0.375f}));
  model.node("Identity", {"raw"}, {"same"});
  model.node("Add", {"same", "same"}, {"doubled"});
  model.constant<int64_t>("flat", {1}, {-1});
  model.node("Reshape", {"doubled", "flat"}, {"w_scale"});
  set(model.node("Constant", {}, {"zeros"}), "value", tensor_proto<int64_t>("", {2}, {100, 31}));
  set(model.node("Cast", {"zeros"}, {"w_zero"}), "to", int64_t{kUint8});
  set(model.node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"w_real"}), "axis", int64_t{0});
  end(model, {"x_real", "w_real"});
  EXPECT_EQ(run(model), product({{0.25f, 0.75f}, {100, 31}}));
}

TEST_F(Forms, T16AbsentAndEmptyZeroPointsAreZero) {
  for (const bool empty_name : {false, true}) {
    ModelBuilder model;
    model.input("x", onnx_type<float>(), {4});
    model.constant<float>("scale", {}, {0.5f});
    std::vector<std::string> inputs{"x", "scale"};
    if (empty_name) inputs.emplace_back();
    model.node("QuantizeLinear", inputs, {"y"});
    model.output("y");
    const Tensor x = tensor_of<float>(DType::f32, {4}, {-3, 0.25f, 0.75f, 1000});
    EXPECT_EQ(values_of<uint8_t>(model.run({{"x", x}})), (std::vector<uint8_t>{0, 0, 2, 255}));
  }
}

class Biases : public Forms {
 protected:
  static ModelBuilder with_bias(const std::vector<std::string>& nodes_inputs) {
    ModelBuilder model = begin();
    model.constant<float>("w_scale", {2}, {0.25f, 0.75f});
    set(model.node("DequantizeLinear", {"w", "w_scale"}, {"w_real"}), "axis", int64_t{0});
    if (!nodes_inputs.empty()) set(model.node("DequantizeLinear", nodes_inputs, {"bias"}), "axis", int64_t{0});
    end(model, {"x_real", "w_real", "bias"});
    return model;
  }
};

TEST_F(Biases, T17Int32OfTheRightScale) {
  ModelBuilder model = with_bias({"codes", "bias_scale"});
  model.constant<int32_t>("codes", {2}, kBias);
  model.constant<float>("bias_scale", {2}, {kXScale * 0.25f, kXScale * 0.75f});
  EXPECT_EQ(run(model), product({{0.25f, 0.75f}, {0, 0}, kBias}));
}

TEST_F(Biases, T17Int32OfAnotherScaleIsRescaled) {
  ModelBuilder model = with_bias({"codes", "bias_scale"});
  model.constant<int32_t>("codes", {2}, {-40, 1000});
  model.constant<float>("bias_scale", {}, {kXScale * 0.75f});
  EXPECT_EQ(run(model), product({{0.25f, 0.75f}, {0, 0}, {-120, 1000}}));
}

TEST_F(Biases, T17Float) {
  ModelBuilder model = with_bias({});
  model.constant<float>("bias", {2}, {-40 * kXScale * 0.25f, 1000 * kXScale * 0.75f});
  EXPECT_EQ(run(model), product({{0.25f, 0.75f}, {0, 0}, kBias}));
}

TEST_F(Biases, T17Saturated) {
  ModelBuilder model = with_bias({});
  model.constant<float>("bias", {2}, {-1e30f, 0});
  const std::vector<uint8_t> y = run(model);
  EXPECT_EQ(y[0], 0);  // its first element in channel 0: the bias alone decides
  EXPECT_EQ(y[1], product({})[1]);
}

TEST_F(Biases, T17OfQLinearConv) {
  for (const bool per_channel : {false, true}) {
    ModelBuilder model;
    model.input("x", kUint8, {2, kChannels, 1});
    model.constant<float>("x_scale", {}, {kXScale});
    model.constant<uint8_t>("x_zero", {}, {kXZero});
    model.constant<uint8_t>("w", {kOutputs, kChannels, 1}, kWeights);
    const std::vector<float> scale = per_channel ? std::vector{0.25f, 0.75f} : std::vector{0.25f};
    const auto count = static_cast<int64_t>(scale.size());
    model.constant<float>("w_scale", {count}, scale);
    model.constant<uint8_t>("w_zero", {count}, std::vector<uint8_t>(scale.size(), 9));
    model.constant<int32_t>("bias", {2}, kBias);
    model.constant<float>("y_scale", {}, {kYScale});
    model.constant<uint8_t>("y_zero", {}, {kYZero});
    model.node("QLinearConv", {"x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"}, {"y"});
    model.output("y");
    EXPECT_EQ(run(model), product({{0.25f, per_channel ? 0.75f : 0.25f}, {9, 9}, kBias})) << per_channel;
  }
}

/// Relu or Clip between a float32 input and QuantizeLinear.
std::vector<uint8_t> quantized(const std::vector<float>& x, const std::string& between, float scale, uint8_t zero) {
  ModelBuilder model;
  const auto count = static_cast<int64_t>(x.size());
  model.input("x", onnx_type<float>(), {1, count});
  model.constant<float>("one", {}, {1});
  model.constant<uint8_t>("middle", {}, {128});
  model.constant<float>("scale", {}, {scale});
  model.constant<uint8_t>("zero", {}, {zero});
  model.node("QuantizeLinear", {"x", "one", "middle"}, {"codes"});
  model.node("DequantizeLinear", {"codes", "one", "middle"}, {"real"});
  model.node(between, {"real"}, {"bounded"});
  model.node("QuantizeLinear", {"bounded", "scale", "zero"}, {"y"});
  model.output("y");
  return values_of<uint8_t>(model.run({{"x", tensor_of(DType::f32, {1, count}, x)}}));
}

TEST(Rounding, T18TiesGoToEvenBeforeTheZeroPointIsAdded) {
  EXPECT_EQ(quantized({-3, -1, 1, 3, 5}, "Identity", 2, 7), (std::vector<uint8_t>{5, 7, 7, 9, 9}));
  EXPECT_EQ(quantized({0.5f, 1.5f, 2.5f, -0.5f}, "Identity", 1, 0), (std::vector<uint8_t>{0, 2, 2, 0}));
}

TEST(Rounding, T18SaturatesAndClampsAtAZeroPointInTheMiddle) {
  EXPECT_EQ(quantized({-1e9f, 1e9f, -100, 100}, "Identity", 0.25f, 100), (std::vector<uint8_t>{0, 255, 0, 255}));
  EXPECT_EQ(quantized({-5, 0, 5}, "Relu", 0.5f, 100), (std::vector<uint8_t>{100, 100, 110}));
}

TEST(OpsetForms, S4Float16Scale) {
  ModelBuilder model(19);
  model.input("x", kUint8, {4});
  model.constant<uint16_t>("scale", {}, {0x3800});  // 0.5
  model.node("DequantizeLinear", {"x", "scale"}, {"y"});
  model.output("y", onnx_type<uint16_t>());
  const Tensor y = model.run({{"x", tensor_of<uint8_t>(DType::u8, {4}, {0, 1, 2, 255})}});
  EXPECT_EQ(y.dtype, DType::f16);
  EXPECT_EQ(values_of<uint16_t>(y), (std::vector<uint16_t>{0, 0x3800, 0x3c00, 0x57f8}));  // 0, 0.5, 1, 127.5
}

TEST(Float16, InputsAndOutputsAreConvertedAndAllBetweenIsFloat32) {
  ModelBuilder model(19);
  model.input("x", onnx_type<uint16_t>(), {3});
  model.constant<uint16_t>("c", {3}, {0x3c01, 0x0001, 0x7bff});  // 1 + 2^-10, 2^-24, 65504
  model.node("Mul", {"x", "c"}, {"product"});
  model.node("Add", {"product", "c"}, {"y"});
  model.output("y", onnx_type<uint16_t>());
  const Tensor y = model.run({{"x", tensor_of<uint16_t>(DType::f16, {3}, {0x3c01, 0x3800, 0x3c00})}});
  // (1 + 2^-10)^2 + 1 + 2^-10 = 2 + 3 * 2^-10 + 2^-20, to the nearest: 2 + 2^-8; 1.5 * 2^-24 to even; infinity.
  EXPECT_EQ(values_of<uint16_t>(y), (std::vector<uint16_t>{0x4002, 0x0002, 0x7c00}));
}

TEST(Float16, CastRounds) {
  ModelBuilder model(19);
  model.input("x", onnx_type<float>(), {3});
  set(model.node("Cast", {"x"}, {"half"}), "to", int64_t{onnx_type<uint16_t>()});
  set(model.node("Cast", {"half"}, {"y"}), "to", int64_t{onnx_type<float>()});
  model.output("y", onnx_type<float>());
  const Tensor y = model.run({{"x", tensor_of<float>(DType::f32, {3}, {1.00048828125f, -0.1f, 70000.0f})}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{1, -0.0999755859375f, std::numeric_limits<float>::infinity()}));
}

TEST(Float16, ConstantOutputBesideAFloat16Input) {
  ModelBuilder model(19);
  model.input("x", onnx_type<uint16_t>(), {2});
  model.constant<uint16_t>("c", {2}, {0x3c00, 0xfc00});
  model.node("Neg", {"c"}, {"y"});
  model.output("y", onnx_type<uint16_t>());
  const Tensor y = model.run({{"x", tensor_of<uint16_t>(DType::f16, {2}, {0, 0x7e00})}});
  EXPECT_EQ(values_of<uint16_t>(y), (std::vector<uint16_t>{0xbc00, 0x7c00}));
}

TEST(RunTimeScales, QuantizeAndDequantizeAlongAnAxis) {
  ModelBuilder model(19);
  model.input("x", onnx_type<float>(), {2, 3});
  model.input("scale", onnx_type<float>(), {2});
  model.input("zero_point", kUint8, {2});
  set(model.node("QuantizeLinear", {"x", "scale", "zero_point"}, {"codes"}), "axis", int64_t{0});
  set(model.node("DequantizeLinear", {"codes", "scale", "zero_point"}, {"y"}), "axis", int64_t{-2});
  model.output("y");
  const Tensor y = model.run({{"x", tensor_of<float>(DType::f32, {2, 3}, {0.25f, 0.75f, -9, 5, 300, -1})},
                              {"scale", tensor_of<float>(DType::f32, {2}, {0.5f, 2})},
                              {"zero_point", tensor_of<uint8_t>(DType::u8, {2}, {10, 128})}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 1, -5, 4, 254, 0}));  // halves go to even
}

TEST(RunTimeScales, WrongShapesAndTypesAreNamed) {
  ModelBuilder model(19);
  model.input("x", onnx_type<float>(), {2, 3});
  model.input("scale", onnx_type<float>(), {4});
  model.node("QuantizeLinear", {"x", "scale"}, {"y"});
  model.output("y");
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("scale")));

  ModelBuilder mixed(19);
  mixed.input("x", kUint8, {2});
  mixed.input("scale", onnx_type<float>(), {});
  mixed.input("zero_point", onnx_type<int8_t>(), {});
  mixed.node("DequantizeLinear", {"x", "scale", "zero_point"}, {"y"});
  mixed.output("y");
  EXPECT_THAT(mixed.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("zero_point")));
}

TEST(OpsetForms, S4OutputDtypeMakesOfAFloat16ScaleFloat32) {
  ModelBuilder model(23);
  model.input("x", kUint8, {4});
  model.constant<uint16_t>("scale", {}, {0x2E66});  // 0.0999755859375
  set(model.node("DequantizeLinear", {"x", "scale"}, {"y"}), "output_dtype", int64_t{onnx_type<float>()});
  model.output("y");
  const Tensor y = model.run({{"x", tensor_of<uint8_t>(DType::u8, {4}, {0, 1, 2, 255})}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 0.0999755859375f, 0.199951171875f, 25.4937744140625f}));
}

TEST(OpsetForms, S4OutputDtypeOfQuantizeLinear) {
  for (const int type : {onnx_type<int8_t>(), onnx_type<uint8_t>(), 5}) {
    ModelBuilder model(21);
    model.input("x", onnx_type<float>(), {3});
    model.constant<float>("scale", {}, {1});
    set(model.node("QuantizeLinear", {"x", "scale"}, {"y"}), "output_dtype", int64_t{type});
    model.output("y");
    const NamedTensors x{{"x", tensor_of<float>(DType::f32, {3}, {-3, 0, 200})}};
    if (type == onnx_type<int8_t>()) {
      EXPECT_EQ(values_of<int8_t>(model.run(x)), (std::vector<int8_t>{-3, 0, 127}));
    } else if (type == onnx_type<uint8_t>()) {
      EXPECT_EQ(values_of<uint8_t>(model.run(x)), (std::vector<uint8_t>{0, 0, 200}));
    } else {
      EXPECT_THAT(model.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("int16")));
    }
  }
}

TEST(OpsetForms, S4BlocksAndFourBitsAreRefusedByName) {
  ModelBuilder blocked(21);
  blocked.input("x", onnx_type<float>(), {4, 4});
  blocked.constant<float>("scale", {2, 4}, std::vector<float>(8, 1.0f));
  onnx::NodeProto& node = blocked.node("QuantizeLinear", {"x", "scale"}, {"y"});
  set(node, "axis", int64_t{0});
  set(node, "block_size", int64_t{2});
  blocked.output("y");
  EXPECT_THAT(blocked.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("QuantizeLinear"), HasSubstr("block_size")));

  ModelBuilder nibbles(21);
  nibbles.input("x", kUint8, {1, 4});
  nibbles.constant<float>("scale", {}, {1});
  onnx::TensorProto weights;
  weights.set_name("w");
  weights.set_data_type(22);  // int4, which older headers do not name
  weights.add_dims(4);
  weights.add_dims(2);
  weights.set_raw_data(std::string(4, '\x12'));
  *nibbles.model().mutable_graph()->add_initializer() = weights;
  nibbles.node("DequantizeLinear", {"x", "scale"}, {"x_real"});
  nibbles.node("DequantizeLinear", {"w", "scale"}, {"w_real"});
  nibbles.node("MatMul", {"x_real", "w_real"}, {"y"});
  nibbles.output("y");
  EXPECT_THAT(nibbles.refusal(), AllOf(HasSubstr("node_w_real"), HasSubstr("int4")));
}

TEST(SharedDequantize, S7TwoReadersOfOneDequantizeLinear) {
  ModelBuilder model;
  model.input("x", kUint8, {1, 2, 2, 2});
  model.constant<float>("scale", {}, {0.5f});
  model.constant<uint8_t>("zero", {}, {4});
  model.constant<float>("w_scale", {2}, {1, 0.5f});
  model.constant<int8_t>("w", {2, 2, 1, 1}, {1, 2, 4, -6});
  model.node("DequantizeLinear", {"x", "scale", "zero"}, {"real"});
  set(model.node("DequantizeLinear", {"w", "w_scale"}, {"w_real"}), "axis", int64_t{0});
  model.node("Conv", {"real", "w_real"}, {"product"});
  model.node("Relu", {"product"}, {"relu"});
  model.node("QuantizeLinear", {"product", "scale", "zero"}, {"below"});
  model.node("QuantizeLinear", {"relu", "scale", "zero"}, {"above"});
  model.node("QuantizeLinear", {"real", "w_scale_of_x", "zero"}, {"again"});
  model.constant<float>("w_scale_of_x", {}, {0.25f});
  for (const char* name : {"below", "above", "again"}) model.output(name);
  const std::vector<uint8_t> x{0, 1, 4, 9, 8, 7, 6, 200};
  const NamedTensors y = run_on_reference(model.program(), {{"x", tensor_of(DType::u8, {1, 2, 2, 2}, x)}});
  std::vector<uint8_t> below, above, again;
  for (size_t k = 0; k < 2; ++k) {
    for (size_t p = 0; p < 4; ++p) {
      const int a = x[p] - 4, b = x[4 + p] - 4;
      const float sum = k == 0 ? static_cast<float>(a + 2 * b) : 0.5f * static_cast<float>(4 * a - 6 * b);
      below.push_back(static_cast<uint8_t>(std::fmin(std::fmax(std::nearbyint(sum), -4.0f), 251.0f) + 4));
      above.push_back(static_cast<uint8_t>(std::fmin(std::fmax(std::nearbyint(sum), 0.0f), 251.0f) + 4));
    }
  }
  for (const uint8_t code : x) again.push_back(static_cast<uint8_t>(std::clamp(2 * (code - 4) + 4, 0, 255)));
  EXPECT_EQ(values_of<uint8_t>(y.at("below")), below);
  EXPECT_EQ(values_of<uint8_t>(y.at("above")), above);
  EXPECT_EQ(values_of<uint8_t>(y.at("again")), again);
}

}  // namespace
}  // namespace warpwright
