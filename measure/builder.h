// Builder: compiles many kernels on all cores in worker processes, without running them.
#pragma once

#include <atomic>
#include <string>
#include <variant>
#include <vector>

#include "measure/compiler.h"
#include "src/core/kernel.h"

namespace warpwright {

struct BuildJob {
  KernelSource source;
  std::string arch;
};

struct BuilderOptions {
  std::string nvrtc_path;
  int jobs = 0;
  double compile_timeout_s = 60;
  std::string worker_program;               // path of the program with the `worker` verb; empty: this program
  const std::atomic<bool>* stop = nullptr;  // set by a signal: kernels not yet compiled become `interrupted`
};

/// Results in the order of `jobs`. A crash or hang of the compiler costs one kernel. Throws EnvironmentError when there
/// is no compiler, or it does not know an architecture.
std::vector<std::variant<CompiledKernel, Outcome>> compile_all(const std::vector<BuildJob>& jobs,
                                                               const BuilderOptions& options);

}  // namespace warpwright
