// make_example: fixed by key and seed, and sharp enough to tell plausible wrong arithmetic from the right one.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "src/reference/reference.h"
#include "tests/reference/examples/real_workloads.h"
#include "tests/reference/examples/workloads.h"

namespace warpwright {
namespace {

using testing::conv2d_workload;

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> list;
  for (const Tensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

TEST(Example, IsFixedByKeyAndSeed) {
  const Workload workload = testing::product_workloads()[1];
  const Example first = make_example(workload, 7), again = make_example(workload, 7), other = make_example(workload, 8);
  EXPECT_EQ(first.inputs, again.inputs);
  EXPECT_EQ(first.values, again.values);
  EXPECT_NE(first.inputs, other.inputs);
}

TEST(Example, ReachesTiesAndBothBounds) {
  Workload workload =
      conv2d_workload(nhwc_form(DType::u8, 1, 16, 16, 32), DType::s8, 32, 1, testing::square_window(3, 1, 1));
  workload.x_zero_point = ZeroPointForm::scalar;
  const Example example = make_example(workload, 1);
  const Tensor y = run_reference(workload, example.values, pointers(example.inputs));
  const int32_t zero_point = example.values.at("y_zero_point").as<int32_t>()[0];
  const auto lo = static_cast<int32_t>(example.values.at("lo").as<float>()[0]) + zero_point;
  const auto hi = static_cast<int32_t>(example.values.at("hi").as<float>()[0]) + zero_point;
  int64_t at_lo = 0, at_hi = 0, between = 0;
  for (const int8_t code : y.as<int8_t>()) code == lo ? ++at_lo : code == hi ? ++at_hi : ++between;
  EXPECT_GT(at_lo, y.size() / 50);
  EXPECT_GT(at_hi, y.size() / 50);
  EXPECT_GT(between, y.size() / 5);
  // Channel 3 has one weight beside the zero point and a factor of a half or about a quarter: ties come often.
  EXPECT_GE(example.values.at("multiplier").as<float>()[3], 0.2f);
}

float value_f32(const Example& example, const std::string& name) { return example.values.at(name).as<float>()[0]; }
int32_t value_s32(const Example& example, const std::string& name) { return example.values.at(name).as<int32_t>()[0]; }
float clamp(float v, float lo, float hi) { return std::fmin(std::fmax(v, lo), hi); }
float half_away(float v) { return std::round(v); }
float half_even(float v) { return std::nearbyint(v); }

/// Elements of an add or mul in which `formula(float(a - za), float(b - zb))` plus y_zero_point is not the reference's.
int64_t differences(const Workload& workload, const Example& example,
                    const std::function<float(float, float)>& formula) {
  const Tensor y = run_reference(workload, example.values, pointers(example.inputs));
  const int32_t a_zero = value_s32(example, "a_zero_point"), b_zero = value_s32(example, "b_zero_point");
  int64_t count = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    const float a = static_cast<float>(example.inputs[0].as<int8_t>()[i] - a_zero);
    const float b = static_cast<float>(example.inputs[1].as<int8_t>()[i] - b_zero);
    const auto code = static_cast<int8_t>(static_cast<int32_t>(formula(a, b)) + value_s32(example, "y_zero_point"));
    if (code != y.as<int8_t>()[i]) ++count;
  }
  return count;
}

TEST(Example, TellsWrongArithmeticOfAddAndMulApart) {
  int64_t away = 0, contracted = 0, reciprocal = 0;
  for (const OpKind kind : {OpKind::add, OpKind::mul}) {
    Workload workload;
    workload.kind = kind;
    workload.output = nhwc_form(DType::s8, 1, 14, 14, 64);
    workload.inputs = {workload.output, workload.output};
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      const Example example = make_example(workload, seed);
      const float a_scale = value_f32(example, "a_scale"), b_scale = value_f32(example, "b_scale");
      const float y_scale = value_f32(example, "y_scale"), lo = value_f32(example, "lo"), hi = value_f32(example, "hi");
      const auto sum = [&](float a, float b) {
        const volatile float da = a * a_scale, db = b * b_scale;
        return kind == OpKind::add ? da + db : da * db;
      };
      const auto count = [&](const std::function<float(float, float)>& formula) {
        return differences(workload, example, formula);
      };
      EXPECT_EQ(count([&](float a, float b) { return half_even(clamp(sum(a, b) / y_scale, lo, hi)); }), 0);
      away += count([&](float a, float b) { return half_away(clamp(sum(a, b) / y_scale, lo, hi)); });
      reciprocal += count([&](float a, float b) { return half_even(clamp(sum(a, b) * (1.0f / y_scale), lo, hi)); });
      if (kind == OpKind::mul) continue;
      contracted += count([&](float a, float b) {
        const volatile float db = b * b_scale;
        return half_even(clamp(std::fma(a, a_scale, db) / y_scale, lo, hi));
      });
    }
  }
  EXPECT_GT(away, 1000);
  EXPECT_GT(reciprocal, 100);
  EXPECT_GT(contracted, 100);
}

TEST(Example, TellsWrongRoundingOfConvolutionsApart) {
  for (const ResidualForm residual : {ResidualForm::none, ResidualForm::rounded, ResidualForm::unrounded}) {
    Workload workload =
        conv2d_workload(nhwc_form(DType::s8, 1, 14, 14, 32), DType::s8, 32, 1, testing::square_window(1, 1, 0));
    workload.epilogue.residual = residual;
    if (residual != ResidualForm::none) workload.inputs.push_back(workload.output);
    int64_t ties = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Example example = make_example(workload, seed);
      const Tensor right = run_reference(workload, example.values, pointers(example.inputs));
      // The last scale a hair larger: only what lay on a tie, or a hair from one, comes out otherwise.
      Tensor& scale = example.values[residual == ResidualForm::none ? "multiplier" : "y_scale"];
      for (float& value : scale.as<float>()) value = std::nextafter(std::nextafter(value, 1e30f), 1e30f);
      const Tensor beside = run_reference(workload, example.values, pointers(example.inputs));
      for (int64_t i = 0; i < right.size(); ++i) ties += right.as<int8_t>()[i] != beside.as<int8_t>()[i];
    }
    EXPECT_GT(ties, 20) << static_cast<int>(residual);
  }
}

