// What cp.async reads.
#pragma once

#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

/// Bytes that each active lane of a cp.async reads, the rest of its copy is zeros: its source size, or none.
void bytes_to_read(Warp& warp, const Op& op, uint32_t mask, uint32_t* out);

}  // namespace warpwright::virtual_gpu
