// Faults of a running kernel, thrown inside the interpreter and turned into an Outcome by the launch.
#pragma once

#include <string>

#include "src/core/outcome.h"
#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

struct Fault {
  OutcomeKind kind;
  std::string message;
};

/// Throws a Fault whose message is `WHAT; PTX line N 'opcode', CTA (x,y,z), thread (x,y,z)`. `lane` -1: the warp.
[[noreturn]] void raise(OutcomeKind kind, const std::string& what, const Warp& warp, const Op& op, int lane);

/// `PTX line N 'opcode', CTA (x,y,z), thread (x,y,z)`.
std::string describe_place(const Warp& warp, const Op& op, int lane);
/// `(x,y,z)` of a CTA of the grid.
std::string describe_cta(const Grid& grid, uint64_t number);
/// `thread (x,y,z)` of a lane of a warp of this CTA.
std::string describe_thread(const Cta& cta, int warp, int lane);

}  // namespace warpwright::virtual_gpu