TEST(Example, TellsWrongScalingOfAveragesApart) {
  Workload workload;
  workload.kind = OpKind::average_pool;
  workload.inputs = {nhwc_form(DType::s8, 1, 28, 28, 64)};
  workload.output = nhwc_form(DType::s8, 1, 14, 14, 64);
  workload.window = testing::square_window(2, 2, 0);
  int64_t ties = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Example example = make_example(workload, seed);
    const Tensor right = run_reference(workload, example.values, pointers(example.inputs));
    float& scale = example.values["x_scale"].as<float>()[0];
    scale = std::nextafter(std::nextafter(scale, 1e30f), 1e30f);
    const Tensor beside = run_reference(workload, example.values, pointers(example.inputs));
    for (int64_t i = 0; i < right.size(); ++i) ties += right.as<int8_t>()[i] != beside.as<int8_t>()[i];
  }
  EXPECT_GT(ties, 1000);
}

/// Elements of a product of matrices that another way to sum gives otherwise.
int64_t other_sums(const Workload& workload, uint64_t seed, const std::function<float(float, float, float)>& add,
                   bool backwards) {
  const Example example = make_example(workload, seed);
  const Tensor right = run_reference(workload, example.values, pointers(example.inputs));
  Tensor other(DType::f32, {right.size()});
  const int64_t depth = workload.inputs[0].c, columns = workload.output.c;
  const auto a = example.inputs[0].as<float>(), b = example.inputs[1].as<float>();
  int64_t count = 0;
  for (int64_t i = 0; i < right.size(); ++i) {
    float sum = 0;
    for (int64_t step = 0; step < depth; ++step) {
      const int64_t k = backwards ? depth - 1 - step : step;
      sum = add(a[i / columns * depth + k], b[k * columns + i % columns], sum);
    }
    other.as<float>()[i] = sum;
    if (!equal_element(right, other, i)) ++count;
  }
  return count;
}

TEST(Example, TellsSumsInAnotherOrderOrWithAnotherRoundingApart) {
  const Workload workload = testing::real_matmul_workload(1, 16, 64, 64, false, false);
  const auto fused = [](float a, float b, float sum) { return std::fma(a, b, sum); };
  const auto rounded = [](float a, float b, float sum) {
    const volatile float product = a * b;
    return sum + product;
  };
  int64_t backwards = 0, twice_rounded = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(other_sums(workload, seed, fused, false), 0);
    backwards += other_sums(workload, seed, fused, true);
    twice_rounded += other_sums(workload, seed, rounded, false);
  }
  EXPECT_GT(backwards, 2000);  // of 8192
  EXPECT_GT(twice_rounded, 2000);
}

TEST(Example, HasIndicesInsideAndOutsideOfATable) {
  Workload workload;
  workload.kind = OpKind::gather;
  workload.rows = {1, 50, 8};
  workload.inputs = {nchw_form(DType::s64, 1, 400, 1, 1)};
  workload.output = nchw_form(DType::f32, 1, 3200, 1, 1);
  const Example example = make_example(workload, 1);
  int64_t negative = 0, outside = 0;
  for (const int64_t index : example.inputs[0].as<int64_t>()) {
    negative += index < 0 && index >= -50 ? 1 : 0;
    outside += index < -50 || index >= 50 ? 1 : 0;
  }
  EXPECT_GT(negative, 100);
  EXPECT_GT(outside, 5);
  EXPECT_LT(outside, 100);
}

}  // namespace
}  // namespace warpwright
