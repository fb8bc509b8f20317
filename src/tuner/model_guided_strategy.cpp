// ModelGuidedStrategy: a large pool, ranked by the model, climbed from its top.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "src/tuner/search_strategy.h"

namespace warpwright {
namespace {

// Of a space too large to be listed. Most points of a cross product are illegal, and neighbours of a legal one mostly
// legal: a few uniform samples for breadth, then many steps from the best of them.
constexpr int kFirstSamples = 96;
constexpr int kLaterSamples = 12;
constexpr int kTriesPerSample = 100;
constexpr size_t kKept = 256;    // best of the pool that later batches rank again
constexpr size_t kParents = 8;   // measured Configs whose neighbours are candidates
constexpr size_t kClimbed = 16;  // best candidates whose neighbours are candidates, each round
constexpr int kClimbs = 6;
constexpr size_t kBests = 2;   // measured Configs that count as the best
constexpr int kNearKnobs = 2;  // knobs that may differ in what is near

/// Scored candidates of one batch, none of them claimed, each once.
class Ranking {
 public:
  Ranking(TaskSearch& task, const CostModel& model, const Target& target)
      : task_(&task), model_(&model), target_(&target) {}

  void add(const std::vector<Config>& configs) {
    std::vector<Config> fresh;
    for (const Config& config : configs) {
      std::string text = key(config);
      if (!task_->is_claimed(text) && seen_.insert(std::move(text)).second) fresh.push_back(config);
    }
    const std::vector<double> scores = model_->score(task_->task().workload, fresh, *target_);
    scores_.insert(scores_.end(), scores.begin(), scores.end());
    std::move(fresh.begin(), fresh.end(), std::back_inserter(configs_));
  }

  /// Adds the neighbours of the best `count` that were not climbed from yet.
  void climb(size_t count) {
    std::vector<Config> around;
    size_t climbed = 0;
    for (const size_t i : order()) {
      if (climbed == count) break;
      if (!climbed_.insert(i).second) continue;
      ++climbed;
      for (Config& config : task_->space().neighbours(configs_[i])) around.push_back(std::move(config));
    }
    add(around);
  }

  /// Highest score first; what is no number comes last.
  std::vector<size_t> order() const {
    std::vector<size_t> order(configs_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto rank = [&](size_t i) { return std::isnan(scores_[i]) ? -INFINITY : scores_[i]; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) > rank(b); });
    return order;
  }

  const Config& config(size_t i) const { return configs_[i]; }

 private:
  TaskSearch* task_;
  const CostModel* model_;
  const Target* target_;
  std::vector<Config> configs_;
  std::vector<double> scores_;
  std::unordered_set<std::string> seen_;
  std::unordered_set<size_t> climbed_;
};

class ModelGuidedStrategy : public SearchStrategy {
 public:
  explicit ModelGuidedStrategy(double exploration) : exploration_(std::clamp(exploration, 0.0, 1.0)) {}

  std::vector<Config> propose(TaskSearch& task, const CostModel& model, const Target& target, size_t count) override {
    const bool is_first = task.is_fresh();
    std::mt19937_64 random = task.next_random();
    std::vector<Config> batch;
    for (const Config& config : task.space().defaults()) {
      if (batch.size() < count && task.claim(config)) batch.push_back(config);
    }
    const auto explored = static_cast<size_t>(std::lround(exploration_ * static_cast<double>(count)));
    if (is_first) claim_seeds(task, model, target, batch.size() + (count - batch.size()) / 2, batch);
    const std::vector<Config> ranked = rank(task, model, target, is_first ? kFirstSamples : kLaterSamples, random);
    // Half near the best: there the model errs least, while far away its top is where it is most wrong.
    const size_t local = (count - std::min(count, explored)) / 2;
    claim_first(task, ranked, batch.size() + local, batch,
                [&](const Config& config) { return is_near_best(task, config); });
    claim_first(task, ranked, count - std::min(count, explored), batch, [](const Config&) { return true; });
    fill_at_random(task, random, count, batch);
    return batch;
  }

 private:
  /// Claims in the order of `ranked` what is `wanted`, until `batch` holds `count`.
  template <typename Wanted>
  static void claim_first(TaskSearch& task, const std::vector<Config>& ranked, size_t count, std::vector<Config>& batch,
                          const Wanted& wanted) {
    for (size_t i = 0; i < ranked.size() && batch.size() < count; ++i) {
      if (wanted(ranked[i]) && task.claim(ranked[i])) batch.push_back(ranked[i]);
    }
  }

  /// Of the first batch: the best seeds by the model, until `batch` holds `count`. The others join the pool.
  static void claim_seeds(TaskSearch& task, const CostModel& model, const Target& target, size_t count,
                          std::vector<Config>& batch) {
    Ranking seeds(task, model, target);
    seeds.add(task.space().seeds());
    for (const size_t i : seeds.order()) {
      const Config& seed = seeds.config(i);
      if (batch.size() < count && task.claim(seed)) {
        batch.push_back(seed);
      } else {
        task.pool().push_back(seed);
      }
    }
  }

  static bool is_near_best(const TaskSearch& task, const Config& config) {
    for (const size_t i : task.best(kBests)) {
      const Config& best = task.measured()[i].config;
      if (best.family != config.family) continue;
      int changed = 0;
      for (const auto& [knob, value] : config.knobs) {
        const auto found = best.knobs.find(knob);
        changed += found == best.knobs.end() || found->second != value;
      }
      if (changed <= kNearKnobs) return true;
    }
    return false;
  }

  static std::vector<Config> rank(TaskSearch& task, const CostModel& model, const Target& target, int samples,
                                  std::mt19937_64& random) {
    Ranking ranking(task, model, target);
    if (const auto& listed = task.space().listed()) {
      ranking.add(*listed);
    } else {
      std::vector<Config>& pool = task.pool();
      for (int i = 0; i < samples; ++i) {
        std::optional<Config> config = task.space().sample(random, kTriesPerSample);
        if (config) pool.push_back(std::move(*config));
      }
      ranking.add(pool);
      for (const size_t i : task.best(kParents)) ranking.add(task.space().neighbours(task.measured()[i].config));
      for (int round = 0; round < kClimbs; ++round) ranking.climb(kClimbed);
    }
    std::vector<Config> ranked;
    for (const size_t i : ranking.order()) ranked.push_back(ranking.config(i));
    if (!task.space().listed()) {
      task.pool() = ranked;
      task.pool().resize(std::min(ranked.size(), kKept));
    }
    return ranked;
  }

  double exploration_;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_model_guided_strategy(double exploration) {
  return std::make_unique<ModelGuidedStrategy>(exploration);
}

}  // namespace warpwright
