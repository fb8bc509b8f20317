// Booster: gradient-boosted trees over dense rows, by XGBoost's C API.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace warpwright {

/// XGBoost refused something. Caught by the cost model, which then goes on with its prior.
class BoosterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Rows of equal width with, per row, the margin that the trees start from.
struct BoosterRows {
  std::span<const float> values;
  int64_t columns = 0;
  std::span<const float> margins;
};

class Booster {
 public:
  /// Trains at once: squared error on `labels`, weighted; the same for the same data and seed.
  Booster(const BoosterRows& rows, std::span<const float> labels, std::span<const float> weights, uint64_t seed);
  ~Booster();
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  /// Margins with what the trees add.
  std::vector<float> predict(const BoosterRows& rows) const;

 private:
  void* handle_ = nullptr;
};

}  // namespace warpwright
