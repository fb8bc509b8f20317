// Passes around products: weights, biases, bounds, residuals.
#include <gtest/gtest.h>

#include <cmath>

#include "src/graph/lowering.h"
#include "tests/graph/graph_builder.h"

namespace warpwright {
namespace {

/// u8 input [1, 2, 3, 3] of scale 0.25 and zero point `zero_point`, as float32.
TensorId real_input(GraphBuilder& builder, int32_t zero_point = 3, const std::string& name = "x") {
  return builder.dequantize(builder.input(name, DType::u8, {1, 2, 3, 3}), name + "_real", 0.25f, zero_point);
}

Graph passed(GraphBuilder& builder, const std::string& last = {}) {
  run_passes(builder.graph(), last);
  return builder.graph();
}

TEST(Products, MultiplierIsRoundedLeftToRight) {
  GraphBuilder builder;
  builder.output(builder.quantize(builder.conv(real_input(builder), "conv", 4, 7), "y", DType::u8, 0.3f, 10));
  const Graph graph = passed(builder);
  const Node* conv = find_step(graph, OpKind::conv2d);
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(real_value(*conv, "multiplier"), (0.25f * 0.5f) / 0.3f);
  EXPECT_EQ(conv->values.at("multiplier").size(), 4);
  EXPECT_EQ(real_value(*conv, "lo"), -10.0f);
  EXPECT_EQ(real_value(*conv, "hi"), 245.0f);
  EXPECT_EQ(integer_value(*conv, "x_zero_point"), 3);
  EXPECT_EQ(integer_value(*conv, "pad_code"), 10);
  EXPECT_EQ(conv->workload.x_zero_point, ZeroPointForm::scalar);
  EXPECT_FALSE(conv->workload.epilogue.bias);
}

TEST(Products, ActivationsBecomeBounds) {
  GraphBuilder builder;
  const TensorId conv = builder.conv(real_input(builder), "conv", 4, 7);
  builder.output(builder.quantize(builder.clip(conv, "clip", -1.5f, 3.0f), "y", DType::u8, 0.5f, 90));
  builder.output(builder.quantize(builder.unary(NodeKind::relu, conv, "relu"), "z", DType::s8, 1.0f, -128));
  builder.output(builder.quantize(builder.clip(conv, "empty", 4.0f, 2.0f), "e", DType::u8, 0.5f, 0));
  const TensorId twice = builder.unary(NodeKind::relu, builder.clip(conv, "inner", -9.0f, -2.0f), "outer");
  builder.output(builder.quantize(twice, "t", DType::u8, 0.5f, 5));
  const Graph graph = passed(builder, "fuse_requantization");
  std::map<std::string, std::pair<float, float>> bounds;
  for (const Node& node : graph.nodes) {
    if (node.is_step(OpKind::conv2d)) {
      bounds[graph.tensor(node.output).name] = {real_value(node, "lo"), real_value(node, "hi")};
    }
  }
  EXPECT_EQ(bounds.at("y"), (std::pair{-3.0f, 6.0f}));
  EXPECT_EQ(bounds.at("z"), (std::pair{0.0f, 255.0f}));
  EXPECT_EQ(bounds.at("e"), (std::pair{4.0f, 4.0f}));
  EXPECT_EQ(bounds.at("t"), (std::pair{0.0f, 0.0f}));
}

TEST(Products, BiasOfTheRightScaleIsKeptAndOthersAreRoundedAnew) {
  GraphBuilder builder;
  const TensorId x = real_input(builder);
  const Shape four{4};
  const TensorId codes = builder.code_constant("codes", DType::s32, four, {1, -2, 2147483647, 16777217});
  const TensorId kept = builder.dequantize(codes, "kept", 0.25f * 0.5f, 0);
  const TensorId other = builder.dequantize(codes, "other", 0.25f, 1);
  const TensorId real = builder.real_constant("real", four, {0.0625f, 0.1875f, -1.0f, 1e30f});
  for (const auto& [name, bias] : {std::pair{"a", kept}, {"b", other}, {"c", real}}) {
    builder.output(builder.quantize(builder.conv(x, std::string(name) + "_conv", 4, 1, bias), name, DType::u8, 1, 0));
  }
  const Graph graph = passed(builder, "fuse_requantization");
  std::map<std::string, std::vector<int32_t>> biases;
  for (const Node& node : graph.nodes) {
    if (!node.is_step(OpKind::conv2d)) continue;
    const auto bias = node.values.at("bias").as<int32_t>();
    biases[graph.tensor(node.output).name] = {bias.begin(), bias.end()};
  }
  EXPECT_EQ(biases.at("a"), (std::vector<int32_t>{1, -2, 2147483647, 16777217}));
  EXPECT_EQ(biases.at("b"), (std::vector<int32_t>{0, -6, 2147483647, 33554432}));
  EXPECT_EQ(biases.at("c"), (std::vector<int32_t>{0, 2, -8, 2147483647}));  // ties to even
}

/// A 1x1 convolution with these codes and zero points, after center_weights.
Node centred(DType dtype, const std::vector<int32_t>& codes, const std::vector<int32_t>& zero_points) {
  GraphBuilder builder;
  const TensorId x = real_input(builder);
  const TensorId w = builder.code_constant("w", dtype, {2, 2, 1, 1}, codes);
  const TensorId real = builder.dequantize(w, "w_real", 0.5f, 0);
  builder.graph().nodes.back().quantization.zero_point = zero_points;
  builder.graph().nodes.back().quantization.scale.assign(zero_points.size(), 0.5f);
  Node conv;
  conv.kind = NodeKind::conv;
  const TensorId y = builder.add(conv, {x, real, kNoTensor}, "conv", DType::f32, {1, 2, 3, 3});
  builder.output(builder.quantize(y, "y", DType::u8, 1, 0));
  return *find_step(passed(builder, "fuse_requantization"), OpKind::conv2d);
}

std::vector<int32_t> weights_of(const Node& node) {
  const auto weights = node.values.at("weights").as<int8_t>();
  return {weights.begin(), weights.end()};
}

TEST(Products, WeightsAreCentredWhereTheyFit) {
  const Node node = centred(DType::u8, {3, 255, 131, 130}, {131});
  EXPECT_EQ(node.workload.weight_zero_point, ZeroPointForm::zero);
  EXPECT_EQ(node.workload.weight_dtype, DType::s8);
  EXPECT_EQ(weights_of(node), (std::vector<int32_t>{-128, 124, 0, -1}));
  EXPECT_FALSE(node.values.count("weight_zero_point"));
}

TEST(Products, OtherUnsignedWeightsBecomeSigned) {
  const Node node = centred(DType::u8, {0, 255, 131, 130}, {131});
  EXPECT_EQ(node.workload.weight_zero_point, ZeroPointForm::scalar);
  EXPECT_EQ(node.workload.weight_dtype, DType::s8);
  EXPECT_EQ(weights_of(node), (std::vector<int32_t>{-128, 127, 3, 2}));
  EXPECT_EQ(integer_value(node, "weight_zero_point"), 3);
}

TEST(Products, ZeroPointsPerChannelAreKeptOrBecomeOne) {
  const Node differ = centred(DType::u8, {0, 255, 0, 255}, {131, 120});
  EXPECT_EQ(differ.workload.weight_zero_point, ZeroPointForm::per_channel);
  EXPECT_EQ(differ.values.at("weight_zero_point").as<int32_t>()[1], -8);
  const Node same = centred(DType::s8, {-128, 127, 0, 0}, {5, 5});
  EXPECT_EQ(same.workload.weight_zero_point, ZeroPointForm::scalar);
  EXPECT_EQ(weights_of(same), (std::vector<int32_t>{-128, 127, 0, 0}));
}

/// relu(conv [q dq] + skip); `rounded` puts Q and DQ between.
GraphBuilder residual(bool rounded, bool second_reader = false, int32_t dequantize_zero_point = 4) {
  GraphBuilder builder;
  const TensorId skip = real_input(builder, 7, "skip");
  TensorId sum = builder.conv(real_input(builder), "conv", 2, 7);
  if (rounded) {
    sum = builder.quantize(sum, "conv_codes", DType::u8, 0.5f, 4);
    if (second_reader) builder.output(sum);
    sum = builder.dequantize(sum, "conv_real", 0.5f, dequantize_zero_point);
  }
  sum = builder.unary(NodeKind::relu, builder.binary(NodeKind::add, skip, sum, "sum"), "relu");
  builder.output(builder.quantize(sum, "y", DType::s8, 0.125f, -5));
  return builder;
}

TEST(Products, RoundedResidualJoins) {
  GraphBuilder builder = residual(true);
  const Graph graph = passed(builder);
  EXPECT_EQ(count_steps(graph, OpKind::add), 0u);
  const Node& conv = *find_step(graph, OpKind::conv2d);
  EXPECT_EQ(conv.workload.epilogue.residual, ResidualForm::rounded);
  EXPECT_EQ(conv.workload.inputs.size(), 2u);
  EXPECT_EQ(conv.workload.output.dtype, DType::s8);
  EXPECT_EQ(real_value(conv, "conv_scale"), 0.5f);
  EXPECT_EQ(real_value(conv, "residual_scale"), 0.25f);
  EXPECT_EQ(integer_value(conv, "residual_zero_point"), 7);
  EXPECT_EQ(real_value(conv, "lo"), -4.0f);
  EXPECT_EQ(real_value(conv, "sum_lo"), 0.0f);
  EXPECT_EQ(real_value(conv, "sum_hi"), 132.0f);
  EXPECT_EQ(integer_value(conv, "y_zero_point"), -5);
}

TEST(Products, ResidualStaysApartWhenTheProductIsReadElsewhereOrCentredOtherwise) {
  GraphBuilder read_twice = residual(true, true);
  EXPECT_EQ(count_steps(passed(read_twice), OpKind::add), 1u);
  GraphBuilder other_zero_point = residual(true, false, 9);
  EXPECT_EQ(count_steps(passed(other_zero_point), OpKind::add), 1u);
}

TEST(Products, UnroundedResidual) {
  GraphBuilder builder = residual(false);
  const Graph graph = passed(builder);
  const Node& conv = *find_step(graph, OpKind::conv2d);
  EXPECT_EQ(conv.workload.epilogue.residual, ResidualForm::unrounded);
  EXPECT_EQ(real_value(conv, "multiplier"), 0.25f * 0.5f);
  EXPECT_EQ(real_value(conv, "y_scale"), 0.125f);
  EXPECT_EQ(real_value(conv, "sum_lo"), 0.0f);
  EXPECT_FALSE(conv.values.count("lo"));
}

/// MatMul of two codes [2, 3, 4] and [2, 4, 5] (a Transpose of [2, 5, 4] if so), flat as the importer makes it.
TensorId matmul(GraphBuilder& builder, bool transposed) {
  TensorId a = builder.input("a", DType::u8, {2, 3, 4});
  TensorId b = builder.input("b", DType::s8, transposed ? Shape{2, 5, 4} : Shape{2, 4, 5});
  a = builder.reshape(builder.dequantize(a, "a_real", 0.25f, 3), "a_rows", {6, 4});
  b = builder.dequantize(b, "b_real", 0.5f, 0);
  if (transposed) {
    Node transpose;
    transpose.kind = NodeKind::move;
    transpose.order = {0, 2, 1};
    transpose.movement = transposition({2, 5, 4}, transpose.order);
    b = builder.add(transpose, {b}, "b_transposed", DType::f32, {2, 4, 5});
  }
  b = builder.reshape(b, "b_rows", {8, 5});
  Node node;
  node.kind = NodeKind::matmul;
  node.batch = 2;
  return builder.add(node, {a, b}, "matmul", DType::f32, {6, 5});
}

TEST(Products, MatmulOfTwoActivations) {
  for (const bool transposed : {false, true}) {
    GraphBuilder builder;
    builder.output(builder.quantize(matmul(builder, transposed), "y", DType::u8, 0.3f, 10));
    const Graph graph = passed(builder);
    const Node* node = find_step(graph, OpKind::matmul);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->workload.batch, 2);
    EXPECT_EQ(node->workload.transposed, transposed);
    EXPECT_EQ(node->workload.x_zero_point, ZeroPointForm::scalar);
    EXPECT_EQ(node->workload.weight_zero_point, ZeroPointForm::zero);
    EXPECT_EQ(node->workload.inputs[1].n, transposed ? 10 : 8);
    EXPECT_EQ(integer_value(*node, "a_zero_point"), 3);
    EXPECT_EQ(real_value(*node, "multiplier"), (0.25f * 0.5f) / 0.3f);
    EXPECT_EQ(integer_value(*node, "pad_code"), 10);
    EXPECT_NO_THROW(lower(builder.graph()));
  }
}

TEST(Products, SumsThatAreWantedAreInt32) {
  GraphBuilder builder;
  Node integer;
  integer.kind = NodeKind::integer;
  builder.output(builder.add(integer, {matmul(builder, false)}, "sums", DType::s32, {6, 5}));
  const TensorId conv = builder.conv(real_input(builder), "conv", 4, 7);
  builder.output(builder.add(integer, {conv}, "conv_sums", DType::s32, {1, 4, 3, 3}));
  const Program program = lower(builder.graph());
  for (const ProgramPort& port : program.outputs) {
    EXPECT_EQ(port.dtype, DType::s32);
    EXPECT_EQ(program.tensors[static_cast<size_t>(port.tensor)].form.layout, Layout::nchw);
  }
  for (const ProgramStep& step : program.steps) EXPECT_NO_THROW(check(step.workload, step.values));
}

}  // namespace
}  // namespace warpwright
