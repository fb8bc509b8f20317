// What global memory held before sampled CTAs wrote to it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

/// Taken back when asked, and at the end of its life.
class OldContents {
 public:
  OldContents() = default;
  OldContents(const OldContents&) = delete;
  OldContents& operator=(const OldContents&) = delete;
  ~OldContents() { take_back(); }

  /// Before a warp runs the op: what it will write to global memory. Raises a Fault for an access outside.
  void keep(Warp& warp, const Op& op, uint32_t mask);
  void take_back();

 private:
  struct Change {
    std::byte* at;
    uint32_t bytes;
    std::array<std::byte, 16> old;
  };
  std::vector<Change> changes_;
};

}  // namespace warpwright::virtual_gpu
