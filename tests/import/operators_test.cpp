// Operators that are put together from others, against values worked out by hand.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "src/core/error.h"
#include "src/import/resize_weights.h"
#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kUint8 = onnx_type<uint8_t>(), kFloat = onnx_type<float>(), kInt64 = onnx_type<int64_t>();

Tensor reals(Shape shape, const std::vector<float>& values) { return tensor_of(DType::f32, std::move(shape), values); }

void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto_AttributeType_STRING);
  attribute.set_s(value);
}

/// Counts 1, 2, ... in every input.
Tensor counted(Shape shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  return reals(std::move(shape), values);
}

ModelBuilder einsum(const std::string& equation, const std::vector<Shape>& shapes) {
  ModelBuilder model;
  std::vector<std::string> names;
  for (size_t i = 0; i < shapes.size(); ++i) {
    names.push_back(fmt::format("x{}", i));
    model.input(names.back(), kFloat, shapes[i]);
  }
  set_text(model.node("Einsum", names, {"y"}), "equation", equation);
  model.output("y");
  return model;
}

std::vector<float> einsum_of_counts(const std::string& equation, const std::vector<Shape>& shapes) {
  NamedTensors inputs;
  for (size_t i = 0; i < shapes.size(); ++i) inputs[fmt::format("x{}", i)] = counted(shapes[i]);
  return values_of<float>(einsum(equation, shapes).run(inputs));
}

TEST(Einsum, OneOperand) {
  EXPECT_THAT(einsum_of_counts("ij->ji", {{2, 3}}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(einsum_of_counts("ij->i", {{2, 3}}), ElementsAre(6, 15));
  EXPECT_THAT(einsum_of_counts("ij -> j", {{2, 3}}), ElementsAre(5, 7, 9));
  EXPECT_THAT(einsum_of_counts("ba", {{2, 3}}), ElementsAre(1, 4, 2, 5, 3, 6));  // the result's letters are sorted
}

TEST(Einsum, TwoOperands) {
  EXPECT_THAT(einsum_of_counts("ij,jk->ik", {{2, 2}, {2, 2}}), ElementsAre(7, 10, 15, 22));
  EXPECT_THAT(einsum_of_counts("ij,jk", {{2, 2}, {2, 2}}), ElementsAre(7, 10, 15, 22));
  EXPECT_THAT(einsum_of_counts("ij,kj->ki", {{2, 2}, {2, 2}}), ElementsAre(5, 11, 11, 25));
  EXPECT_THAT(einsum_of_counts("i,j->ij", {{2}, {3}}), ElementsAre(1, 2, 3, 2, 4, 6));
  EXPECT_THAT(einsum_of_counts("bij,bj->bi", {{2, 2, 2}, {2, 2}}), ElementsAre(5, 11, 39, 53));
  // The sum over k, which stands in one operand alone, comes first: (1 + 2) * 1 and (3 + 4) * 2.
  EXPECT_THAT(einsum_of_counts("ik,i->i", {{2, 2}, {2}}), ElementsAre(3, 14));
}

TEST(Einsum, RefusedByName) {
  EXPECT_THAT(einsum("ii->i", {{2, 2}}).refusal(), AllOf(HasSubstr("node_y"), HasSubstr("a letter twice")));
  EXPECT_THAT(einsum("...i->...", {{2, 2}}).refusal(), AllOf(HasSubstr("node_y"), HasSubstr("only letters")));
  EXPECT_THAT(einsum("i,i,i->i", {{2}, {2}, {2}}).refusal(), AllOf(HasSubstr("node_y"), HasSubstr("3 operands")));
  EXPECT_THAT(einsum("ij,jk->ik", {{2, 3}, {2, 3}}).refusal(),
              AllOf(HasSubstr("node_y"), HasSubstr("two extents of j")));
  EXPECT_THAT(einsum("ij->k", {{2, 3}}).refusal(), AllOf(HasSubstr("node_y"), HasSubstr("result")));
}

/// GatherND of counts, with indices that are constant or an input.
std::vector<float> gather_nd(const Shape& x, const Shape& shape, const std::vector<int64_t>& indices,
                             int64_t batch_dims, bool constant) {
  ModelBuilder model;
  model.input("x", kFloat, x);
  NamedTensors inputs{{"x", counted(x)}};
  if (constant) {
    model.constant<int64_t>("indices", shape, indices);
  } else {
    model.input("indices", kInt64, shape);
    inputs["indices"] = tensor_of(DType::s64, shape, indices);
  }
  set(model.node("GatherND", {"x", "indices"}, {"y"}), "batch_dims", batch_dims);
  model.output("y");
  return values_of<float>(model.run(inputs));
}

TEST(GatherND, TuplesOfIndices) {
  for (const bool constant : {true, false}) {
    EXPECT_THAT(gather_nd({2, 3}, {3, 2}, {0, 0, 1, -1, -2, 1}, 0, constant), ElementsAre(1, 6, 2));
    EXPECT_THAT(gather_nd({2, 3}, {2, 1}, {1, 0}, 0, constant), ElementsAre(4, 5, 6, 1, 2, 3));
    EXPECT_THAT(gather_nd({2, 2, 2}, {2, 1, 2}, {0, 1, 1, 0}, 0, constant), ElementsAre(3, 4, 5, 6));
    EXPECT_THAT(gather_nd({2, 3}, {2, 2, 1}, {2, 0, 1, 1}, 1, constant), ElementsAre(3, 1, 5, 5));
    EXPECT_THAT(gather_nd({2, 2, 2}, {2, 1}, {1, 0}, 1, constant), ElementsAre(3, 4, 5, 6));
  }
}

TEST(GatherND, RefusedByName) {
  ModelBuilder far;
  far.input("x", kFloat, {2, 3});
  far.constant<int64_t>("indices", {1, 2}, {0, 3});
  far.node("GatherND", {"x", "indices"}, {"y"});
  far.output("y");
  EXPECT_THAT(far.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("index 3 of 3")));
  ModelBuilder deep;
  deep.input("x", kFloat, {2, 3});
  deep.input("indices", kInt64, {1, 3});
  deep.node("GatherND", {"x", "indices"}, {"y"});
  deep.output("y");
  EXPECT_THAT(deep.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("indices of shape [1,3]")));
}

