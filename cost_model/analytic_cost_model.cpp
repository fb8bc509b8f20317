// AnalyticCostModel: the prior alone. It learns nothing.
#include <cmath>

#include "cost_model/analytic_estimate.h"
#include "cost_model/cost_model.h"

namespace warpwright {
namespace {

class AnalyticCostModel : public CostModel {
 public:
  void fit(std::span<const Observation>, const Target&) override {}

  std::vector<double> score(const Workload& workload, std::span<const Config> configs,
                            const Target& target) const override {
    std::vector<double> scores;
    for (const Config& config : configs) scores.push_back(-std::log2(analytic_us(workload, config, target)));
    return scores;
  }
};

}  // namespace

double analytic_us(const Workload& workload, const Config& config, const Target& target) {
  return estimate_analytically(workload, family_of(config).resources(workload, config, target), target).total_us;
}

std::unique_ptr<CostModel> make_analytic_cost_model() { return std::make_unique<AnalyticCostModel>(); }

}  // namespace warpwright
