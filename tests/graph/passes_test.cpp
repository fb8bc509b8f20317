// Passes away from products: movement, constants, tables, layouts, dead nodes.
#include <gtest/gtest.h>

#include <cmath>

#include "src/core/error.h"
#include "src/graph/lowering.h"
#include "src/graph/passes/table.h"
#include "tests/graph/graph_builder.h"

namespace warpwright {
namespace {

/// u8 codes [1, 2, 3, 3] as float32 of scale 0.25.
TensorId real_input(GraphBuilder& builder, const std::string& name = "x", float scale = 0.25f) {
  return builder.dequantize(builder.input(name, DType::u8, {1, 2, 3, 3}), name + "_real", scale, 3);
}

TEST(Passes, NamesAreUniqueAndUnknownOnesRefused) {
  std::vector<std::string> names = pass_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  Graph graph;
  EXPECT_THROW(run_passes(graph, "no_such_pass"), UsageError);
}

TEST(Passes, IdentitiesAndDeadNodesGo) {
  GraphBuilder builder;
  const TensorId x = real_input(builder);
  builder.unary(NodeKind::sigmoid, x, "dead");
  const TensorId same = builder.unary(NodeKind::identity, builder.unary(NodeKind::identity, x, "i"), "j");
  builder.output(builder.quantize(same, "y", DType::u8, 0.25f, 3));
  run_passes(builder.graph(), "remove_identities");
  ASSERT_EQ(builder.graph().nodes.size(), 2u);
  EXPECT_EQ(builder.graph().nodes[1].inputs[0], x);
}

TEST(Passes, QuantizeMovesUpOverConcatOfDifferentScales) {
  GraphBuilder builder;
  Node concat;
  concat.kind = NodeKind::concat;
  concat.axis = 1;
  const TensorId parts = builder.add(concat, {real_input(builder, "a"), real_input(builder, "b", 0.5f)}, "parts",
                                     DType::f32, {1, 4, 3, 3});
  builder.output(builder.quantize(parts, "y", DType::u8, 0.5f, 3));
  run_passes(builder.graph());
  EXPECT_EQ(count_steps(builder.graph(), OpKind::concat), 1u);
  EXPECT_EQ(count_steps(builder.graph(), OpKind::lookup), 1u);  // the part of the same scale needs none
}

TEST(Passes, DequantizeMovesDownOverReshapeToAProduct) {
  GraphBuilder builder;
  const TensorId flat = builder.reshape(real_input(builder), "flat", {1, 18, 1, 1});
  builder.output(builder.quantize(builder.conv(flat, "conv", 2, 1), "y", DType::u8, 1, 0));
  run_passes(builder.graph());
  EXPECT_EQ(count_steps(builder.graph(), OpKind::conv2d), 1u);
  EXPECT_EQ(count_steps(builder.graph(), OpKind::layout), 3u);  // input, flatten, output
}

TEST(Passes, ReshapeThatMovesNothingGoes) {
  GraphBuilder builder;
  const TensorId x = builder.dequantize(builder.input("x", DType::u8, {2, 8, 1, 1}), "x_real", 0.25f, 3);
  builder.output(builder.quantize(builder.reshape(x, "flat", {2, 8}), "y", DType::u8, 0.5f, 3));
  run_passes(builder.graph());
  EXPECT_EQ(count_steps(builder.graph(), OpKind::layout), 2u);  // the ends alone
  EXPECT_EQ(count_steps(builder.graph(), OpKind::lookup), 1u);
}

TEST(Passes, FloatWeightsThroughQuantizeAreFolded) {
  GraphBuilder builder;
  const TensorId w = builder.real_constant("w", {2, 2, 1, 1}, {0.25f, 0.75f, -100.0f, 1.0f});
  const TensorId codes = builder.quantize(w, "w_codes", DType::s8, 0.5f, 0);
  Node conv;
  conv.kind = NodeKind::conv;
  const TensorId y = builder.add(conv, {real_input(builder), builder.dequantize(codes, "w_real", 0.5f, 0), kNoTensor},
                                 "conv", DType::f32, {1, 2, 3, 3});
  builder.output(builder.quantize(y, "y", DType::u8, 1, 0));
  run_passes(builder.graph());
  const auto weights = find_step(builder.graph(), OpKind::conv2d)->values.at("weights").as<int8_t>();
  EXPECT_EQ((std::vector<int8_t>{weights.begin(), weights.end()}), (std::vector<int8_t>{0, 2, -128, 2}));
}

TEST(Passes, ChainsBecomeOneTable) {
  GraphBuilder builder;
  const TensorId x = real_input(builder);
  const TensorId gate = builder.quantize(builder.unary(NodeKind::sigmoid, x, "sigmoid"), "gate", DType::u8, 0.01f, 0);
  const TensorId product = builder.binary(NodeKind::mul, x, builder.dequantize(gate, "gate_real", 0.01f, 0), "product");
  builder.output(builder.quantize(product, "y", DType::s8, 0.125f, -9));
  run_passes(builder.graph());
  ASSERT_EQ(count_steps(builder.graph(), OpKind::lookup), 1u);
  EXPECT_EQ(count_steps(builder.graph(), OpKind::mul), 0u);
  const CodeTable table = code_table(find_step(builder.graph(), OpKind::lookup)->values.at("table"));
  for (int code = 0; code < 256; ++code) {
    const float real = static_cast<float>(code - 3) * 0.25f;
    const auto sigmoid = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(real))));
    const float gate_code = std::min(255.0f, std::nearbyint(sigmoid / 0.01f));
    const float y = std::nearbyint(real * (gate_code * 0.01f) / 0.125f) - 9.0f;
    EXPECT_EQ(code_of(DType::s8, table[static_cast<size_t>(code)]), static_cast<int>(std::clamp(y, -128.0f, 127.0f)));
  }
}

