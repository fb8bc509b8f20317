// What a good kernel is, in counts: conflicts, narrow accesses, spills, and what the main loop issues beside mma
// or fma.
#pragma once

#include <cstdint>
#include <optional>

#include "src/core/kernel.h"
#include "src/device/virtual/profile.h"

namespace warpwright {

/// The innermost loop that holds mma or fma, as issued after folding.
struct MainLoop {
  int products = 0;  // mma and fma instructions
  int others = 0;    // all else

  double others_per_product() const { return static_cast<double>(others) / products; }
};

struct KernelQuality {
  uint64_t matrix_conflicts = 0;         // of the sampled CTAs: wavefronts of ldmatrix beyond the ideal
  uint64_t copy_conflicts = 0;           // the same of what cp.async writes to shared memory
  uint64_t other_conflicts = 0;          // and of ordinary accesses
  GlobalRequests loads, stores, copies;  // of the sampled CTAs; copies: cp.async.cg, those of .ca are loads
  int spill_bytes = 0;                   // a thread, stores and loads
  std::optional<MainLoop> main_loop;     // nullopt: no loop holds products
};

/// `profile`: of a launch of the kernel, see ProfilingDevice in virtual_device.h.
KernelQuality quality(const CompiledKernel& kernel, const LaunchProfile& profile);

/// From PTX alone. Throws UsageError when there is no kernel `entry` in it.
std::optional<MainLoop> main_loop(const std::string& ptx, const std::string& entry);

}  // namespace warpwright
