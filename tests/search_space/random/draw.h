// Draw: random choices that are the same on every standard library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

namespace warpwright::testing {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  /// True in `percent` of 100 cases.
  bool chance(int64_t percent) { return between(1, 100) <= percent; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return *std::next(values.begin(), between(0, static_cast<int64_t>(values.size()) - 1));
  }
  std::mt19937_64& generator() { return random_; }

 private:
  std::mt19937_64 random_;
};

}  // namespace warpwright::testing