/// As quantizers write what a learned scale and offset do to a tensor.
TEST(Passes, NumbersThatAreQuantizedThemselvesArePartOfATable) {
  GraphBuilder builder;
  const TensorId x = builder.dequantize(builder.input("x", DType::u8, {1, 2, 3, 3}), "real", 0.25f, 100);
  const TensorId scale = builder.dequantize(builder.code_constant("s", DType::u8, {1}, {200}), "scale", 0.125f, 80);
  const TensorId offset = builder.dequantize(builder.code_constant("o", DType::s8, {}, {-7}), "offset", 0.5f, 0);
  const TensorId scaled = builder.quantize(builder.binary(NodeKind::mul, scale, x, "scaled"), "c", DType::u8, 4, 128);
  const TensorId sum = builder.binary(NodeKind::add, builder.dequantize(scaled, "d", 4, 128), offset, "sum");
  builder.output(builder.quantize(sum, "y", DType::u8, 2, 60));
  run_passes(builder.graph());
  EXPECT_EQ(count_steps(builder.graph(), OpKind::map), 0u);
  ASSERT_EQ(count_steps(builder.graph(), OpKind::lookup), 1u);
  const CodeTable table = code_table(find_step(builder.graph(), OpKind::lookup)->values.at("table"));
  for (int code = 0; code < 256; ++code) {
    const float product = 15.0f * (static_cast<float>(code - 100) * 0.25f);
    const float middle = std::clamp(std::nearbyint(product / 4), -128.0f, 127.0f) * 4;
    const float y = std::clamp(std::nearbyint((middle - 3.5f) / 2), -60.0f, 195.0f) + 60;
    EXPECT_EQ(table[static_cast<size_t>(code)], static_cast<int>(y)) << code;
  }
}

TEST(Passes, TableThatClampsTightensBounds) {
  GraphBuilder builder;
  const TensorId codes = builder.quantize(builder.conv(real_input(builder), "conv", 2, 1), "codes", DType::u8, 0.5f, 9);
  const TensorId relu = builder.unary(NodeKind::relu, builder.dequantize(codes, "real", 0.5f, 9), "relu");
  builder.output(builder.quantize(relu, "y", DType::u8, 0.5f, 9));
  run_passes(builder.graph());
  EXPECT_EQ(count_steps(builder.graph(), OpKind::lookup), 0u);
  const Node& conv = *find_step(builder.graph(), OpKind::conv2d);
  EXPECT_EQ(real_value(conv, "lo"), 0.0f);
  EXPECT_FALSE(conv.workload.epilogue.table);
}

