// Boosted trees: they start from the margin, learn, repeat themselves, and take whatever data comes.
#include "cost_model/booster.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace warpwright {
namespace {

struct Data {
  std::vector<float> values, margins, labels, weights;
  BoosterRows rows() const { return {values, 2, margins}; }
};

Data step_data(int count, float margin) {
  Data data;
  for (int i = 0; i < count; ++i) {
    const float x = static_cast<float>(i) / static_cast<float>(count);
    data.values.insert(data.values.end(), {x, 1.0f});
    data.margins.push_back(margin);
    data.labels.push_back(x < 0.5f ? margin : margin + 1);
    data.weights.push_back(1);
  }
  return data;
}

TEST(Booster, LearnsWhatTheMarginLacks) {
  const Data data = step_data(64, 3);
  const Booster booster(data.rows(), data.labels, data.weights, 1);
  const std::vector<float> predicted = booster.predict(data.rows());
  ASSERT_EQ(predicted.size(), 64u);
  EXPECT_NEAR(predicted.front(), 3, 0.05);
  EXPECT_NEAR(predicted.back(), 4, 0.05);
}

TEST(Booster, PredictionsMoveWithTheMargin) {
  const Data data = step_data(64, 3);
  const Booster booster(data.rows(), data.labels, data.weights, 1);
  Data moved = data;
  for (float& margin : moved.margins) margin += 10;
  EXPECT_NEAR(booster.predict(moved.rows())[0], booster.predict(data.rows())[0] + 10, 1e-4);
}

TEST(Booster, IsTheSameForTheSameSeed) {
  const Data data = step_data(200, 0);
  const Booster one(data.rows(), data.labels, data.weights, 7), two(data.rows(), data.labels, data.weights, 7);
  EXPECT_EQ(one.predict(data.rows()), two.predict(data.rows()));
}

TEST(Booster, EqualLabelsAndMissingValuesAreNoTrouble) {
  Data data = step_data(8, 1);
  for (float& label : data.labels) label = 1;
  data.values[3] = std::numeric_limits<float>::quiet_NaN();
  const Booster booster(data.rows(), data.labels, data.weights, 1);
  for (const float value : booster.predict(data.rows())) EXPECT_TRUE(std::isfinite(value));
}

TEST(Booster, RefusesLabelsThatAreNoNumbers) {
  Data data = step_data(8, 1);
  data.labels[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(Booster(data.rows(), data.labels, data.weights, 1), BoosterError);
}

}  // namespace
}  // namespace warpwright
