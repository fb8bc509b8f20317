// Bodies of functions and branches in place of the nodes that ask for them: names, attributes, opsets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr int kFloat = onnx_type<float>();

Tensor reals(Shape shape, const std::vector<float>& values) { return tensor_of(DType::f32, std::move(shape), values); }

/// A function of the model: y = leaky_relu(x, slope) + x, where slope is the call's attribute.
onnx::FunctionProto& add_function(ModelBuilder& model) {
  onnx::FunctionProto& function = *model.model().add_functions();
  function.set_name("LeakyTwice");
  function.set_domain("local");
  function.add_input("x");
  function.add_output("y");
  function.add_attribute("slope");
  onnx::OperatorSetIdProto& opset = *function.add_opset_import();
  opset.set_version(13);
  onnx::NodeProto& relu = *function.add_node();
  relu.set_op_type("LeakyRelu");
  relu.set_name("relu");
  relu.add_input("x");
  relu.add_output("inner");
  onnx::AttributeProto& alpha = *relu.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto_AttributeType_FLOAT);
  alpha.set_ref_attr_name("slope");
  onnx::NodeProto& add = *function.add_node();
  add.set_op_type("Add");
  add.set_name("add");
  add.add_input("inner");
  add.add_input("x");
  add.add_output("y");
  return function;
}

TEST(ModelFunctions, EachCallHasItsOwnNamesAndAttributes) {
  ModelBuilder model;
  add_function(model);
  model.input("inner", kFloat, {3});  // as a tensor of the function is called
  set(model.node("LeakyTwice", {"inner"}, {"middle"}, "local"), "slope", 0.5f);
  set(model.node("LeakyTwice", {"middle"}, {"y"}, "local"), "slope", 0.25f);
  model.output("y");
  // -4 to -2 + -4 = -6, then -1.5 + -6.
  EXPECT_THAT(values_of<float>(model.run({{"inner", reals({3}, {-4, 0, 3})}})), ElementsAre(-7.5f, 0, 12));
}

TEST(ModelFunctions, AttributeThatTheCallLeavesOutHasItsOperatorsDefault) {
  ModelBuilder model;
  add_function(model);
  model.input("x", kFloat, {1});
  model.node("LeakyTwice", {"x"}, {"y"}, "local");
  model.output("y");
  EXPECT_THAT(values_of<float>(model.run({{"x", reals({1}, {-100})}})), ElementsAre(-100 * 0.01f + -100));
}

TEST(ModelFunctions, FaultsNameTheNodeInsideTheCall) {
  ModelBuilder unknown;
  add_function(unknown).mutable_node(0)->set_op_type("Unheard");
  unknown.input("x", kFloat, {1});
  unknown.node("LeakyTwice", {"x"}, {"y"}, "local");
  unknown.output("y");
  EXPECT_THAT(unknown.refusal(), AllOf(HasSubstr("node_y/relu"), HasSubstr("Unheard")));
  ModelBuilder endless;
  onnx::FunctionProto& function = add_function(endless);
  function.mutable_node(0)->set_op_type("LeakyTwice");
  function.mutable_node(0)->set_domain("local");
  function.mutable_node(0)->clear_attribute();
  endless.input("x", kFloat, {1});
  endless.node("LeakyTwice", {"x"}, {"y"}, "local");
  endless.output("y");
  EXPECT_THAT(endless.refusal(), HasSubstr("functions call each other too deeply"));
}

/// y = Softmax of axis 1 within a function that imports this opset; 0: none.
ModelBuilder softmax_in_a_function(int64_t opset, int64_t function_opset) {
  ModelBuilder model(opset);
  onnx::FunctionProto& function = *model.model().add_functions();
  function.set_name("F");
  function.set_domain("local");
  function.add_input("x");
  function.add_output("y");
  if (function_opset != 0) function.add_opset_import()->set_version(function_opset);
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type("Softmax");
  node.add_input("x");
  node.add_output("y");
  set(node, "axis", int64_t{1});
  model.input("x", kFloat, {1, 2, 2});
  model.node("F", {"x"}, {"y"}, "local");
  model.output("y");
  return model;
}

TEST(ModelFunctions, BodiesAreReadByTheOpsetThatTheyImport) {
  const float log3 = std::log(3.0f);
  const Tensor x = reals({1, 2, 2}, {0, 0, log3, log3});
  const auto softmax = [&](int64_t opset, int64_t function_opset) {
    return values_of<float>(softmax_in_a_function(opset, function_opset).run({{"x", x}}));
  };
  const auto of_rows = Pointwise(FloatNear(1e-6f), {0.125f, 0.125f, 0.375f, 0.375f});  // over all from the axis on
  const auto of_columns = Pointwise(FloatNear(1e-6f), {0.25f, 0.25f, 0.75f, 0.75f});   // over the axis alone
  EXPECT_THAT(softmax(13, 11), of_rows);
  EXPECT_THAT(softmax(11, 13), of_columns);
  EXPECT_THAT(softmax(13, 0), of_columns);
  EXPECT_THAT(softmax(11, 0), of_rows);
}

