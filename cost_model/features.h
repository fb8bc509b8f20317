// Features: a fixed-width row of numbers for each (Workload, Config, Target), what the learned model sees.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/core/config.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {

/// Columns of a row, the same for every family and kind.
int64_t num_features();
/// Changes whenever a column changes its meaning.
int feature_version();
/// What each column holds; sizes are base-2 logarithms.
const std::vector<std::string>& feature_names();

/// Rows one behind the other, and the analytic estimate of each Config, which is a column too.
struct FeatureRows {
  std::vector<float> values;  // configs * num_features()
  std::vector<double> analytic_us;
};
/// Configs must be legal for the Workload on the Target.
FeatureRows feature_rows(const Workload& workload, std::span<const Config> configs, const Target& target);

}  // namespace warpwright
