// Access to the constants of the clock in a Target.
#pragma once

#include "src/device/virtual/clock.h"

namespace warpwright {

/// Throws UsageError when the Target has no such constant.
double clock_constant(const Target& target, const char* name);

}  // namespace warpwright