/// Weights of output `index` by element of the input.
std::vector<float> weights_of(const ResizeRule& rule, const AxisResize& axis, size_t index) {
  const ResizeWeights weights = resize_weights(rule, axis);
  std::vector<float> result(static_cast<size_t>(axis.from), 0.0f);
  for (size_t tap = 0; tap < static_cast<size_t>(weights.taps); ++tap) {
    const size_t at = index * static_cast<size_t>(weights.taps) + tap;
    result[static_cast<size_t>(weights.indices[at])] += weights.weights[at];
  }
  return result;
}

TEST(ResizeWeightsOfAnAxis, Linear) {
  ResizeRule rule{.mode = "linear", .coordinates = "half_pixel"};
  const AxisResize twice{2, 4, 2.0f};
  EXPECT_THAT(weights_of(rule, twice, 0), ElementsAre(1, 0));  // at -0.25, which is no further than the edge
  EXPECT_THAT(weights_of(rule, twice, 1), ElementsAre(0.75f, 0.25f));
  EXPECT_THAT(weights_of(rule, twice, 3), ElementsAre(0, 1));
  rule.coordinates = "asymmetric";
  EXPECT_THAT(weights_of(rule, twice, 1), ElementsAre(0.5f, 0.5f));
  EXPECT_THAT(weights_of(rule, twice, 3), ElementsAre(0, 1));
  rule.coordinates = "align_corners";
  EXPECT_THAT(weights_of(rule, {3, 5, 5.0f / 3}, 1), ElementsAre(0.5f, 0.5f, 0));
  EXPECT_THAT(weights_of(rule, {3, 5, 5.0f / 3}, 4), ElementsAre(0, 0, 1));
  EXPECT_THAT(weights_of(rule, {3, 1, 1.0f / 3}, 0), ElementsAre(1, 0, 0));
  rule.coordinates = "pytorch_half_pixel";
  EXPECT_THAT(weights_of(rule, {3, 1, 1.0f / 3}, 0), ElementsAre(1, 0, 0));
  rule.coordinates = "half_pixel";
  EXPECT_THAT(weights_of(rule, {3, 1, 1.0f / 3}, 0), ElementsAre(0, 1, 0));
}