TEST(ModelFunctions, OpsetsThatAreNotKnownAreRefused) {
  EXPECT_THAT(softmax_in_a_function(13, 99).refusal(),
              AllOf(HasSubstr("node_y"), HasSubstr("its function imports opset 99 of the default domain")));
  EXPECT_THAT(softmax_in_a_function(13, 5).refusal(), HasSubstr("its function imports opset 5"));
}

TEST(ModelFunctions, OneThatIsDefinedTwiceIsRefused) {
  ModelBuilder model;
  add_function(model);
  add_function(model).mutable_node(0)->set_op_type("Relu");
  model.input("x", kFloat, {1});
  model.node("LeakyTwice", {"x"}, {"y"}, "local");
  model.output("y");
  EXPECT_THAT(model.refusal(), HasSubstr("the model defines the function local.LeakyTwice twice"));
}

TEST(ModelFunctions, NamesThatAreNoUtf8AreRefused) {
  ModelBuilder model;
  add_function(model).mutable_node(1)->set_name("a\xff\xfe");
  model.input("x", kFloat, {1});
  model.node("LeakyTwice", {"x"}, {"y"}, "local");
  model.output("y");
  EXPECT_THAT(model.refusal(), HasSubstr("the name of a node is no UTF-8"));
}

/// If with a constant condition that takes this branch.
void add_if(ModelBuilder& model, const std::vector<std::string>& outputs, ModelBuilder& branch) {
  onnx::NodeProto& node = model.node("If", {"yes"}, outputs);
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(onnx::AttributeProto_AttributeType_GRAPH);
  *attribute.mutable_g() = branch.model().graph();
}

ModelBuilder with_condition() {
  ModelBuilder model;
  model.input("x", kFloat, {2});
  model.constant<bool>("yes", {}, {true});
  return model;
}

std::vector<float> run(const ModelBuilder& model) { return values_of<float>(model.run({{"x", reals({2}, {-3, 5})}})); }

TEST(BranchNames, AreFreeAgainBehindTheBranch) {
  ModelBuilder model = with_condition();
  model.node("Relu", {"x"}, {"a"});
  ModelBuilder branch;
  branch.node("Neg", {"x"}, {"r"});
  branch.node("Add", {"r", "a"}, {"s"});
  branch.output("s");
  add_if(model, {"b"}, branch);
  model.node("Abs", {"b"}, {"r"});
  model.node("Add", {"r", "a"}, {"y"});
  model.output("y");
  EXPECT_THAT(run(model), ElementsAre(3, 5));  // s = 3 + 0, -5 + 5
}

TEST(BranchNames, OfTwoBranchesMayBeTheSame) {
  ModelBuilder model = with_condition();
  std::string before = "x";
  for (const float factor : {2.0f, 10.0f}) {
    ModelBuilder branch;
    branch.constant<float>("factor", {}, {factor});
    branch.node("Mul", {before, "factor"}, {"product"});
    branch.node("Neg", {"product"}, {"result"});
    branch.output("result");
    const std::string after = before + "'";
    add_if(model, {after}, branch);
    before = after;
  }
  model.node("Identity", {before}, {"y"});
  model.output("y");
  EXPECT_THAT(run(model), ElementsAre(-60, 100));
}

TEST(BranchNames, MayBeThoseOfTheResults) {
  ModelBuilder model = with_condition();
  ModelBuilder branch;
  branch.node("Neg", {"x"}, {"p"});
  branch.node("Abs", {"x"}, {"q"});
  branch.output("p");
  branch.output("q");
  add_if(model, {"q", "p"}, branch);  // the other way round
  model.node("Sub", {"q", "p"}, {"y"});
  model.output("y");
  EXPECT_THAT(run(model), ElementsAre(0, -10));  // 3 - 3, -5 - 5
}

TEST(BranchNames, OfTensorsThatAreThereAreRefused) {
  ModelBuilder model = with_condition();
  model.node("Relu", {"x"}, {"a"});
  ModelBuilder branch;
  branch.node("Neg", {"a"}, {"a"});
  branch.output("a");
  add_if(model, {"y"}, branch);
  model.output("y");
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("node_y"), HasSubstr("it writes \"a\" again")));
}

TEST(BranchNames, WithinNestedBranches) {
  ModelBuilder model = with_condition();
  ModelBuilder inner;
  inner.node("Mul", {"r", "r"}, {"t"});
  inner.output("t");
  ModelBuilder outer;
  outer.node("Neg", {"x"}, {"r"});
  add_if(outer, {"s"}, inner);
  outer.output("s");
  add_if(model, {"b"}, outer);
  model.node("Neg", {"b"}, {"r"});
  model.node("Sub", {"r", "b"}, {"t"});
  model.output("t");
  EXPECT_THAT(run(model), ElementsAre(-18, -50));
}

}  // namespace
}  // namespace warpwright
