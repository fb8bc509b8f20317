// ConstantBudget: what may be computed from a model's constants before anything runs.
#pragma once

#include <cstdint>

namespace warpwright {

/// Constants that import and passes may still make, so that a small file cannot ask for all memory or for hours: 64 MiB
/// and 2^28 operations, and 16 bytes and 256 operations for each byte of the constants that the model brings.
class ConstantBudget {
 public:
  void grow(int64_t bytes_of_model) {
    left_bytes_ += 16 * bytes_of_model;
    left_operations_ += 256 * bytes_of_model;
  }
  /// False, and nothing is taken, when that much is not left.
  bool take(int64_t bytes, int64_t operations = 0) {
    if (bytes > left_bytes_ || operations > left_operations_) return false;
    left_bytes_ -= bytes;
    left_operations_ -= operations;
    return true;
  }

 private:
  int64_t left_bytes_ = int64_t{64} << 20, left_operations_ = int64_t{1} << 28;
};

}  // namespace warpwright
