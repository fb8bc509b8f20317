// Casts between integers: from wide to narrow the lowest bits stay, at run time and of constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/import/model_builder.h"

namespace warpwright {
namespace {

using testing::HasSubstr;

template <typename T>
constexpr DType dtype_of_type() {
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, int8_t>) return DType::s8;
  if constexpr (std::is_same_v<T, int32_t>) return DType::s32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::s64;
}

/// x cast to the type, and a constant of the same values cast, read where x is: [x, constant].
template <typename To, typename From>
std::vector<To> cast(const std::vector<From>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  ModelBuilder model;
  model.input("x", onnx_type<From>(), shape);
  model.constant<From>("c", shape, values);
  set(model.node("Cast", {"x"}, {"cast_x"}), "to", int64_t{onnx_type<To>()});
  set(model.node("Cast", {"c"}, {"cast_c"}), "to", int64_t{onnx_type<To>()});
  set(model.node("Concat", {"cast_x", "cast_c"}, {"y"}), "axis", int64_t{0});
  model.output("y");
  const Tensor y = model.run({{"x", tensor_of(dtype_of_type<From>(), shape, values)}});
  EXPECT_EQ(y.dtype, dtype_of_type<To>());
  return values_of<To>(y);
}

/// What both of them must be.
template <typename T>
std::vector<T> twice(std::vector<T> values) {
  const std::vector<T> once = values;
  values.insert(values.end(), once.begin(), once.end());
  return values;
}

constexpr int32_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();

TEST(Casts, NarrowerIntegersKeepTheLowestBits) {
  const std::vector<int32_t> wide{-300, -129, -128, -1, 0, 127, 128, 255, 256, 300, kLeast, kMost};
  EXPECT_EQ((cast<uint8_t, int32_t>(wide)), twice<uint8_t>({212, 127, 128, 255, 0, 127, 128, 255, 0, 44, 0, 255}));
  EXPECT_EQ((cast<int8_t, int32_t>(wide)), twice<int8_t>({-44, 127, -128, -1, 0, 127, -128, -1, 0, 44, 0, -1}));
  const std::vector<int64_t> wider{
      -300, -1, 255, 256 + 200, (int64_t{1} << 40) + 130, int64_t{kMost} + 1, std::numeric_limits<int64_t>::max()};
  EXPECT_EQ((cast<uint8_t, int64_t>(wider)), twice<uint8_t>({212, 255, 255, 200, 130, 0, 255}));
  EXPECT_EQ((cast<int8_t, int64_t>(wider)), twice<int8_t>({-44, -1, -1, -56, -126, 0, -1}));
  EXPECT_EQ((cast<int32_t, int64_t>(wider)), twice<int32_t>({-300, -1, 255, 456, 130, kLeast, -1}));
}

TEST(Casts, CodesOfOtherSignKeepTheirBits) {
  EXPECT_EQ((cast<int8_t, uint8_t>({0, 127, 128, 200, 255})), twice<int8_t>({0, 127, -128, -56, -1}));
  EXPECT_EQ((cast<uint8_t, int8_t>({0, 127, -128, -56, -1})), twice<uint8_t>({0, 127, 128, 200, 255}));
}

TEST(Casts, WiderIntegersHoldThem) {
  EXPECT_EQ((cast<int32_t, uint8_t>({0, 200, 255})), twice<int32_t>({0, 200, 255}));
  EXPECT_EQ((cast<int64_t, int8_t>({-128, -1, 127})), twice<int64_t>({-128, -1, 127}));
  EXPECT_EQ((cast<int64_t, int32_t>({kLeast, kMost})), twice<int64_t>({kLeast, kMost}));
}

TEST(Casts, CastLikeDoesTheSame) {
  ModelBuilder model(15);
  model.input("x", onnx_type<int32_t>(), {3});
  model.constant<int8_t>("like", {}, {0});
  model.node("CastLike", {"x", "like"}, {"y"});
  model.output("y");
  const std::vector<int32_t> x{-129, 128, 300};
  EXPECT_EQ(values_of<int8_t>(model.run({{"x", tensor_of(DType::s32, {3}, x)}})), (std::vector<int8_t>{127, -128, 44}));
}

TEST(Casts, LargeConstantIntegersAreRoundedToFloat) {
  ModelBuilder model;
  model.input("x", onnx_type<float>(), {2});
  model.constant<int64_t>("c", {2}, {(int64_t{1} << 60) + 1, -(int64_t{1} << 62) - 3});
  set(model.node("Cast", {"c"}, {"real"}), "to", int64_t{onnx_type<float>()});
  model.node("Add", {"x", "real"}, {"y"});
  model.output("y");
  const std::vector<float> zeros{0, 0};
  EXPECT_EQ(values_of<float>(model.run({{"x", tensor_of(DType::f32, {2}, zeros)}})),
            (std::vector<float>{0x1p60f, -0x1p62f}));
}

TEST(Casts, ConstantFloatsBeyondTheTypeAreRefused) {
  ModelBuilder model;
  model.input("x", onnx_type<uint8_t>(), {1});
  model.constant<float>("c", {1}, {256.0f});
  set(model.node("Cast", {"c"}, {"codes"}), "to", int64_t{onnx_type<uint8_t>()});
  set(model.node("Concat", {"x", "codes"}, {"y"}), "axis", int64_t{0});
  model.output("y");
  EXPECT_THAT(model.refusal(), HasSubstr("constant \"c\": 256 cannot be cast"));
}

}  // namespace
}  // namespace warpwright