TEST(ResizeWeightsOfAnAxis, Cubic) {
  ResizeRule rule{.mode = "cubic", .coordinates = "half_pixel"};
  const AxisResize twice{4, 8, 2.0f};
  // At 1.25: distances 1.25, 0.25, 0.75 and 1.75 with a = -0.75.
  EXPECT_THAT(weights_of(rule, twice, 3), ElementsAre(-0.10546875f, 0.87890625f, 0.26171875f, -0.03515625f));
  // At -0.25 two taps lie outside: they read the edge, or are left out and the rest is divided by its sum.
  EXPECT_THAT(weights_of(rule, twice, 0), ElementsAre(-0.03515625f + 0.26171875f + 0.87890625f, -0.10546875f, 0, 0));
  rule.exclude_outside = true;
  const double sum = 0.87890625 - 0.10546875;
  EXPECT_THAT(weights_of(rule, twice, 0),
              ElementsAre(static_cast<float>(0.87890625 / sum), static_cast<float>(-0.10546875 / sum), 0, 0));
  rule.exclude_outside = false;
  rule.cubic_coefficient = -0.5f;
  EXPECT_THAT(weights_of(rule, twice, 3), ElementsAre(-0.0703125f, 0.8671875f, 0.2265625f, -0.0234375f));
}

TEST(ResizeWeightsOfAnAxis, AntialiasingWidensTheFilter) {
  const ResizeRule rule{.mode = "linear", .coordinates = "half_pixel", .antialias = true};
  // At 2.5 with a filter twice as wide: distances 1.5, 0.5, 0.5 and 1.5, halved.
  EXPECT_THAT(weights_of(rule, {8, 4, 0.5f}, 1), ElementsAre(0, 0.125f, 0.375f, 0.375f, 0.125f, 0, 0, 0));
}

TEST(ResizeWeightsOfAnAxis, CropsSayWhatLiesOutside) {
  const ResizeRule rule{.mode = "linear", .coordinates = "tf_crop_and_resize"};
  const ResizeWeights weights = resize_weights(rule, {3, 3, 1.0f, -0.5f, 1.5f});
  EXPECT_THAT(weights.outside, ElementsAre(true, false, true));  // at -1, 1 and 3
  EXPECT_THROW(resize_weights({.mode = "linear", .coordinates = "sideways"}, {2, 4, 2.0f}), UsageError);
}

TEST(Resize, LinearOfAnImage) {
  ModelBuilder model;
  model.input("x", kFloat, {1, 1, 2, 2});
  model.constant<float>("scales", {4}, {1, 1, 1, 2});
  onnx::NodeProto& node = model.node("Resize", {"x", "", "scales"}, {"y"});
  set_text(node, "mode", "linear");
  model.output("y");
  EXPECT_THAT(values_of<float>(model.run({{"x", reals({1, 1, 2, 2}, {0, 4, 8, 0})}})),
              ElementsAre(0, 1, 3, 4, 8, 6, 2, 0));
}

/// Linear by these scales of the last two dimensions, half_pixel.
template <typename T>
ModelBuilder resize_of_codes(const Shape& shape, const std::vector<float>& scales, const std::string& mode = "linear",
                             const std::string& coordinates = "half_pixel") {
  ModelBuilder model;
  model.input("x", onnx_type<T>(), shape);
  model.constant<float>("scales", {static_cast<int64_t>(scales.size())}, scales);
  onnx::NodeProto& node = model.node("Resize", {"x", "", "scales"}, {"y"});
  set_text(node, "mode", mode);
  set_text(node, "coordinate_transformation_mode", coordinates);
  model.output("y");
  return model;
}

