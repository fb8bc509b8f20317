// The cost of one PTX instruction by itself, before neighbours are considered.
#pragma once

#include "src/device/virtual/folding.h"

namespace warpwright {

/// As ptxas translates the instruction alone.
IssueCost cost_alone(const ptx::Instruction& instruction);

/// Writes memory, moves control or talks to other threads: alive whatever its results.
bool has_side_effects(const ptx::Instruction& instruction);

/// Copies or reinterprets a register: costs nothing and stands for its source.
bool is_copy(const ptx::Instruction& instruction);

}  // namespace warpwright
