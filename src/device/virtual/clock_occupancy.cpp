// How many CTAs an SM holds: the arithmetic of cuda_occupancy.h.
#include <algorithm>

#include "src/device/virtual/clock_constant.h"

namespace warpwright {
namespace {

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Occupancy occupancy(uint32_t threads_per_cta, int registers_per_thread, int64_t smem_bytes_per_cta,
                    const Target& target) {
  const int64_t warps = round_up(threads_per_cta, 32) / 32;
  const bool fits = threads_per_cta > 0 && threads_per_cta <= static_cast<uint32_t>(target.max_threads_per_block) &&
                    registers_per_thread <= target.max_registers_per_thread &&
                    smem_bytes_per_cta <= target.smem_per_block_bytes;
  if (!fits) return {0, "block"};
  Occupancy best{target.max_ctas_per_sm, "ctas"};
  const auto limit = [&best](int64_t ctas, const char* name) {
    if (ctas < best.ctas) best = {static_cast<int>(ctas), name};
  };
  limit(target.max_warps_per_sm / warps, "warps");
  if (registers_per_thread > 0) {
    const auto granularity = static_cast<int64_t>(clock_constant(target, "register_granularity"));
    // Registers are dealt out by each of the four partitions to its own warps.
    const int64_t of_a_warp = round_up(int64_t{registers_per_thread} * 32, granularity);
    const int64_t warps_in_file = target.registers_per_sm / 4 / of_a_warp * 4;
    limit(warps_in_file / warps, "registers");
  }
  const auto reserved = static_cast<int64_t>(clock_constant(target, "shared_reserved_bytes"));
  const auto granularity = static_cast<int64_t>(clock_constant(target, "shared_granularity"));
  const int64_t shared = round_up(smem_bytes_per_cta + reserved, granularity);
  if (shared > 0) limit(target.smem_per_sm_bytes / shared, "shared memory");
  return best;
}

}  // namespace warpwright
