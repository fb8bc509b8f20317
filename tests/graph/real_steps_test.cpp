// Float32 steps: what is left in float32, beside 8-bit parts that stay as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/graph/formula.h"
#include "src/graph/lowering.h"
#include "tests/graph/case_runner.h"
#include "tests/graph/graph_builder.h"

namespace warpwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor reals(Shape shape, const std::vector<float>& values) {
  Tensor tensor = vector_f32(values);
  tensor.shape = std::move(shape);
  return tensor;
}

Tensor tensor_of_integers(Shape shape, const std::vector<int32_t>& values) {
  Tensor tensor = vector_s32(values);
  tensor.shape = std::move(shape);
  return tensor;
}

std::vector<float> output(const Graph& graph, const NamedTensors& inputs, const std::string& name) {
  const Tensor tensor = run_on_reference(lower(graph), inputs).at(name);
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

size_t count_steps_of(const Graph& graph, OpKind kind) {
  Graph copy = graph;
  run_passes(copy);
  return count_steps(copy, kind);
}

TEST(RealSteps, ProductWithoutQuantizeLinearGivesItsScaledSums) {
  GraphBuilder builder;
  const TensorId x = builder.dequantize(builder.input("x", DType::u8, {1, 2, 1, 2}), "real", 0.25f, 4);
  builder.output(builder.conv(x, "y", 3, 3, builder.real_constant("bias", {3}, {0.0f, 1.0f, -0.3f})));
  Tensor codes(DType::u8, {1, 2, 1, 2});
  for (size_t i = 0; i < 4; ++i) codes.bytes[i] = static_cast<std::byte>(10 * i);
  // Sums ((0 - 4) + (20 - 4)) * 3 = 36 and ((10 - 4) + (30 - 4)) * 3 = 96, times 0.25 * 0.5.
  EXPECT_THAT(output(builder.graph(), {{"x", codes}}, "y"),
              ElementsAre(4.5f, 12.0f, 5.5f, 13.0f, 4.5f - 0.3f, 12.0f - 0.3f));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::conv2d), 1u);
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::map), 1u);
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::real_conv2d), 0u);
}

TEST(RealSteps, ConvolutionOfFloatsTakesDequantizedWeights) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {1, 2, 1, 2});
  builder.output(builder.unary(NodeKind::relu, builder.conv(x, "conv", 1, 3), "y"));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({1, 2, 1, 2}, {1, -2, 3, 0.5f})}}, "y"), ElementsAre(6.0f, 0.0f));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::real_conv2d), 1u);
}

TEST(RealSteps, MapsThatFollowEachOtherAreOne) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {2, 2});
  const TensorId sum = builder.binary(NodeKind::add, x, builder.real_constant("row", {2}, {1, 2}), "sum");
  const TensorId relu = builder.unary(NodeKind::relu, sum, "relu");
  builder.output(builder.binary(NodeKind::mul, relu, sum, "y"));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({2, 2}, {1, -3, -4, 2})}}, "y"),
              ElementsAre(4.0f, 0.0f, 0.0f, 16.0f));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::map), 1u);
}

TEST(RealSteps, ValueThatTwoReadIsComputedOnce) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {4});
  const TensorId relu = builder.unary(NodeKind::relu, x, "relu");
  builder.output(builder.unary(NodeKind::tanh, relu, "y"));
  builder.output(builder.unary(NodeKind::sigmoid, relu, "z"));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::map), 3u);
}

TEST(RealSteps, OneFormHoweverAFormulaIsPutTogether) {
  std::vector<std::string> keys;
  for (const bool other_way : {false, true}) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::f32, {5});
    Formula formula(builder.graph());
    const Term a = formula.tensor(x);
    const Term first = other_way ? a * 3.0f : a + 2.0f, second = other_way ? a + 2.0f : a * 3.0f;
    Node node = formula.step(other_way ? second - first : first - second);
    builder.output(builder.add(node, node.inputs, "y", DType::f32, {5}));
    EXPECT_THAT(output(builder.graph(), {{"x", reals({5}, {0, 1, 2, 3, 4})}}, "y"), ElementsAre(2, 0, -2, -4, -6));
    run_passes(builder.graph());
    keys.push_back(key(find_step(builder.graph(), OpKind::map)->workload));
  }
  EXPECT_EQ(keys[0], keys[1]);
}

TEST(RealSteps, ReshapeOfFloatsCostsNothing) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {2, 3});
  const TensorId relu = builder.unary(NodeKind::relu, builder.reshape(x, "flat", {6}), "relu");
  builder.output(builder.reshape(relu, "y", {3, 2}));
  const Program program = lower(builder.graph());
  EXPECT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.outputs[0].shape, (Shape{3, 2}));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({2, 3}, {1, -1, 2, -2, 3, -3})}}, "y"),
              ElementsAre(1, 0, 2, 0, 3, 0));
}

