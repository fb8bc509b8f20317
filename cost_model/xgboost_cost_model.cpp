// XgboostCostModel: boosted trees that correct the analytic prior by what was measured.
//
// A row's label is the base-2 logarithm of its relative speed; its margin is that of the prior, moved per Workload so
// that the two agree on the mean of what ran. So the trees learn only what the prior gets wrong between Configs of one
// Workload, and that carries over from Workload to Workload.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "cost_model/booster.h"
#include "cost_model/cost_model.h"
#include "cost_model/features.h"
#include "src/core/error.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

constexpr double kFailedLabel = -4;  // a Config that failed counts as 16 times slower than the default
constexpr double kFastestLabel = 6;  // more than 64 times as fast as the default is a broken time
constexpr float kLeastWeight = 0.1f;
constexpr size_t kLeastRows = 4;

struct TrainingRows {
  std::vector<float> values, margins, labels, weights;
};

/// Observations of one Workload, without what is no speed.
struct Group {
  const Workload* workload = nullptr;
  std::vector<Config> configs;
  std::vector<double> labels;
  std::vector<bool> ran;
};

class XgboostCostModel : public CostModel {
 public:
  explicit XgboostCostModel(uint64_t seed) : seed_(seed) {}

  void fit(std::span<const Observation> observations, const Target& target) override {
    booster_.reset();
    TrainingRows rows;
    for (const auto& [key, group] : groups_of(observations)) append(group, target, rows);
    const auto [least, most] = std::minmax_element(rows.labels.begin(), rows.labels.end());
    if (rows.labels.size() < kLeastRows || *least == *most) return;  // nothing to learn from: the prior stays
    try {
      booster_ = std::make_unique<Booster>(BoosterRows{rows.values, num_features(), rows.margins}, rows.labels,
                                           rows.weights, seed_);
    } catch (const BoosterError& error) {
      warn_once(error.what());
    }
  }

  std::vector<double> score(const Workload& workload, std::span<const Config> configs,
                            const Target& target) const override {
    if (configs.empty()) return {};
    const FeatureRows rows = feature_rows(workload, configs, target);
    std::vector<float> margins;
    for (const double us : rows.analytic_us) margins.push_back(static_cast<float>(-std::log2(us)));
    if (booster_) {
      try {
        margins = booster_->predict({rows.values, num_features(), margins});
      } catch (const BoosterError& error) {
        warn_once(error.what());
      }
    }
    return {margins.begin(), margins.end()};
  }

 private:
  /// By key, so that neither pointers nor the order of the tasks matter.
  std::map<std::string, Group> groups_of(std::span<const Observation> observations) const {
    std::map<const Workload*, std::string> keys;
    std::map<std::string, Group> groups;
    for (const Observation& observation : observations) {
      if (!std::isfinite(observation.relative_speed) || observation.relative_speed < 0) {
        warn_once("an observation is no speed and was left out");
        continue;
      }
      std::string& text = keys[observation.workload];
      if (text.empty()) text = key(*observation.workload);
      Group& group = groups[text];
      group.workload = observation.workload;
      group.configs.push_back(observation.config);
      group.ran.push_back(observation.relative_speed > 0);
      group.labels.push_back(observation.relative_speed > 0
                                 ? std::clamp(std::log2(observation.relative_speed), kFailedLabel, kFastestLabel)
                                 : kFailedLabel);
    }
    return groups;
  }

  static void append(const Group& group, const Target& target, TrainingRows& rows) {
    const FeatureRows features = feature_rows(*group.workload, group.configs, target);
    rows.values.insert(rows.values.end(), features.values.begin(), features.values.end());
    double shift = 0;
    int64_t ran = 0;
    for (size_t i = 0; i < group.configs.size(); ++i) {
      if (!group.ran[i]) continue;
      shift += group.labels[i] + std::log2(features.analytic_us[i]);
      ++ran;
    }
    if (ran > 0) shift /= static_cast<double>(ran);
    for (size_t i = 0; i < group.configs.size(); ++i) {
      rows.margins.push_back(static_cast<float>(shift - std::log2(features.analytic_us[i])));
      rows.labels.push_back(static_cast<float>(group.labels[i]));
      // The order among the fast ones is what the search asks for.
      rows.weights.push_back(std::max(kLeastWeight, std::exp2(std::min(0.0f, rows.labels.back()))));
    }
  }

  void warn_once(const std::string& text) const {
    if (!has_warned_) log_warning("cost model: {}; the search goes on", text);
    has_warned_ = true;
  }

  uint64_t seed_;
  std::unique_ptr<Booster> booster_;
  mutable bool has_warned_ = false;
};

}  // namespace

std::unique_ptr<CostModel> make_xgboost_cost_model(uint64_t seed) { return std::make_unique<XgboostCostModel>(seed); }

}  // namespace warpwright
