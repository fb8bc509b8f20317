// Arithmetic of shapes that hangs on no graph input folds away; branches that constants choose too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kUint8 = onnx_type<uint8_t>();
constexpr int64_t kToInt64 = onnx_type<int64_t>();

/// Codes "x" [2,3,4] reshaped to what "shape" holds.
ModelBuilder begin(int64_t opset = 13) {
  ModelBuilder model(opset);
  model.input("x", kUint8, {2, 3, 4});
  return model;
}

Shape shape_of_reshaped(ModelBuilder& model) {
  model.node("Reshape", {"x", "shape"}, {"y"});
  model.output("y");
  const Program program = model.program();
  return program.outputs[0].shape;
}

TEST(Folding, ShapeGatherConcat) {
  ModelBuilder model = begin();
  model.node("Shape", {"x"}, {"all"});
  model.constant<int64_t>("zero", {}, {0});
  model.constant<int64_t>("axes", {1}, {0});
  model.constant<int64_t>("rest", {1}, {-1});
  set(model.node("Gather", {"all", "zero"}, {"batch"}), "axis", int64_t{0});
  model.node("Unsqueeze", {"batch", "axes"}, {"batch_list"});
  set(model.node("Concat", {"batch_list", "rest"}, {"shape"}), "axis", int64_t{0});
  EXPECT_EQ(shape_of_reshaped(model), (Shape{2, 12}));
}

TEST(Folding, SliceAndReduceProd) {
  ModelBuilder model = begin();
  model.node("Shape", {"x"}, {"all"});
  model.constant<int64_t>("one", {1}, {1});
  model.constant<int64_t>("end", {1}, {1 << 30});
  model.constant<int64_t>("two", {1}, {2});
  model.node("Slice", {"all", "one", "end"}, {"tail"});
  set(model.node("ReduceProd", {"tail"}, {"count"}), "keepdims", int64_t{1});
  model.node("Div", {"count", "two"}, {"half"});
  set(model.node("Concat", {"half", "two", "two"}, {"shape"}), "axis", int64_t{0});
  EXPECT_EQ(shape_of_reshaped(model), (Shape{6, 2, 2}));
}

TEST(Folding, FloatDetourOfOldExporters) {
  ModelBuilder model = begin();
  set(model.node("Shape", {"x"}, {"all"}), "start", int64_t{1});
  set(model.node("Cast", {"all"}, {"real"}), "to", int64_t{1});
  model.constant<float>("factor", {}, {2.5f});
  model.node("Mul", {"real", "factor"}, {"scaled"});  // 7.5, 10
  model.node("Floor", {"scaled"}, {"whole"});         // 7, 10
  set(model.node("Cast", {"whole"}, {"ints"}), "to", kToInt64);
  model.constant<int64_t>("five", {2}, {5, 7});
  set(model.node("Mod", {"ints", "five"}, {"rest"}), "fmod", int64_t{0});  // 2, 3
  model.constant<int64_t>("minus", {1}, {-1});
  set(model.node("Concat", {"rest", "minus"}, {"shape"}), "axis", int64_t{0});
  EXPECT_EQ(shape_of_reshaped(model), (Shape{2, 3, 4}));
}

TEST(Folding, WhereEqualConstantOfShape) {
  ModelBuilder model = begin();
  model.constant<int64_t>("rank", {1}, {2});
  set(model.node("ConstantOfShape", {"rank"}, {"ones"}), "value", tensor_proto<int64_t>("", {1}, {1}));
  model.constant<int64_t>("minus", {}, {-1});
  model.node("Mul", {"ones", "minus"}, {"open"});  // -1, -1
  model.constant<int64_t>("wanted", {2}, {-1, 8});
  model.node("Equal", {"wanted", "open"}, {"is_open"});
  model.constant<int64_t>("three", {}, {3});
  model.node("Where", {"is_open", "three", "wanted"}, {"shape"});
  EXPECT_EQ(shape_of_reshaped(model), (Shape{3, 8}));
}

TEST(Folding, RangeExpandTransposeMin) {
  ModelBuilder model = begin();
  model.constant<int64_t>("from", {}, {8});
  model.constant<int64_t>("to", {}, {2});
  model.constant<int64_t>("by", {}, {-5});
  model.node("Range", {"from", "to", "by"}, {"pair"});  // 8, 3
  model.constant<int64_t>("two_by_two", {2}, {2, 2});
  model.node("Expand", {"pair", "two_by_two"}, {"square"});
  model.node("Transpose", {"square"}, {"columns"});  // 8 8 / 3 3
  model.constant<int64_t>("column", {}, {1});
  set(model.node("Gather", {"columns", "column"}, {"again"}), "axis", int64_t{1});  // 8, 3
  model.node("Min", {"again", "pair"}, {"shape"});
  EXPECT_EQ(shape_of_reshaped(model), (Shape{8, 3}));
}

