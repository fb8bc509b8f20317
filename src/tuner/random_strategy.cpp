// RandomStrategy: the yardstick for every other.
#include <algorithm>

#include "src/tuner/search_strategy.h"

namespace warpwright {
namespace {

constexpr int kDrawsWithoutNews = 40;
constexpr int kTriesPerDraw = 10'000;

class RandomStrategy : public SearchStrategy {
 public:
  std::vector<Config> propose(TaskSearch& task, const CostModel&, const Target&, size_t count) override {
    std::vector<Config> batch;
    std::mt19937_64 random = task.next_random();
    fill_at_random(task, random, count, batch);
    return batch;
  }
};

/// Fisher-Yates on the raw generator: the same on every standard library.
template <typename T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
}

}  // namespace

void fill_at_random(TaskSearch& task, std::mt19937_64& random, size_t count, std::vector<Config>& batch) {
  if (const auto& listed = task.space().listed()) {
    std::vector<size_t> open;
    for (size_t i = 0; i < listed->size(); ++i) {
      if (!task.is_claimed(key((*listed)[i]))) open.push_back(i);
    }
    shuffle(open, random);
    for (size_t i = 0; i < open.size() && batch.size() < count; ++i) {
      if (task.claim((*listed)[open[i]])) batch.push_back((*listed)[open[i]]);
    }
    return;
  }
  for (int without_news = 0; batch.size() < count && without_news < kDrawsWithoutNews; ++without_news) {
    std::optional<Config> config = task.space().sample(random, kTriesPerDraw);
    if (!config || !task.claim(*config)) continue;
    batch.push_back(std::move(*config));
    without_news = -1;
  }
}

std::unique_ptr<SearchStrategy> make_random_strategy() { return std::make_unique<RandomStrategy>(); }

}  // namespace warpwright
