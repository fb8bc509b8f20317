// Measurement: one compiled kernel verified against the reference, then timed, on a device of this process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "measure/trial_buffers.h"
#include "src/core/config.h"
#include "src/core/kernel.h"
#include "src/device/device.h"

namespace warpwright {

using DeviceFactory = std::function<std::unique_ptr<Device>(std::string_view name, const DeviceOptions& options)>;

struct Measurement {
  Outcome outcome;
  double verify_s = 0, run_s = 0;
};

/// Opens devices by name and keeps a card open; a virtual device is opened anew for each trial, checked for the
/// verification and fast for the time.
class Meter {
 public:
  Meter(DeviceFactory open_device, std::string device_name);

  struct Plan {
    const TrialData& data;
    const CompiledKernel& kernel;
    const LaunchShape& launch;
    uint64_t instruction_limit = 0;  // of a virtual device
    int device_jobs = 1;             // host threads of a virtual device
    TimingOptions timing;
  };
  /// Faults of the kernel are outcomes; a lacking environment throws.
  Measurement measure(const Plan& plan);
  /// The card, or the virtual device in its checked mode.
  const Device& device();

 private:
  DeviceFactory open_device_;
  std::string device_name_;
  std::unique_ptr<Device> card_;
};

/// nullopt, or why the card cannot launch the kernel: known from its resources before anything runs.
std::optional<std::string> why_unlaunchable(const Target& target, const CompiledKernel& kernel,
                                            const LaunchShape& launch);

}  // namespace warpwright
