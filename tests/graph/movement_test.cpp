// Movement by strides: recorded results of the operators, and how quantization moves over them.
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/core/npy.h"
#include "src/graph/lowering.h"
#include "tests/graph/case_runner.h"
#include "tests/graph/graph_builder.h"

namespace warpwright {
namespace {

Tensor codes(const Shape& shape) {
  Tensor tensor(DType::u8, shape);
  for (size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i);
  return tensor;
}

std::vector<int32_t> integers(const Tensor& tensor) {
  const auto bytes = tensor.as<uint8_t>();
  return {bytes.begin(), bytes.end()};
}

TensorId transpose(GraphBuilder& builder, TensorId x, const std::string& output, const std::vector<int64_t>& order) {
  const Shape from = builder.graph().tensor(x).shape;
  Node node;
  node.kind = NodeKind::move;
  node.movement = transposition(from, order);
  node.order = order;
  Shape shape;
  for (const int64_t dimension : order) shape.push_back(from[static_cast<size_t>(dimension)]);
  const DType dtype = builder.graph().tensor(x).dtype;
  return builder.add(std::move(node), {x}, output, dtype, std::move(shape));
}

/// [n, c] with a column of `fill` behind.
TensorId padded(GraphBuilder& builder, TensorId x, const std::string& output, float fill) {
  const Shape shape = builder.graph().tensor(x).shape;
  Node node;
  node.kind = NodeKind::move;
  node.movement = simplified({0, {{shape[0], shape[1], 0, shape[0]}, {shape[1] + 1, 1, 0, shape[1]}}});
  node.fill = fill;
  const DType dtype = builder.graph().tensor(x).dtype;
  return builder.add(std::move(node), {x}, output, dtype, {shape[0], shape[1] + 1});
}

TEST(Movement, OperatorsGiveWhatIsRecorded) {
  const auto folder = test_data_folder() / "models/movement";
  const NamedTensors outputs =
      run_on_reference(lower(import_onnx(folder / "model.onnx", {})), {{"x", read_npy(folder / "input_x.npy")}});
  EXPECT_EQ(outputs.size(), 17u);
  for (const auto& [name, output] : outputs) {
    EXPECT_EQ(difference(output, read_npy(folder / ("expected_" + name + ".npy"))), "") << name;
  }
}

TEST(Movement, OtherParametersBehindATransposeAreATableBeforeIt) {
  GraphBuilder builder;
  const TensorId x = builder.dequantize(builder.input("x", DType::u8, {2, 3}), "real", 0.5f, 0);
  builder.output(builder.quantize(transpose(builder, x, "turned", {1, 0}), "y", DType::u8, 0.25f, 1));
  const Program program = lower(builder.graph());
  EXPECT_EQ(integers(run_on_reference(program, {{"x", codes({2, 3})}}).at("y")),
            (std::vector<int32_t>{1, 7, 3, 9, 5, 11}));
}

TEST(Movement, FillBecomesACode) {
  GraphBuilder builder;
  const TensorId x = builder.dequantize(builder.input("x", DType::u8, {2, 2}), "real", 0.5f, 4);
  builder.output(builder.quantize(padded(builder, x, "padded", 1.3f), "y", DType::u8, 0.5f, 4));
  builder.output(builder.quantize(padded(builder, x, "saturated", 1e9f), "z", DType::u8, 0.5f, 4));
  const NamedTensors outputs = run_on_reference(lower(builder.graph()), {{"x", codes({2, 2})}});
  EXPECT_EQ(integers(outputs.at("y")), (std::vector<int32_t>{0, 1, 7, 2, 3, 7}));
  EXPECT_EQ(integers(outputs.at("z")), (std::vector<int32_t>{0, 1, 255, 2, 3, 255}));
}

TEST(Movement, FillThatIsNoCodeStaysInFloat) {
  for (const auto& [fill, moves] : std::vector<std::pair<float, DType>>{{1.5f, DType::u8}, {1.3f, DType::f32}}) {
    GraphBuilder builder;
    const TensorId x = builder.dequantize(builder.input("x", DType::u8, {1, 2}), "real", 0.5f, 1);
    builder.output(padded(builder, x, "y", fill));
    const Program program = lower(builder.graph());
    for (const ProgramStep& step : program.steps) {
      if (step.workload.kind != OpKind::move) continue;
      EXPECT_EQ(step.workload.output.dtype, moves);
    }
    const Tensor y = run_on_reference(program, {{"x", codes({1, 2})}}).at("y");
    const auto values = y.as<float>();
    EXPECT_EQ((std::vector<float>{values.begin(), values.end()}), (std::vector<float>{-0.5f, 0.0f, fill}));
  }
}

TEST(Movement, FloatThatIsOnlyMovedIsTaken) {
  GraphBuilder builder;
  const TensorId x = transpose(builder, builder.input("x", DType::f32, {2, 2}), "turned", {1, 0});
  builder.output(builder.quantize(x, "y", DType::u8, 1.0f, 0));
  builder.output(builder.quantize(x, "z", DType::u8, 2.0f, 0));
  builder.output(builder.reshape(x, "real", {4}));
  Tensor input = vector_f32(std::vector<float>{1, 2, 3, 4});
  input.shape = {2, 2};
  const NamedTensors outputs = run_on_reference(lower(builder.graph()), {{"x", input}});
  EXPECT_EQ(integers(outputs.at("y")), (std::vector<int32_t>{1, 3, 2, 4}));
  EXPECT_EQ(integers(outputs.at("z")), (std::vector<int32_t>{0, 2, 1, 2}));
  EXPECT_EQ(outputs.at("real").shape, (Shape{4}));
}

TEST(Movement, ScalesOfATransposedWeightFollow) {
  GraphBuilder builder;
  Node dequantize;
  dequantize.kind = NodeKind::dequantize;
  dequantize.quantization = {DType::s8, {0.5f, 2.0f}, {0, 0}, 0};
  const TensorId w = builder.add(dequantize, {builder.code_constant("w", DType::s8, {2, 3}, {1, 2, 3, 4, 5, 6})},
                                 "w_real", DType::f32, {2, 3});
  Node gemm;
  gemm.kind = NodeKind::gemm;
  const TensorId x = builder.dequantize(builder.input("x", DType::u8, {1, 3}), "x_real", 1.0f, 0);
  const TensorId y =
      builder.add(gemm, {x, transpose(builder, w, "w_turned", {1, 0}), kNoTensor}, "gemm", DType::f32, {1, 2});
  builder.output(builder.quantize(y, "y", DType::u8, 1.0f, 0));
  EXPECT_EQ(integers(run_on_reference(lower(builder.graph()), {{"x", codes({1, 3})}}).at("y")),
            (std::vector<int32_t>{4, 34}));
}

TEST(Movement, OutputsKeepTheirShapesWhereNoByteMoves) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::u8, {2, 8, 1, 1});
  builder.output(builder.reshape(x, "y2", {2, 8}));
  builder.output(builder.reshape(x, "y3", {2, 8, 1}));
  const NamedTensors outputs = run_on_reference(lower(builder.graph()), {{"x", codes({2, 8, 1, 1})}});
  EXPECT_EQ(outputs.at("y2").shape, (Shape{2, 8}));
  EXPECT_EQ(outputs.at("y3").shape, (Shape{2, 8, 1}));
}

}  // namespace
}  // namespace warpwright
