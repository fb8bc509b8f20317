// The memory plan: where in one arena each tensor lies while it is alive.
#pragma once

#include "src/core/program.h"

namespace warpwright {

/// Offsets are multiples of this.
constexpr int64_t kArenaAlignment = 256;

/// Sets lives and offsets of the tensors and the size of the arena. Tensors alive at the same step never overlap; a
/// step's inputs and its output are alive together.
void plan_memory(Program& program);

}  // namespace warpwright