TEST(RealSteps, ScalesAlongAnyAxis) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {2, 3});
  Node quantize;
  quantize.kind = NodeKind::quantize;
  quantize.quantization = {DType::s8, {0.5f, 1.0f, 0.01f}, {0, 1, -2}, 1};
  const TensorId codes = builder.add(quantize, {x}, "codes", DType::s8, {2, 3});
  Node dequantize = quantize;
  dequantize.kind = NodeKind::dequantize;
  builder.output(builder.add(dequantize, {codes}, "y", DType::f32, {2, 3}));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({2, 3}, {0.75f, 2.5f, 9.0f, -1, -200, 0.5f})}}, "y"),
              ElementsAre(1.0f, 2.0f, 129 * 0.01f, -1.0f, -129.0f, 50 * 0.01f));
}

TEST(RealSteps, ConcatOfAConstantAndFloats) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {2, 1, 2});
  Node concat;
  concat.kind = NodeKind::concat;
  concat.axis = 1;
  const TensorId token = builder.real_constant("token", {2, 1, 2}, {7, 8, 9, 10});
  builder.output(builder.add(concat, {token, x}, "y", DType::f32, {2, 2, 2}));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({2, 1, 2}, {1, 2, 3, 4})}}, "y"),
              ElementsAre(7, 8, 1, 2, 9, 10, 3, 4));
}

TEST(RealSteps, ConstantsAreComputedWithinTheModelsBudget) {
  // 64^3 multiply-adds; 1024^3; 2^26 floats that come of two vectors.
  const std::vector<std::pair<Shape, Shape>> pairs{
      {{64, 64}, {64, 64}}, {{1024, 1024}, {1024, 1024}}, {{8192, 1}, {1, 8192}}};
  std::vector<size_t> left;
  for (const auto& [a, b] : pairs) {
    GraphBuilder builder;
    builder.output(builder.unary(NodeKind::relu, builder.input("x", DType::f32, {2}), "y"));
    Node product;
    product.kind = NodeKind::matmul;
    builder.output(builder.add(
        product, {builder.constant("a", Tensor(DType::f32, a)), builder.constant("b", Tensor(DType::f32, b))},
        "product", DType::f32, {a[0], b[1]}));
    left.push_back(count_steps_of(builder.graph(), OpKind::real_matmul));
  }
  EXPECT_THAT(left, ElementsAre(0u, 1u, 1u));
}

TEST(RealSteps, ConstantThatIsReadTwiceIsWrittenOnce) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {2}), c = builder.real_constant("c", {1}, {7});
  Node concat;
  concat.kind = NodeKind::concat;
  builder.output(builder.add(concat, {c, x, c, c}, "y", DType::f32, {5}));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({2}, {1, 2})}}, "y"), ElementsAre(7, 1, 2, 7, 7));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::map), 1u);
}

TEST(RealSteps, CodesBehindAConstantThatIsComputedHere) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {3});
  // relu(-1, 0.3, 2) in steps of 0.25.
  const TensorId constant = builder.unary(NodeKind::relu, builder.real_constant("c", {3}, {-1, 0.3f, 2}), "relu");
  Node quantize;
  quantize.kind = NodeKind::quantize;
  quantize.quantization = {DType::u8, {0.25f}, {7}, 0};
  const TensorId codes = builder.add(quantize, {constant}, "codes", DType::u8, {3});
  const TensorId real = builder.dequantize(codes, "real", 0.25f, 7);
  builder.output(builder.binary(NodeKind::add, x, real, "y"));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({3}, {1, 2, 3})}}, "y"), ElementsAre(1.0f, 2.25f, 5.0f));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::quantize), 0u);
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::map), 1u);
}

TEST(RealSteps, IntegersThatAreConstantOnlyHereAreReshaped) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::s32, {2, 2});
  Formula formula(builder.graph());
  const Term twice =
      formula.tensor(builder.code_constant("c", DType::s32, {2, 1}, {3, 4})) + formula.integer(DType::s32, 1);
  Node node = formula.step(twice);
  const TensorId sums = builder.add(node, node.inputs, "sums", DType::s32, {2, 1});
  const TensorId row = builder.reshape(sums, "row", {1, 2});
  Formula product(builder.graph());
  Node multiply = product.step(product.tensor(x) * product.tensor(row));
  builder.output(builder.add(multiply, multiply.inputs, "y", DType::s32, {2, 2}));
  const Tensor y = run_on_reference(lower(builder.graph()), {{"x", tensor_of_integers({2, 2}, {1, 2, 3, 4})}}).at("y");
  EXPECT_THAT(y.as<int32_t>(), ElementsAre(4, 10, 12, 20));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::map), 1u);
}

