// ConvInteger and MatMulInteger with zero points that are known only at run time, against plain integers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kUint8 = onnx_type<uint8_t>(), kInt8 = onnx_type<int8_t>(), kFloat = onnx_type<float>();

const std::vector<uint8_t> kRows{0, 7, 255, 3, 128, 19};                                    // [2, 3]
const std::vector<int8_t> kMatrix{-128, 17, 90, 4, 127, -5, 66, 0, -77, 31, -2, 12};        // [3, 4]
const std::vector<uint8_t> kImage{9, 0, 255, 31, 77, 128, 200, 1, 64, 90, 12, 250, 5, 33};  // [1, 2, 7]
const std::vector<int8_t> kFilters{3, -128, 127, 0, 55, -9, -1, 1, 100, 25, -60, 8};        // [2, 2, 3]

/// sum over k of (a - a_zero) * (b - b_zero), of [2, 3] by [3, 4]; zero points repeat.
std::vector<int32_t> matrix_product(const std::vector<int32_t>& a_zero, const std::vector<int32_t>& b_zero) {
  std::vector<int32_t> y;
  for (size_t m = 0; m < 2; ++m) {
    for (size_t n = 0; n < 4; ++n) {
      int32_t sum = 0;
      for (size_t k = 0; k < 3; ++k) {
        sum += (kRows[m * 3 + k] - a_zero[m % a_zero.size()]) * (kMatrix[k * 4 + n] - b_zero[n % b_zero.size()]);
      }
      y.push_back(sum);
    }
  }
  return y;
}

Tensor rows() { return tensor_of(DType::u8, {2, 3}, kRows); }
Tensor matrix() { return tensor_of(DType::s8, {3, 4}, kMatrix); }

/// MatMulInteger of `rows` by `matrix`, which is constant or not, with zero points as inputs where a shape is given.
ModelBuilder matmul(bool constant_matrix, const std::optional<Shape>& a_zero, const std::optional<Shape>& b_zero) {
  ModelBuilder model;
  model.input("a", kUint8, {2, 3});
  if (constant_matrix) {
    model.constant<int8_t>("b", {3, 4}, kMatrix);
  } else {
    model.input("b", kInt8, {3, 4});
  }
  if (a_zero) model.input("a_zero", kUint8, *a_zero);
  if (b_zero) model.input("b_zero", kInt8, *b_zero);
  std::vector<std::string> inputs{"a", "b", a_zero ? "a_zero" : ""};
  if (b_zero) inputs.push_back("b_zero");
  model.node("MatMulInteger", inputs, {"y"});
  model.output("y");
  return model;
}

TEST(RunTimeZeroPoints, MatMulIntegerByAConstantMatrix) {
  for (const Shape& shape : {Shape{}, Shape{1}}) {
    const ModelBuilder model = matmul(true, shape, std::nullopt);
    for (const uint8_t zero : {0, 19, 255}) {
      const NamedTensors inputs{{"a", rows()}, {"a_zero", tensor_of<uint8_t>(DType::u8, shape, {zero})}};
      EXPECT_EQ(values_of<int32_t>(model.run(inputs)), matrix_product({zero}, {0}));
    }
  }
}

TEST(RunTimeZeroPoints, MatMulIntegerByAZeroPointARow) {
  const ModelBuilder model = matmul(true, Shape{2}, std::nullopt);
  const NamedTensors inputs{{"a", rows()}, {"a_zero", tensor_of<uint8_t>(DType::u8, {2}, {200, 3})}};
  EXPECT_EQ(values_of<int32_t>(model.run(inputs)), matrix_product({200, 3}, {0}));
}

TEST(RunTimeZeroPoints, MatMulIntegerOfTwoActivations) {
  const ModelBuilder model = matmul(false, Shape{}, Shape{4});
  const NamedTensors inputs{{"a", rows()},
                            {"b", matrix()},
                            {"a_zero", tensor_of<uint8_t>(DType::u8, {}, {131})},
                            {"b_zero", tensor_of<int8_t>(DType::s8, {4}, {-128, 5, 127, 0})}};
  EXPECT_EQ(values_of<int32_t>(model.run(inputs)), matrix_product({131}, {-128, 5, 127, 0}));
}

TEST(RunTimeZeroPoints, ProductStaysInEightBits) {
  const Program program = matmul(true, Shape{}, std::nullopt).program();
  size_t products = 0;
  for (const ProgramStep& step : program.steps) {
    products += step.workload.kind == OpKind::dense;
    EXPECT_NE(step.workload.kind, OpKind::real_matmul);
    EXPECT_NE(step.workload.kind, OpKind::reduce);  // the sums of a constant matrix are known
  }
  EXPECT_EQ(products, 1u);
}

