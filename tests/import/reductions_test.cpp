// Reductions over no axes (noop_with_empty_axes): what is done to each element stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::ElementsAre;

/// Axes absent, or an empty list of them.
template <typename T>
std::vector<T> over_no_axes(const std::string& op_type, const std::vector<T>& values, DType dtype, bool are_absent) {
  const Shape shape{static_cast<int64_t>(values.size())};
  ModelBuilder model(18);
  model.input("x", onnx_type<T>(), shape);
  std::vector<std::string> inputs{"x"};
  if (!are_absent) {
    model.constant<int64_t>("axes", {0}, {});
    inputs.emplace_back("axes");
  }
  onnx::NodeProto& node = model.node(op_type, inputs, {"y"});
  set(node, "noop_with_empty_axes", int64_t{1});
  set(node, "keepdims", int64_t{0});
  model.output("y");
  const Tensor y = model.run({{"x", tensor_of(dtype, shape, values)}});
  EXPECT_EQ(y.shape, shape);
  return values_of<T>(y);
}

TEST(ReductionsOverNoAxes, DoToEachElementWhatTheyDoBeforeAndBehindTheSum) {
  const std::vector<float> x{-2, 0.5f, 4};
  for (const bool are_absent : {true, false}) {
    const auto reduced = [&](const std::string& op_type) {
      return over_no_axes<float>(op_type, x, DType::f32, are_absent);
    };
    for (const char* op_type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp"}) {
      EXPECT_EQ(reduced(op_type), x) << op_type;
    }
    EXPECT_THAT(reduced("ReduceSumSquare"), ElementsAre(4, 0.25f, 16));
    EXPECT_THAT(reduced("ReduceL1"), ElementsAre(2, 0.5f, 4));
    EXPECT_THAT(reduced("ReduceL2"), ElementsAre(2, 0.5f, 4));
    const std::vector<float> logarithms = reduced("ReduceLogSum");
    EXPECT_TRUE(std::isnan(logarithms[0]));
    EXPECT_NEAR(logarithms[2], 1.3862944f, 1e-6f);
  }
}

TEST(ReductionsOverNoAxes, TakeIntegers) {
  EXPECT_THAT(over_no_axes<int32_t>("ReduceSumSquare", {-3, 5}, DType::s32, true), ElementsAre(9, 25));
  EXPECT_THAT(over_no_axes<int64_t>("ReduceL1", {-3, 5}, DType::s64, true), ElementsAre(3, 5));
}

}  // namespace
}  // namespace warpwright