TEST(Resize, LinearOfCodesCutsOffTowardsZeroAsOnnxRuntimeDoes) {
  const auto of_u8 = [](const Shape& shape, const std::vector<float>& scales, const std::vector<uint8_t>& x) {
    return values_of<uint8_t>(resize_of_codes<uint8_t>(shape, scales).run({{"x", tensor_of(DType::u8, shape, x)}}));
  };
  EXPECT_THAT(of_u8({1, 1, 1, 2}, {1, 1, 1, 2}, {10, 21}), ElementsAre(10, 12, 18, 21));  // 12.75, 18.25
  EXPECT_THAT(of_u8({2, 1}, {2, 1}, {10, 21}), ElementsAre(10, 12, 18, 21));
  // Weights whose float32 sum is a little below 1 lose a code where all are equal.
  EXPECT_THAT(of_u8({1, 1, 2, 2}, {1, 1, 1.7f, 1.7f}, {13, 13, 13, 13}),
              ElementsAre(13, 13, 13, 13, 13, 12, 13, 12, 13));
  const Tensor x = tensor_of<int8_t>(DType::s8, {1, 1, 1, 2}, {-10, -21});
  EXPECT_THAT(values_of<int8_t>(resize_of_codes<int8_t>({1, 1, 1, 2}, {1, 1, 1, 2}).run({{"x", x}})),
              ElementsAre(-10, -12, -18, -21));
}

TEST(Resize, OfCodesInOtherWaysIsRefusedByName) {
  const Shape image{1, 2, 2, 2};
  EXPECT_THAT(resize_of_codes<uint8_t>(image, {1, 1, 2, 2}, "cubic").refusal(),
              AllOf(HasSubstr("node_y"), HasSubstr("8-bit codes are resized by mode linear alone")));
  EXPECT_THAT(resize_of_codes<uint8_t>(image, {1, 2, 2, 1}).refusal(), HasSubstr("along the last two of"));
  EXPECT_THAT(resize_of_codes<uint8_t>(image, {1, 1, 2, 2}, "linear", "half_pixel_symmetric").refusal(),
              HasSubstr("half_pixel_symmetric are not supported"));
}

std::vector<float> padded(const std::string& mode, const std::vector<int64_t>& pads) {
  ModelBuilder model;
  model.input("x", kFloat, {1, 3});
  model.constant<int64_t>("pads", {4}, {0, pads[0], 0, pads[1]});
  set_text(model.node("Pad", {"x", "pads"}, {"y"}), "mode", mode);
  model.output("y");
  return values_of<float>(model.run({{"x", reals({1, 3}, {1, 2, 3})}}));
}