TEST(Folding, SizeSplitSubNeg) {
  ModelBuilder model = begin();
  model.node("Size", {"x"}, {"size"});  // 24
  model.constant<int64_t>("pair", {2}, {8, -18});
  model.constant<int64_t>("parts", {2}, {1, 1});
  model.node("Split", {"pair", "parts"}, {"eight", "minus"});
  model.node("Neg", {"minus"}, {"eighteen"});
  model.node("Sub", {"size", "eighteen"}, {"six"});  // [6]
  model.constant<int64_t>("four", {1}, {4});
  set(model.node("Concat", {"six", "four"}, {"shape"}), "axis", int64_t{0});
  EXPECT_EQ(shape_of_reshaped(model), (Shape{6, 4}));
}

TEST(Folding, FaultsNameTheNode) {
  ModelBuilder model = begin();
  model.constant<int64_t>("zero", {1}, {0});
  model.node("Div", {"zero", "zero"}, {"shape"});
  model.node("Reshape", {"x", "shape"}, {"y"});
  model.output("y");
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("node_shape"), HasSubstr("Div"), HasSubstr("divided by 0")));
}

TEST(Folding, SmallFilesCannotAskForAllMemory) {
  for (const int64_t extent : {int64_t{1} << 40, int64_t{1} << 23}) {
    ModelBuilder model = begin();
    model.constant<int64_t>("huge", {1}, {extent});
    model.node("ConstantOfShape", {"huge"}, {"zeros"});
    model.node("Reshape", {"x", "zeros"}, {"y"});
    model.output("y");
    EXPECT_THAT(model.refusal(), HasSubstr("too large")) << extent;
  }
  ModelBuilder model = begin();
  model.constant<int64_t>("a_million", {1}, {1 << 20});
  for (int i = 0; i < 100; ++i) {
    set(model.node("ConstantOfShape", {"a_million"}, {"zeros" + std::to_string(i)}), "value",
        tensor_proto<int64_t>("", {1}, {0}));
  }
  model.node("Reshape", {"x", "zeros99"}, {"y"});
  model.output("y");
  EXPECT_THAT(model.refusal(), HasSubstr("8388608 bytes"));
}

TEST(Folding, SmallFilesCannotAskForAllMemoryByTables) {
  ModelBuilder model;
  model.input("x", onnx_type<float>(), {1 << 16, 1 << 12});
  model.node("Trilu", {"x"}, {"y"});
  model.output("y");
  EXPECT_THAT(model.refusal(), HasSubstr("268435456 bytes"));
  ModelBuilder wide;  // the table of what is not resized counts too
  wide.input("x", onnx_type<float>(), {1, 2, 1 << 26});
  wide.constant<float>("scales", {3}, {1.0f, 1.5f, 1.0f});
  onnx::AttributeProto& mode = *wide.node("Resize", {"x", "", "scales"}, {"y"}).add_attribute();
  mode.set_name("mode");
  mode.set_type(onnx::AttributeProto_AttributeType_STRING);
  mode.set_s("linear");
  wide.output("y");
  EXPECT_THAT(wide.refusal(), HasSubstr("too much"));
}

TEST(Folding, SmallFilesCannotAskForAllMemoryByConcat) {
  ModelBuilder model;
  model.input("x", onnx_type<int64_t>(), {1});
  model.constant<int64_t>("a_million", {1}, {1 << 20});
  set(model.node("ConstantOfShape", {"a_million"}, {"zeros"}), "value", tensor_proto<int64_t>("", {1}, {0}));
  set(model.node("Concat", std::vector<std::string>(64, "zeros"), {"many"}), "axis", int64_t{0});
  model.node("Add", {"x", "many"}, {"y"});
  model.output("y");
  EXPECT_THAT(model.refusal(), HasSubstr("too large to compute it here"));
}

/// A function that calls itself `depth` levels down twice a level, around a constant.
ModelBuilder with_functions(int depth, const std::string& name) {
  ModelBuilder model = begin();
  for (int level = 0; level < depth; ++level) {
    onnx::FunctionProto& function = *model.model().add_functions();
    function.set_name("f" + std::to_string(level));
    function.set_domain("own");
    function.add_input("x");
    function.add_output("y");
    for (int half = 0; half < 2; ++half) {
      onnx::NodeProto& node = *function.add_node();
      node.set_name(name + std::to_string(half));
      node.add_input(half == 0 ? "x" : "middle");
      node.add_output(half == 0 ? "middle" : "y");
      node.set_op_type(level == 0 ? "Identity" : "f" + std::to_string(level - 1));
      node.set_domain(level == 0 ? "" : "own");
    }
  }
  model.node("f" + std::to_string(depth - 1), {"x"}, {"y"}, "own");
  model.output("y");
  return model;
}

