// Arithmetic of 32 lanes at once: the same code compiled for several instruction sets of the host.
#pragma once

#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

/// Handlers of an instruction that computes registers from registers alone; null handlers when it is not one of these.
/// `wide_to`, `wide_from`: of a cvt, its registers have 64 bits. Each runs on any x86-64 that has what the name says.
Handlers lanes_baseline(const ptx::Instruction& instruction, bool wide_to, bool wide_from);
Handlers lanes_avx2(const ptx::Instruction& instruction, bool wide_to, bool wide_from);

/// The fastest that this host can run.
Handlers lane_handlers(const ptx::Instruction& instruction, bool wide_to, bool wide_from);

}  // namespace warpwright::virtual_gpu