TEST(RealSteps, CodesThatAreConstantOnlyHereAreAnOutput) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {3});
  builder.output(builder.unary(NodeKind::relu, x, "y"));
  const TensorId constant = builder.unary(NodeKind::relu, builder.real_constant("c", {3}, {-1, 0.3f, 2}), "relu");
  Node quantize;
  quantize.kind = NodeKind::quantize;
  quantize.quantization = {DType::u8, {0.25f}, {7}, 0};
  builder.output(builder.add(quantize, {constant}, "codes", DType::u8, {3}));
  const Tensor codes = run_on_reference(lower(builder.graph()), {{"x", reals({3}, {1, 2, 3})}}).at("codes");
  EXPECT_THAT(codes.as<uint8_t>(), ElementsAre(7, 8, 15));
}

TEST(RealSteps, ConstantOutputIsWritten) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {2});
  builder.output(builder.unary(NodeKind::relu, x, "y"));
  builder.output(builder.unary(NodeKind::relu, builder.real_constant("c", {3}, {-1, 0, 2}), "z"));
  EXPECT_THAT(output(builder.graph(), {{"x", reals({2}, {1, 2})}}, "z"), ElementsAre(0, 0, 2));
}

TEST(RealSteps, ConstantOutputIsWrittenWhateverTheInputIs) {
  const std::vector<Shape> shapes{{3}, {2, 3}, {2, 3, 2}, {1, 3, 2, 2}, {2, 3, 1, 2, 2}, {2, 16, 1, 2}};
  for (const DType dtype : {DType::u8, DType::s8, DType::s32, DType::s64, DType::boolean, DType::f32}) {
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + to_text(shape));
      GraphBuilder builder;
      builder.input("x", dtype, shape);
      builder.output(builder.unary(NodeKind::relu, builder.real_constant("c", {3}, {-1, 0, 2}), "z"));
      builder.output(builder.code_constant("codes", DType::s8, {1, 3, 2, 1}, {-128, -1, 0, 1, 2, 127}));
      Tensor x(dtype, shape);
      if (dtype != DType::boolean) std::fill(x.bytes.begin(), x.bytes.end(), std::byte{0x35});
      const NamedTensors outputs = run_on_reference(lower(builder.graph()), {{"x", x}});
      EXPECT_THAT(outputs.at("z").as<float>(), ElementsAre(0, 0, 2));
      EXPECT_THAT(outputs.at("codes").as<int8_t>(), ElementsAre(-128, -1, 0, 1, 2, 127));
    }
  }
}

TEST(RealSteps, CodesOfAProductAreReadAsTheyLie) {
  GraphBuilder builder;
  const TensorId x = builder.dequantize(builder.input("x", DType::u8, {1, 2, 1, 2}), "real", 0.25f, 4);
  const TensorId codes = builder.quantize(builder.conv(x, "conv", 3, 3), "codes", DType::u8, 0.5f, 0);
  Node scales;  // along the channels: no 8-bit pass takes it
  scales.kind = NodeKind::dequantize;
  scales.quantization = {DType::u8, {1.0f, 2.0f, 0.5f}, {0, 1, 0}, 1};
  builder.output(builder.add(scales, {codes}, "y", DType::f32, {1, 3, 1, 2}));
  Tensor input(DType::u8, {1, 2, 1, 2});
  for (size_t i = 0; i < 4; ++i) input.bytes[i] = static_cast<std::byte>(10 * i);
  // 4.5 and 12 in steps of 0.5 are 9 and 24.
  EXPECT_THAT(output(builder.graph(), {{"x", input}}, "y"), ElementsAre(9, 24, 16, 46, 4.5f, 12));
  EXPECT_EQ(count_steps_of(builder.graph(), OpKind::conv2d), 1u);
}

TEST(RealSteps, ReportSaysWhatIsWhereAndWhy) {
  const auto folder = test_data_folder() / "cases/matmul_float_result";
  const Lowered lowered = lower_with_report(import_onnx(folder / "model.onnx", {}));
  bool found = false;
  for (const NodeReport& node : lowered.nodes) {
    if (node.op_type != "MatMul") continue;
    found = true;
    EXPECT_EQ(node.precision, Precision::codes);
    EXPECT_EQ(node.steps.size(), 2u);
    EXPECT_THAT(node.why_real, HasSubstr("no QuantizeLinear"));
  }
  EXPECT_TRUE(found);
  const auto parts = shares(lowered.program);
  EXPECT_EQ(parts.count(Precision::real), 1u);
  EXPECT_GT(parts.at(Precision::codes).multiply_adds, 0);
}

TEST(RealSteps, WeightThatVariesIsRefusedByName) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {1, 1, 2, 2}), w = builder.input("w", DType::f32, {1, 1, 1, 1});
  Node conv;
  conv.kind = NodeKind::conv;
  builder.output(builder.add(conv, {x, w, kNoTensor}, "y", DType::f32, {1, 1, 2, 2}));
  try {
    lower(builder.graph());
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'y'"));
    EXPECT_THAT(error.what(), HasSubstr("\"w\" is no constant"));
  }
}

}  // namespace
}  // namespace warpwright
