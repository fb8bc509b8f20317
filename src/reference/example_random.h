// ExampleRandom: random numbers by our own mapping; the standard's distributions differ from library to library.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace warpwright {

class ExampleRandom {
 public:
  void seed(uint64_t state) { random_.seed(state); }
  uint64_t bits() { return random_(); }
  int64_t uniform(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }
  float mantissa() { return std::ldexp(static_cast<float>(uniform(1 << 23, (1 << 24) - 1)), -23); }  // [1, 2)

 private:
  std::mt19937_64 random_;
};

}  // namespace warpwright