TEST(Pad, ByElementsOfTheTensor) {
  EXPECT_THAT(padded("reflect", {2, 2}), ElementsAre(3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(padded("reflect", {0, 1}), ElementsAre(1, 2, 3, 2));
  EXPECT_THAT(padded("edge", {2, 1}), ElementsAre(1, 1, 1, 2, 3, 3));
}

TEST(Pad, NegativePadsCropFirst) {
  EXPECT_THAT(padded("wrap", {2, 2}), ElementsAre(2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(padded("wrap", {-1, 3}), ElementsAre(2, 3, 2, 3, 2));
  EXPECT_THAT(padded("wrap", {3, -1}), ElementsAre(2, 1, 2, 1, 2));
  EXPECT_THAT(padded("reflect", {-1, 1}), ElementsAre(2, 3, 2));
  EXPECT_THAT(padded("reflect", {-1, 2}), ElementsAre(2, 3, 2, 3));
  EXPECT_THAT(padded("edge", {1, -2}), ElementsAre(1, 1));
  EXPECT_THAT(padded("edge", {-1, -1}), ElementsAre(2));
  EXPECT_THAT(padded("constant", {-1, 2}), ElementsAre(2, 3, 0, 0));
}

TEST(Pad, ReflectionOfCodesMovesCodes) {
  ModelBuilder model;
  model.input("x", kUint8, {1, 1, 2, 3});
  model.constant<float>("scale", {}, {0.5f});
  model.constant<uint8_t>("zero", {}, {7});
  model.constant<int64_t>("pads", {8}, {0, 0, 1, 1, 0, 0, 0, 1});
  model.node("DequantizeLinear", {"x", "scale", "zero"}, {"real"});
  set_text(model.node("Pad", {"real", "pads"}, {"wide"}), "mode", "reflect");
  model.node("QuantizeLinear", {"wide", "scale", "zero"}, {"y"});
  model.output("y");
  const Tensor x = tensor_of<uint8_t>(DType::u8, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values_of<uint8_t>(model.run({{"x", x}})), ElementsAre(5, 4, 5, 6, 5, 2, 1, 2, 3, 2, 5, 4, 5, 6, 5));
  for (const ProgramStep& step : model.program().steps) EXPECT_FALSE(step.workload.output.dtype == DType::f32);
}

/// ConvTranspose over [1, 2, 3] codes by [2, 2 / groups, 3] codes whose scales lie along `axis` of the weight, none:
/// one.
struct TransposedConvolution {
  int groups = 1, stride = 1, before = 0, after = 0, output_padding = 0;
  std::optional<int64_t> axis = std::nullopt;

  static constexpr std::array<int, 6> kX{0, 40, 255, 90, 7, 130};  // zero point 20, scale 0.5
  static constexpr std::array<int, 12> kW{3, -128, 127, 0, 55, -9, -1, 1, 100, 25, -60, 8};
  static constexpr std::array<float, 2> kScales{0.25f, 0.0625f};

  int64_t outputs() const { return 2 / groups; }

  ModelBuilder model() const {
    ModelBuilder model;
    model.input("x", kUint8, {1, 2, 3});
    model.constant<float>("x_scale", {}, {0.5f});
    model.constant<uint8_t>("x_zero", {}, {20});
    model.constant<int8_t>("w", {2, outputs(), 3}, std::vector<int8_t>(kW.begin(), kW.begin() + 6 * outputs()));
    model.constant<float>("y_scale", {}, {4.0f});
    model.constant<uint8_t>("y_zero", {}, {128});
    model.node("DequantizeLinear", {"x", "x_scale", "x_zero"}, {"x_real"});
    if (axis) {
      model.constant<float>("w_scale", {2}, {kScales[0], kScales[1]});
    } else {
      model.constant<float>("w_scale", {}, {kScales[0]});
    }
    onnx::NodeProto& dequantize = model.node("DequantizeLinear", {"w", "w_scale"}, {"w_real"});
    if (axis) set(dequantize, "axis", *axis);
    onnx::NodeProto& node = model.node("ConvTranspose", {"x_real", "w_real"}, {"real"});
    set(node, "group", int64_t{groups});
    set(node, "strides", std::vector<int64_t>{stride});
    set(node, "pads", std::vector<int64_t>{before, after});
    set(node, "output_padding", std::vector<int64_t>{output_padding});
    model.node("QuantizeLinear", {"real", "y_scale", "y_zero"}, {"y"});
    model.output("y");
    return model;
  }

  /// Every element of x times the filter, at its place. The scales are powers of two, so that float32 is exact.
  std::vector<uint8_t> wanted() const {
    const int length = 2 * stride + 3 + output_padding - before - after;
    std::vector<uint8_t> y;
    for (int k = 0; k < 2; ++k) {
      std::vector<float> row(static_cast<size_t>(length), 0.0f);
      for (int c = 0; c < 2; ++c) {
        if (groups == 2 && c != k) continue;
        for (int i = 0; i < 3; ++i) {
          for (int tap = 0; tap < 3; ++tap) {
            const int at = i * stride + tap - before;
            if (at < 0 || at >= length) continue;
            const int w = kW[static_cast<size_t>(groups == 2 ? c * 3 + tap : (c * 2 + k) * 3 + tap)];
            const float scale = !axis ? kScales[0] : kScales[static_cast<size_t>(*axis == 0 ? c : k)];
            row[static_cast<size_t>(at)] +=
                0.5f * static_cast<float>((kX[static_cast<size_t>(c * 3 + i)] - 20) * w) * scale;
          }
        }
      }
      for (const float value : row) {
        y.push_back(static_cast<uint8_t>(std::clamp(std::nearbyint(value / 4.0f), -128.0f, 127.0f) + 128));
      }
    }
    return y;
  }

  void check(bool in_codes) const {
    const ModelBuilder built = model();
    const Tensor x = tensor_of(DType::u8, {1, 2, 3}, std::vector<uint8_t>(kX.begin(), kX.end()));
    EXPECT_EQ(values_of<uint8_t>(built.run({{"x", x}})), wanted());
    size_t real = 0;
    for (const ProgramStep& step : built.program().steps) real += step.workload.kind == OpKind::real_conv2d;
    EXPECT_EQ(real, in_codes ? 0u : 1u);
  }
};

TEST(ConvTranspose, T16RunsInEightBits) {
  TransposedConvolution{}.check(true);
  TransposedConvolution{.stride = 2, .before = 1, .after = 1, .output_padding = 1}.check(true);
  TransposedConvolution{.stride = 3, .before = 2}.check(true);
  TransposedConvolution{.groups = 2, .stride = 2, .after = 1}.check(true);
}

TEST(ConvTranspose, T16ScalesLieAlongOutputChannels) {
  TransposedConvolution{.stride = 2, .axis = 1}.check(true);
  TransposedConvolution{.stride = 2, .axis = 0}.check(false);  // one an input channel: float32
  TransposedConvolution{.groups = 2, .axis = 0}.check(false);
}

TEST(ChannelsLast, PoolsOfQLinear) {
  const std::vector<uint8_t> x{10, 200, 20, 100, 30, 40, 41, 7};  // [1, 2, 2, 2], channels last
  for (const bool global : {true, false}) {
    ModelBuilder model;
    model.input("x", kUint8, {1, 2, 2, 2});
    model.constant<float>("x_scale", {}, {0.5f});
    model.constant<uint8_t>("x_zero", {}, {10});
    model.constant<float>("y_scale", {}, {0.25f});
    model.constant<uint8_t>("y_zero", {}, {3});
    onnx::NodeProto& node = model.node(global ? "QLinearGlobalAveragePool" : "QLinearAveragePool",
                                       {"x", "x_scale", "x_zero", "y_scale", "y_zero"}, {"y"}, "com.microsoft");
    set(node, "channels_last", int64_t{1});
    if (!global) set(node, "kernel_shape", std::vector<int64_t>{2, 1});
    model.output("y");
    const Tensor y = model.run({{"x", tensor_of(DType::u8, {1, 2, 2, 2}, x)}});
    // (sum - count * 10) * (0.5 / (0.25 * count)) + 3, half to even.
    if (global) {
      EXPECT_EQ(y.shape, (Shape{1, 1, 1, 2}));
      EXPECT_THAT(values_of<uint8_t>(y), ElementsAre(33, 157));
    } else {
      EXPECT_EQ(y.shape, (Shape{1, 1, 2, 2}));
      EXPECT_THAT(values_of<uint8_t>(y), ElementsAre(23, 223, 44, 90));
    }
  }
}

TEST(QLinearAveragePool, WindowsBeyondThePaddingAreDividedByAllOfTheirElements) {
  ModelBuilder model;
  model.input("x", kUint8, {1, 1, 1, 5});
  model.constant<float>("scale", {}, {0.5f});
  model.constant<uint8_t>("zero", {}, {0});
  onnx::NodeProto& node =
      model.node("QLinearAveragePool", {"x", "scale", "zero", "scale", "zero"}, {"y"}, "com.microsoft");
  set(node, "kernel_shape", std::vector<int64_t>{1, 3});
  set(node, "strides", std::vector<int64_t>{1, 2});
  set(node, "pads", std::vector<int64_t>{0, 1, 0, 0});
  set(node, "ceil_mode", int64_t{1});
  set(node, "count_include_pad", int64_t{1});
  model.output("y");
  const Tensor x = tensor_of<uint8_t>(DType::u8, {1, 1, 1, 5}, {30, 60, 90, 121, 2});
  // (0 + 30 + 60) / 3, (60 + 90 + 121) / 3, (121 + 2 + 0) / 3: the last window begins inside and ends beyond.
  EXPECT_THAT(values_of<uint8_t>(model.run({{"x", x}})), ElementsAre(30, 90, 41));
}

TEST(GraphInputs, OfATypeThatIsNotTakenStandInTheListOfFaults) {
  ModelBuilder model;
  model.input("wide", 11, {2});
  model.input("x", kFloat, {2});
  model.node("Relu", {"wide"}, {"a"});
  model.node("Unheard", {"x"}, {"b"});
  model.node("Shape", {"wide"}, {"shape"});  // hangs on what is listed
  model.node("Range", {"x", "x", "x"}, {"range"});
  model.model().mutable_graph()->add_input()->set_name("shapeless");
  model.output("a");
  model.output("b");
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("graph input \"wide\": float64"), HasSubstr("node_b"),
                                     HasSubstr("graph input \"shapeless\""), HasSubstr("has 4 parts"),
                                     HasSubstr("node_range' (Range): it is only supported over constants")));
}

}  // namespace
}  // namespace warpwright
