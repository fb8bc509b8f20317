// The virtual GPU as a Device: PTX run by an interpreter, times estimated by a clock.
//
// Checked mode finds uninitialised reads, races, divergent barriers and writes to constant inputs. CTAs of a kernel
// with atomics on global memory take turns there, which the seed decides, and may hand data on through fences and
// atomics (grid_order.h); of other kernels they run over all cores, and may touch no byte that another one writes. Both
// modes find accesses that are out of bounds or misaligned, and stop at DeviceOptions::instruction_limit warp
// instructions a launch. time() and time_sequence() run every launch once in full, then estimate: one deterministic
// sample, whatever TimingOptions say of repeats; of these only cold_l2 matters. A fault leaves the device usable.
#pragma once

#include <memory>

#include "src/device/device.h"
#include "src/device/virtual/profile.h"

namespace warpwright {

/// What only a card in software can say.
class ProfilingDevice : public Device {
 public:
  /// Counts of the CTAs that stand for the launch. Runs those alone and takes back what they write to global memory.
  /// Throws UsageError when the launch is refused or they fault.
  virtual LaunchProfile profile(const Launch& launch) = 0;
};

std::unique_ptr<ProfilingDevice> open_virtual_device(const Target& target, const DeviceOptions& options = {});

}  // namespace warpwright
