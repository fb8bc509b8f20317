// Target: what a schedule depends on. Targets are data: presets in target_presets.cpp, files by --target FILE.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/json.h"

namespace warpwright {

struct Target {             // NOLINT(bugprone-exception-escape): moving Json is noexcept
  std::string name;         // preset name, e.g. `rtx4090`
  std::string device_name;  // as the driver gives it, e.g. `NVIDIA GeForce RTX 4090`
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;
  int64_t smem_per_block_bytes = 0;  // opt-in maximum
  int64_t smem_per_sm_bytes = 0;
  int64_t registers_per_sm = 65536;
  int max_registers_per_thread = 255;
  int max_threads_per_block = 1024;
  int max_warps_per_sm = 0;
  int max_ctas_per_sm = 0;
  int64_t l2_bytes = 0;
  int memory_bus_bits = 0;
  double sm_clock_mhz = 0;  // boost
  double memory_gb_per_s = 0;
  Json timing;  // constants of the virtual clock, each with its source; see src/device/virtual/clock.h

  std::string arch() const;  // `sm_89`
  int compute_capability() const { return compute_major * 10 + compute_minor; }
  bool operator==(const Target&) const = default;
};

Json to_json(const Target& target);
/// Checks ranges; throws UsageError that names the field. Absent `timing` becomes that of the architecture.
Target target_from_json(const Json& json);
/// Hash of what the schedule depends on; `timing` is no part of it.
std::string key(const Target& target);

/// The clock's constants for an architecture, or for the nearest lower one that is known: name → {value, source}.
/// Throws UsageError below 7.5.
Json default_timing(int compute_capability);

const std::vector<Target>& target_presets();
/// Throws UsageError that lists the presets.
const Target& target_preset(std::string_view name);

}  // namespace warpwright
