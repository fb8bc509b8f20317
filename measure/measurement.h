// Measurement: one compiled kernel verified against the reference, then timed, on a device of this process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/card_clocks.h"
#include "measure/trial_buffers.h"
#include "src/core/config.h"
#include "src/core/kernel.h"
#include "src/device/card_state.h"
#include "src/device/device.h"

namespace warpwright {

using DeviceFactory = std::function<std::unique_ptr<Device>(std::string_view name, const DeviceOptions& options)>;

using CardStateReader = std::function<std::optional<CardState>(std::string_view device)>;

struct Measurement {
  Outcome outcome;
  double run_s = 0;                     // in the timed loops
  std::vector<double> warm_samples_us;  // with a warm L2
  CardClocks clocks;                    // of a card, right after the samples with a cold L2
};

/// Opens devices by name and keeps a card open; a virtual device is opened anew for each trial, checked for the
/// verification and fast for the time.
class Meter {
 public:
  /// `card_state` may be empty.
  Meter(DeviceFactory open_device, std::string device_name, CardStateReader card_state = {});

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

  class Bench;

 private:
  Outcome time_warm(Bench& bench, TimingOptions timing, Outcome cold, Measurement& result) const;

  DeviceFactory open_device_;
  std::string device_name_;
  CardStateReader card_state_;
  std::unique_ptr<Device> card_;
};

/// nullopt, or why the card cannot launch the kernel: known from its resources before anything runs.
std::optional<std::string> why_unlaunchable(const Target& target, const CompiledKernel& kernel,
                                            const LaunchShape& launch);

}  // namespace warpwright
