// The prior, the features and the learned model over real Configs; data that teaches nothing (no crash, one warning).
#include "cost_model/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "cost_model/analytic_estimate.h"
#include "cost_model/features.h"
#include "search_space/kernel_family.h"

namespace warpwright {
namespace {

Workload conv(int64_t size, int64_t c, int64_t k, int64_t kernel) {
  Workload workload;
  workload.kind = OpKind::conv2d;
  workload.inputs = {nhwc_form(DType::s8, 1, size, size, c)};
  workload.output = nhwc_form(DType::s8, 1, size, size, k);
  workload.epilogue.table_input = DType::s8;
  workload.window.kernel_h = workload.window.kernel_w = kernel;
  const int64_t pad = kernel / 2;
  workload.window.pad_top = workload.window.pad_left = workload.window.pad_bottom = workload.window.pad_right = pad;
  check(workload);
  return workload;
}

std::vector<Config> random_configs(const Workload& workload, const Target& target, size_t count) {
  const KernelFamily* family = families_for(workload, target).at(0);
  const Space space = family->space(workload, target);
  std::mt19937_64 random(5);
  std::vector<Config> configs = {family->default_config(workload, target)};
  while (configs.size() < count) configs.push_back(space.sample(random).value());
  return configs;
}

/// A world in which the prior is wrong about one knob.
double made_up_us(const Workload& workload, const Config& config, const Target& target) {
  const auto knob = std::next(config.knobs.begin(), static_cast<ptrdiff_t>(config.knobs.size() / 2));
  return analytic_us(workload, config, target) * std::exp2(0.4 * std::log2(1.0 + static_cast<double>(knob->second)));
}

/// Share of pairs that `scores` puts in the order of the times.
double pairs_in_order(const std::vector<double>& scores, const std::vector<double>& us) {
  double right = 0, all = 0;
  for (size_t i = 0; i < us.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (us[i] == us[j]) continue;
      all += 1;
      right += (scores[i] > scores[j]) == (us[i] < us[j]);
    }
  }
  return right / all;
}

class CostModelTest : public ::testing::Test {
 protected:
  const Target& target_ = target_preset("rtx4090");
  Workload workload_ = conv(28, 128, 128, 3), other_ = conv(14, 256, 512, 1);
  std::vector<Config> configs_ = random_configs(workload_, target_, 120);
};

TEST_F(CostModelTest, TheAnalyticTimeIsPositiveAndNoLessThanWhatTheCardNeeds) {
  for (const Config& config : configs_) {
    const double us = analytic_us(workload_, config, target_);
    EXPECT_TRUE(std::isfinite(us));
    EXPECT_GE(us, static_cast<double>(least_bytes(workload_)) / target_.memory_gb_per_s / 1e3);
  }
}

TEST_F(CostModelTest, AFasterCardIsNoSlower) {
  Target slow = target_;
  slow.sm_count /= 4;
  slow.memory_gb_per_s /= 4;
  slow.sm_clock_mhz /= 2;
  for (const Config& config : configs_) {
    EXPECT_GE(analytic_us(workload_, config, slow), analytic_us(workload_, config, target_));
  }
}

TEST_F(CostModelTest, MoreWorkTakesLonger) {
  const KernelFamily& family = family_of(configs_[0]);
  const Resources resources = family.resources(workload_, configs_[0], target_);
  Resources more = resources;
  for (int64_t* work : {&more.inner_products, &more.tensor_products, &more.global_load_bytes, &more.smem_bytes_moved}) {
    *work *= 8;
  }
  more.ctas *= 8;
  EXPECT_GT(estimate_analytically(workload_, more, target_).total_us,
            estimate_analytically(workload_, resources, target_).total_us);
}

/// A tensor-core kernel of 128 x 128 x 64 tiles for a matrix product of 1024 x 1024 x 1024.
Resources tensor_kernel() {
  Resources resources;
  resources.threads = 128;
  resources.ctas = 64;
  resources.smem_bytes = 3 * 256 * 64;
  resources.registers = 200;
  resources.tensor_products = int64_t{1} << 30;
  resources.global_load_bytes = int64_t{64} * 16 * 256 * 64;
  resources.global_store_bytes = 1 << 20;
  resources.smem_bytes_moved = 3 * resources.global_load_bytes;
  resources.steps = 16;
  resources.stages = 3;
  return resources;
}

double estimate_us(const Resources& resources, const char* card) {
  return estimate_analytically(conv(32, 1024, 1024, 1), resources, target_preset(card)).total_us;
}

TEST(AnalyticEstimate, KnowsTheTensorCoresOfEachArchitecture) {
  Resources shallow = tensor_kernel();
  shallow.tensor_depth = 16;
  for (const char* card : {"a100", "rtx3090", "orin", "rtx4090", "h100", "rtx5090"}) {
    EXPECT_GT(estimate_us(shallow, card), estimate_us(tensor_kernel(), card)) << card;
  }
  const Workload workload = conv(32, 1024, 1024, 1);
  const Target& turing = target_preset("t4");  // m8n8k16 is its own instruction
  EXPECT_EQ(estimate_analytically(workload, shallow, turing).tensor_us,
            estimate_analytically(workload, tensor_kernel(), turing).tensor_us);
  Target sparse = target_preset("a100");
  sparse.compute_minor = 6;  // half the tensor cores an SM
  EXPECT_NEAR(estimate_analytically(workload, tensor_kernel(), sparse).tensor_us,
              2 * estimate_analytically(workload, tensor_kernel(), target_preset("a100")).tensor_us, 1e-9);
}

TEST(AnalyticEstimate, ChargesSplitKAndShallowPipelines) {
  Resources split = tensor_kernel();
  split.workspace_bytes = 64 * 128 * 128 * 4;
  EXPECT_GT(estimate_us(split, "rtx4090"), estimate_us(tensor_kernel(), "rtx4090"));
  Resources deep = tensor_kernel();
  deep.steps = 64;  // of little work each
  Resources shallow = deep;
  shallow.stages = 2;
  EXPECT_GT(estimate_us(shallow, "rtx4090"), estimate_us(deep, "rtx4090"));
  Resources few_warps = tensor_kernel();
  few_warps.threads = 32;  // three of the four tensor cores of an SM stand still
  EXPECT_GT(estimate_us(few_warps, "rtx4090"), estimate_us(tensor_kernel(), "rtx4090"));
}

TEST_F(CostModelTest, FeaturesHaveOneWidthAndNoTwoNamesAlike) {
  const auto& names = feature_names();
  EXPECT_EQ(static_cast<int64_t>(names.size()), num_features());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const Workload& workload : {workload_, other_}) {
    const std::vector<Config> configs = random_configs(workload, target_, 50);
    const FeatureRows rows = feature_rows(workload, configs, target_);
    EXPECT_EQ(rows.values.size(), configs.size() * names.size());
    EXPECT_EQ(rows.analytic_us.size(), configs.size());
    for (const float value : rows.values) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_F(CostModelTest, FeaturesTellConfigsApart) {
  std::vector<Config> distinct;
  std::set<std::string> keys;
  for (const Config& config : configs_) {
    if (keys.insert(key(config)).second) distinct.push_back(config);
  }
  const FeatureRows rows = feature_rows(workload_, distinct, target_);
  std::set<std::vector<float>> seen;
  for (size_t i = 0; i < distinct.size(); ++i) {
    const auto begin = rows.values.begin() + static_cast<ptrdiff_t>(i) * num_features();
    seen.emplace(begin, begin + num_features());
  }
  EXPECT_EQ(seen.size(), distinct.size());
}

TEST_F(CostModelTest, BeforeAnythingIsLearntThePriorRanks) {
  const std::vector<double> prior = make_analytic_cost_model()->score(workload_, configs_, target_);
  const std::vector<double> learned = make_xgboost_cost_model(1)->score(workload_, configs_, target_);
  ASSERT_EQ(prior.size(), configs_.size());
  for (size_t i = 0; i < prior.size(); ++i) EXPECT_NEAR(learned[i], prior[i], 1e-4);
}

TEST_F(CostModelTest, LearnsWhatThePriorGetsWrong) {
  std::vector<double> us;
  for (const Config& config : configs_) us.push_back(made_up_us(workload_, config, target_));
  std::vector<Observation> observations;
  for (size_t i = 0; i < 60; ++i) observations.push_back({&workload_, configs_[i], us[0] / us[i]});
  auto model = make_xgboost_cost_model(1);
  model->fit(observations, target_);
  const std::vector<Config> unseen(configs_.begin() + 60, configs_.end());
  const std::vector<double> unseen_us(us.begin() + 60, us.end());
  const double learned = pairs_in_order(model->score(workload_, unseen, target_), unseen_us);
  const double prior = pairs_in_order(make_analytic_cost_model()->score(workload_, unseen, target_), unseen_us);
  EXPECT_GT(learned, prior);
  EXPECT_GT(learned, 0.85);
}

TEST_F(CostModelTest, WhatOneWorkloadTeachesHelpsAnother) {
  std::vector<Observation> observations;
  const double default_us = made_up_us(workload_, configs_[0], target_);
  for (const Config& config : configs_) {
    observations.push_back({&workload_, config, default_us / made_up_us(workload_, config, target_)});
  }
  auto model = make_xgboost_cost_model(1);
  model->fit(observations, target_);
  const std::vector<Config> unseen = random_configs(other_, target_, 60);
  std::vector<double> us;
  for (const Config& config : unseen) us.push_back(made_up_us(other_, config, target_));
  EXPECT_GT(pairs_in_order(model->score(other_, unseen, target_), us),
            pairs_in_order(make_analytic_cost_model()->score(other_, unseen, target_), us));
}

TEST_F(CostModelTest, TheSameSeedScoresTheSame) {
  std::vector<Observation> observations;
  for (size_t i = 0; i < 50; ++i) {
    observations.push_back({&workload_, configs_[i], 0.3 + 0.01 * static_cast<double>(i % 17)});
  }
  auto one = make_xgboost_cost_model(3), two = make_xgboost_cost_model(3);
  one->fit(observations, target_);
  two->fit(observations, target_);
  EXPECT_EQ(one->score(workload_, configs_, target_), two->score(workload_, configs_, target_));
}

TEST_F(CostModelTest, DataThatTeachesNothingIsNoTrouble) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> cases = {
      {},
      {1.0},
      {0, 0, 0, 0, 0, 0, 0, 0},                // all failed
      {1, 1, 1, 1, 1, 1, 1, 1},                // equal labels
      {nan, inf, -inf, -1, nan, nan, nan, 1},  // no speeds
      {1, 1e-300, 1e30, 0, 1, 2, 3, 4},
      {0, 0, 0, 0, 0, 0, 0, 1},
  };
  for (const std::vector<double>& speeds : cases) {
    std::vector<Observation> observations;
    for (size_t i = 0; i < speeds.size(); ++i) observations.push_back({&workload_, configs_[i], speeds[i]});
    auto model = make_xgboost_cost_model(1);
    ::testing::internal::CaptureStderr();
    model->fit(observations, target_);
    model->fit(observations, target_);
    const std::string warnings = ::testing::internal::GetCapturedStderr();
    EXPECT_LE(std::count(warnings.begin(), warnings.end(), '\n'), 1);
    for (const double score : model->score(workload_, configs_, target_)) EXPECT_TRUE(std::isfinite(score));
    EXPECT_TRUE(model->score(workload_, {}, target_).empty());
  }
}

}  // namespace
}  // namespace warpwright
