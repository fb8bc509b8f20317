// Places of a kernel's registers in the register file of a warp: registers that never hold a value at the same time
// share one, so that the file stays in the host's cache.
#pragma once

#include <vector>

#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

struct RegisterFile {
  std::vector<Place> places;  // by register: bytes from the start of the file; predicates: their number
  size_t lines = 0;           // of 128 bytes
  size_t predicates = 0;
  std::vector<Place> zeroed;  // 128-byte lines whose register may be read before it is written
};

RegisterFile place_registers(const ptx::Kernel& kernel);

}  // namespace warpwright::virtual_gpu