TEST(Passes, OtherTableJoinsTheProduct) {
  GraphBuilder builder;
  const TensorId codes = builder.quantize(builder.conv(real_input(builder), "conv", 2, 1), "codes", DType::u8, 0.5f, 9);
  const TensorId tanh = builder.unary(NodeKind::tanh, builder.dequantize(codes, "real", 0.5f, 9), "tanh");
  builder.output(builder.quantize(tanh, "y", DType::s8, 0.01f, 0));
  run_passes(builder.graph());
  EXPECT_EQ(count_steps(builder.graph(), OpKind::lookup), 0u);
  const Node& conv = *find_step(builder.graph(), OpKind::conv2d);
  EXPECT_TRUE(conv.workload.epilogue.table);
  EXPECT_EQ(conv.workload.epilogue.table_input, DType::u8);
  EXPECT_EQ(conv.workload.output.dtype, DType::s8);
}

TEST(Passes, TableStaysWhereTheCodesAreReadElsewhere) {
  GraphBuilder builder;
  const TensorId codes = builder.quantize(builder.conv(real_input(builder), "conv", 2, 1), "codes", DType::u8, 0.5f, 9);
  builder.output(codes);
  const TensorId relu = builder.unary(NodeKind::relu, builder.dequantize(codes, "real", 0.5f, 9), "relu");
  builder.output(builder.quantize(relu, "y", DType::u8, 0.5f, 9));
  run_passes(builder.graph());
  EXPECT_EQ(count_steps(builder.graph(), OpKind::lookup), 1u);
  EXPECT_EQ(real_value(*find_step(builder.graph(), OpKind::conv2d), "lo"), -9.0f);
}

TEST(Passes, ClampTableMustHoldForAllCodes) {
  CodeTable table;
  for (size_t i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(std::clamp<size_t>(i, 7, 250));
  const auto clamp = as_clamp(table, DType::u8);
  ASSERT_TRUE(clamp);
  EXPECT_EQ(clamp->lo, 7);
  EXPECT_EQ(clamp->hi, 250);
  EXPECT_FALSE(as_clamp(table, DType::s8));
  table[100] = 101;
  EXPECT_FALSE(as_clamp(table, DType::u8));
}

TEST(Passes, FormsArePaddedInsideAndDenseAtTheEnds) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::f32, {1, 5, 3, 4});
  const TensorId codes = builder.quantize(x, "codes", DType::s8, 0.5f, -7);
  const TensorId relu = builder.unary(NodeKind::tanh, builder.dequantize(codes, "real", 0.5f, -7), "tanh");
  builder.output(builder.quantize(relu, "y", DType::s8, 0.25f, 11));
  run_passes(builder.graph());
  const Node& quantize = *find_step(builder.graph(), OpKind::quantize);
  EXPECT_EQ(quantize.workload.inputs[0], nchw_form(DType::f32, 1, 5, 3, 4));
  EXPECT_EQ(quantize.workload.output, nhwc_form(DType::s8, 1, 3, 4, 5));
  EXPECT_EQ(integer_value(quantize, "pad_code"), -7);
  EXPECT_EQ(integer_value(*find_step(builder.graph(), OpKind::lookup), "pad_code"), 11);
  const Node& layout = *find_step(builder.graph(), OpKind::layout);
  EXPECT_EQ(layout.workload.output, nchw_form(DType::s8, 1, 5, 3, 4));
}

TEST(Passes, TextAndJsonShowEveryNode) {
  GraphBuilder builder;
  builder.output(builder.quantize(builder.conv(real_input(builder), "conv", 2, 1), "y", DType::u8, 0.5f, 9));
  EXPECT_NE(to_text(builder.graph()).find("= Conv("), std::string::npos);
  run_passes(builder.graph(), "form_steps");
  EXPECT_NE(to_text(builder.graph()).find("y:u8[1,2,3,3] = step.conv2d("), std::string::npos);
  EXPECT_EQ(to_json(builder.graph()).at("nodes").size(), builder.graph().nodes.size());
}

}  // namespace
}  // namespace warpwright