/// sum over the window of (x - zero) * w, of [1, 2, 7] by [2, 2 / groups, 3], padded by `before` and `after`.
std::vector<int32_t> convolution(int zero, int groups, int before, int after, int stride) {
  std::vector<int32_t> y;
  const int channels = 2 / groups;
  for (int k = 0; k < 2; ++k) {
    for (int at = -before; at + 3 <= 7 + after; at += stride) {
      int32_t sum = 0;
      for (int c = 0; c < channels; ++c) {
        for (int tap = 0; tap < 3; ++tap) {
          if (at + tap < 0 || at + tap >= 7) continue;
          const int channel = groups == 2 ? k : c;
          sum += (kImage[static_cast<size_t>(channel * 7 + at + tap)] - zero) *
                 kFilters[static_cast<size_t>((k * channels + c) * 3 + tap)];
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST(RunTimeZeroPoints, ConvIntegerPadsWithTheZeroPoint) {
  for (const int groups : {1, 2}) {
    for (const auto& [before, after] : {std::pair{0, 0}, {1, 1}, {2, 0}}) {
      for (const int stride : {1, 2}) {
        ModelBuilder model;
        model.input("x", kUint8, {1, 2, 7});
        model.input("zero", kUint8, {});
        const std::vector<int8_t> filters(kFilters.begin(), kFilters.begin() + 12 / groups);
        model.constant<int8_t>("w", {2, 2 / groups, 3}, filters);
        onnx::NodeProto& node = model.node("ConvInteger", {"x", "w", "zero"}, {"y"});
        set(node, "group", int64_t{groups});
        set(node, "pads", std::vector<int64_t>{before, after});
        set(node, "strides", std::vector<int64_t>{stride});
        model.output("y");
        const NamedTensors inputs{{"x", tensor_of(DType::u8, {1, 2, 7}, kImage)},
                                  {"zero", tensor_of<uint8_t>(DType::u8, {}, {77})}};
        EXPECT_EQ(values_of<int32_t>(model.run(inputs)), convolution(77, groups, before, after, stride))
            << groups << " groups, pads " << before << ", " << after << ", stride " << stride;
      }
    }
  }
}

/// What ONNX Runtime's quantize_dynamic writes for a matrix product.
TEST(RunTimeZeroPoints, DynamicQuantizationOfAProduct) {
  ModelBuilder model;
  model.input("x", kFloat, {2, 3});
  model.constant<int8_t>("w", {3, 4}, kMatrix);
  model.constant<float>("w_scale", {}, {0.5f});
  model.constant<int8_t>("w_zero", {}, {0});
  model.constant<float>("bias", {4}, {1, 2, 3, 4});
  model.node("DynamicQuantizeLinear", {"x"}, {"codes", "x_scale", "x_zero"});
  model.node("MatMulInteger", {"codes", "w", "x_zero", "w_zero"}, {"sums"});
  set(model.node("Cast", {"sums"}, {"real"}), "to", int64_t{kFloat});
  model.node("Mul", {"x_scale", "w_scale"}, {"scale"});
  model.node("Mul", {"real", "scale"}, {"scaled"});
  model.node("Add", {"scaled", "bias"}, {"y"});
  model.output("y");
  // From -1 to 1.55 in steps of 0.01: scale 2.55 / 255, zero point 100.
  const std::vector<float> x{-1.0f, 1.55f, 0.25f, -0.5f, 0.0f, 1.0f};
  const float scale = (1.55f - -1.0f) / 255.0f;
  const std::vector<int32_t> codes{0, 255, 125, 50, 100, 200};
  std::vector<float> wanted;
  for (size_t m = 0; m < 2; ++m) {
    for (size_t n = 0; n < 4; ++n) {
      int32_t sum = 0;
      for (size_t k = 0; k < 3; ++k) sum += (codes[m * 3 + k] - 100) * kMatrix[k * 4 + n];
      wanted.push_back(static_cast<float>(sum) * (scale * 0.5f) + static_cast<float>(n + 1));
    }
  }
  EXPECT_EQ(values_of<float>(model.run({{"x", tensor_of(DType::f32, {2, 3}, x)}})), wanted);
}

TEST(RunTimeZeroPoints, RefusedByName) {
  EXPECT_THAT(matmul(true, Shape{3}, std::nullopt).refusal(), AllOf(HasSubstr("node_y"), HasSubstr("zero point")));
  ModelBuilder other_type;
  other_type.input("a", kUint8, {2, 3});
  other_type.constant<int8_t>("b", {3, 4}, kMatrix);
  other_type.input("zero", kInt8, {});
  other_type.node("MatMulInteger", {"a", "b", "zero"}, {"y"});
  other_type.output("y");
  EXPECT_THAT(other_type.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("its zero point \"zero\" is s8")));
  ModelBuilder weight;
  weight.input("x", kUint8, {1, 2, 7});
  weight.constant<int8_t>("w", {2, 2, 3}, kFilters);
  weight.input("zero", kInt8, {});
  weight.node("ConvInteger", {"x", "w", "", "zero"}, {"y"});
  weight.output("y");
  EXPECT_THAT(weight.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("\"zero\" is no constant")));
}

}  // namespace
}  // namespace warpwright
