// Compiler: CUDA C++ to PTX and cubin for a target's exact architecture.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "src/core/kernel.h"
#include "src/core/outcome.h"

namespace warpwright {

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// `NVRTC 13.0`; part of a record.
  virtual std::string version() const = 0;
  /// CUDA major version of what it makes; a driver takes no newer one.
  virtual int cuda_major() const = 0;
  /// The kernel with its resources read from the compiler's own report, or the failure with its full log.
  /// Throws EnvironmentError when this compiler does not know `arch`: not the source's fault. Safe in many threads.
  virtual std::variant<CompiledKernel, Outcome> compile(const KernelSource& source, const std::string& arch) = 0;
};

/// NVRTC, opened at run time: `path` if not empty, else $WARPWRIGHT_NVRTC, the build's own copy, the toolkit, the
/// loader's search path. Throws EnvironmentError that says what was tried and how to get it.
std::unique_ptr<Compiler> open_nvrtc(const std::string& path = {});

}  // namespace warpwright
