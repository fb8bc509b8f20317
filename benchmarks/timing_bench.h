// TimingBench: times Configs in this process, without verifying them. For benchmarks, never for records.
#pragma once

#include <memory>
#include <string>

#include "measure/compiler.h"
#include "src/core/config.h"
#include "src/device/device.h"
#include "src/reference/reference.h"

namespace warpwright {

/// A compiler and a device of one thread.
class TimingBench {
 public:
  explicit TimingBench(const std::string& device_name);

  const Target& target() const { return target_; }
  /// The kernel's time, or what went wrong. On a virtual device only the CTAs that are counted run. `kernel`, if given,
  /// becomes what the compiler made.
  Outcome time(const Workload& workload, const Config& config, const Example& example,
               CompiledKernel* kernel = nullptr);

 private:
  std::unique_ptr<Compiler> compiler_;
  Target target_;
  std::unique_ptr<Device> card_;  // null for a virtual device, which is opened for each time
};

}  // namespace warpwright
