// SearchStrategy: which Configs of a task to measure next.
#pragma once

#include <memory>
#include <vector>

#include "cost_model/cost_model.h"
#include "src/core/target.h"
#include "src/tuner/task_search.h"

namespace warpwright {

class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  /// At most `count` Configs that are claimed by this call; fewer when hardly any is left, none when the space is
  /// exhausted. Depends on what the task and the model know and on the task's generator alone.
  virtual std::vector<Config> propose(TaskSearch& task, const CostModel& model, const Target& target, size_t count) = 0;
};

/// Ranks a pool of random Configs and neighbours of the best by the model; the share `exploration` is drawn at random.
std::unique_ptr<SearchStrategy> make_model_guided_strategy(double exploration);
/// Uniform, without looking at results.
std::unique_ptr<SearchStrategy> make_random_strategy();

/// Claims random Configs until `batch` holds `count` or none is left.
void fill_at_random(TaskSearch& task, std::mt19937_64& random, size_t count, std::vector<Config>& batch);

}  // namespace warpwright
