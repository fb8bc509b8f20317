// Models with nodes that cannot be taken: what is left of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/graph/lowering.h"
#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

ImportedGraph skipped(ModelBuilder& builder) {
  const TemporaryFolder folder;
  write_file(folder.path() / "model.onnx", builder.model().SerializeAsString());
  return import_onnx(folder.path() / "model.onnx", {}, Unsupported::skipped);
}

/// Says in the file what a tensor is; an extent of 0 stays open.
void declare(ModelBuilder& builder, const std::string& name, const Shape& shape) {
  onnx::ValueInfoProto& info = *builder.model().mutable_graph()->add_value_info();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx_type<float>());
  auto& declared = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int64_t extent : shape) {
    auto& dim = *declared.add_dim();
    if (extent > 0) dim.set_dim_value(extent);
  }
}

/// Convolutions before, between and behind three nodes that nobody knows.
ModelBuilder network() {
  ModelBuilder builder;
  builder.input("x", onnx_type<float>(), {1, 4, 8, 8});
  builder.constant("w", {4, 4, 1, 1}, std::vector<float>(16, 0.5f));
  builder.node("Conv", {"x", "w"}, {"before"});
  builder.node("Mystery", {"before"}, {"m"});
  builder.node("Conv", {"m", "w"}, {"between"});
  builder.node("Riddle", {"between", "w"}, {"r"});
  builder.node("Relu", {"r"}, {"hanging"});
  builder.node("Conv", {"hanging", "w"}, {"behind"});
  builder.output("behind");
  return builder;
}

std::vector<std::string> names(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<std::string> names;
  for (TensorId id : ids) names.push_back(graph.tensor(id).name);
  return names;
}

TEST(LeftOut, ADeclaredTensorGoesOnBehindIt) {
  ModelBuilder builder = network();
  declare(builder, "m", {1, 4, 8, 8});
  declare(builder, "r", {1, 4, 0, 8});
  ImportedGraph imported = skipped(builder);
  EXPECT_THAT(imported.left_out,
              ElementsAre(HasSubstr("'node_m' (Mystery): the operator is not supported"),
                          HasSubstr("'node_r' (Riddle): the operator is not supported"),
                          HasSubstr("'node_hanging' (Relu): hangs on"), HasSubstr("'node_behind' (Conv): hangs on")));
  EXPECT_THAT(names(imported.graph, imported.graph.inputs), ElementsAre("x", "m"));
  const Program program = lower(std::move(imported.graph));
  ASSERT_EQ(program.steps.size(), 2u);
  EXPECT_EQ(key(program.steps[0].workload), key(program.steps[1].workload));
  ASSERT_EQ(program.outputs.size(), 2u);
  EXPECT_EQ(program.outputs[0].name, "before");
  EXPECT_EQ(program.outputs[1].name, "between");
}

TEST(LeftOut, WhatHangsOnItMayBeDeclaredToo) {
  ModelBuilder builder = network();
  declare(builder, "hanging", {1, 4, 8, 8});
  ImportedGraph imported = skipped(builder);
  EXPECT_EQ(imported.left_out.size(), 4u);
  EXPECT_THAT(names(imported.graph, imported.graph.inputs), ElementsAre("x", "hanging"));
  const Program program = lower(std::move(imported.graph));
  ASSERT_EQ(program.outputs.size(), 2u);
  EXPECT_EQ(program.outputs[0].name, "behind");
  EXPECT_EQ(program.outputs[1].name, "before");
}

TEST(LeftOut, AWholeModelLosesNothing) {
  ModelBuilder builder;
  builder.input("x", onnx_type<float>(), {1, 4});
  builder.node("Relu", {"x"}, {"y"});
  builder.output("y");
  const ImportedGraph imported = skipped(builder);
  EXPECT_TRUE(imported.left_out.empty());
  EXPECT_EQ(imported.graph.outputs.size(), 1u);
}

TEST(LeftOut, ReportsSayWhyInPlaceOfFolded) {
  ModelBuilder builder = network();
  declare(builder, "m", {1, 4, 8, 8});
  ImportedGraph imported = skipped(builder);
  Lowered lowered = lower_with_report(std::move(imported.graph));
  mark_left_out(lowered.nodes, imported.why_left_out);
  std::vector<std::string> lines;
  for (const NodeReport& node : lowered.nodes) {
    lines.push_back(node.name + ": " + std::string(name(node.precision)));
    if (node.precision == Precision::left_out) lines.back() += ", " + node.why_real;
  }
  EXPECT_THAT(lines, ElementsAre("node_before: float32", "node_m: left out, the operator is not supported",
                                 "node_between: float32", "node_r: left out, the operator is not supported",
                                 "node_hanging: left out, hangs on what is left out",
                                 "node_behind: left out, hangs on what is left out"));
}

TEST(LeftOut, ReportsCountWhatACallHoldsAsLeftOutWithIt) {
  ModelBuilder builder;
  builder.input("x", onnx_type<float>(), {1, 4});
  onnx::FunctionProto& function = *builder.model().add_functions();
  function.set_name("F");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  for (const char* op_type : {"Neg", "Mystery"}) {
    onnx::NodeProto& node = *function.add_node();
    node.set_op_type(op_type);
    node.set_name(op_type);
    node.add_input(function.node_size() == 1 ? "a" : "inner");
    node.add_output(function.node_size() == 1 ? "inner" : "b");
  }
  builder.node("Abs", {"x"}, {"y"});
  builder.node("F", {"x"}, {"f"}, "own");
  builder.output("y");
  builder.output("f");
  ImportedGraph imported = skipped(builder);
  EXPECT_THAT(imported.why_left_out, ElementsAre(Pair("node_f/Mystery", "the operator is not supported"),
                                                 Pair("node_f/Neg", "part of what is left out")));
}

TEST(LeftOut, NothingLeftIsSaidWithTheReasons) {
  ModelBuilder builder;
  builder.input("x", onnx_type<float>(), {1, 4});
  builder.node("Mystery", {"x"}, {"y"});
  builder.output("y");
  try {
    skipped(builder);
    FAIL() << "a model without a node that can be taken was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing is left"));
    EXPECT_THAT(error.what(), HasSubstr("'node_y' (Mystery)"));
  }
}

}  // namespace
}  // namespace warpwright
