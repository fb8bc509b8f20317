// OutdatedDriver: a driver that takes no code of the compiler in use.
#pragma once

#include "src/core/error.h"

namespace warpwright {

/// The driver is older than the compiler's cubins and PTX: no kernel's fault, and the same for all of them.
class OutdatedDriver : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

}  // namespace warpwright