TEST(Folding, SmallFilesCannotAskForAllMemoryByFunctions) {
  EXPECT_EQ(with_functions(8, "a").refusal(), "");
  EXPECT_THAT(with_functions(16, "a").refusal(), HasSubstr("too many nodes"));
  EXPECT_THAT(with_functions(8, std::string(20'000, 'a')).refusal(), HasSubstr("too many nodes"));
}

/// An If over the codes "x": doubled shape [6,4] or [24], by "condition".
ModelBuilder with_branches() {
  ModelBuilder model = begin();
  onnx::NodeProto& node = model.node("If", {"condition"}, {"y"});
  for (const auto& [name, shape] : {std::pair{"then_branch", Shape{6, 4}}, {"else_branch", Shape{24}}}) {
    ModelBuilder branch;
    branch.constant<int64_t>(std::string(name) + "_shape", {static_cast<int64_t>(shape.size())}, shape);
    branch.node("Reshape", {"x", std::string(name) + "_shape"}, {std::string(name) + "_y"});
    branch.output(std::string(name) + "_y");
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto_AttributeType_GRAPH);
    *attribute.mutable_g() = branch.model().graph();
  }
  model.output("y");
  return model;
}

TEST(Branches, ConstantConditionTakesItsBranch) {
  for (const bool taken : {true, false}) {
    ModelBuilder model = with_branches();
    model.constant<int64_t>("rank", {1}, {taken ? 3 : 4});
    model.node("Shape", {"x"}, {"extents"});
    model.node("Shape", {"extents"}, {"rank_of_x"});
    model.node("Equal", {"rank", "rank_of_x"}, {"condition"});
    EXPECT_EQ(model.program().outputs[0].shape, taken ? (Shape{6, 4}) : Shape{24});
  }
}

TEST(Branches, ConstantOfABranchIsKnownByBothNames) {
  ModelBuilder model = begin();
  model.constant<bool>("condition", {}, {true});
  onnx::NodeProto& choice = model.node("If", {"condition"}, {"start"});
  for (const std::string name : {"then_branch", "else_branch"}) {
    ModelBuilder branch;
    branch.constant<int64_t>(name + "_start", {1}, {1});
    branch.output(name + "_start");
    onnx::AttributeProto& attribute = *choice.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto_AttributeType_GRAPH);
    *attribute.mutable_g() = branch.model().graph();
  }
  model.constant<int64_t>("all", {3}, {7, 6, 4});
  model.constant<int64_t>("end", {1}, {3});
  model.node("Slice", {"all", "start", "end"}, {"shape"});  // 6, 4
  EXPECT_EQ(shape_of_reshaped(model), (Shape{6, 4}));
}

TEST(Folding, OneConstantIsDataAndAxes) {
  ModelBuilder model = begin();
  model.constant<int64_t>("zero", {1}, {0});
  model.constant<int64_t>("all", {2}, {24, 7});
  model.node("Squeeze", {"zero", "zero"}, {"index"});
  model.node("Gather", {"all", "index"}, {"extent"});
  model.node("Unsqueeze", {"extent", "zero"}, {"shape"});
  EXPECT_EQ(shape_of_reshaped(model), (Shape{24}));
}

/// Products with one weight of 8 MiB that the file does not hold but computes.
ModelBuilder with_readers_of_one_constant(int readers) {
  ModelBuilder model;
  model.constant<int64_t>("shape", {2}, {1024, 2048});
  model.node("ConstantOfShape", {"shape"}, {"w"});
  for (int i = 0; i < readers; ++i) {
    const std::string number = std::to_string(i);
    model.input("x" + number, onnx_type<float>(), {1, 1024});
    model.node("MatMul", {"x" + number, "w"}, {"y" + number});
    model.output("y" + number);
  }
  return model;
}

TEST(Folding, AComputedConstantIsNotHeldByAnyNumberOfNodes) {
  EXPECT_EQ(with_readers_of_one_constant(4).refusal(), "");
  EXPECT_THAT(with_readers_of_one_constant(12).refusal(), AllOf(HasSubstr("node_y8"), HasSubstr("\"w\" of 8388608")));
}

TEST(Branches, OthersAreRefusedByName) {
  ModelBuilder model = with_branches();
  model.input("condition", kUint8, {1});
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("If"), HasSubstr("condition")));
}

TEST(Branches, ABranchThatReadsNothingKnownIsRefused) {
  ModelBuilder model = with_branches();
  model.constant<bool>("condition", {}, {true});
  onnx::GraphProto& branch = *model.model().mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  branch.mutable_node(0)->set_input(0, "nowhere");
  EXPECT_THAT(model.refusal(), HasSubstr("node_y"));
}

}  // namespace
}  // namespace warpwright
