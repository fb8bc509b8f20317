// Limits of an SM.
#include "search_space/limits.h"

#include <fmt/format.h>

#include "search_space/arithmetic.h"

namespace warpwright {

namespace {

constexpr int64_t kPartitions = 4;            // of an SM: a warp's registers lie in the file of one
constexpr int64_t kReservedSmemBytes = 1024;  // of every CTA from sm_80 on

}  // namespace

std::optional<std::string> why_too_much(const SmDemand& demand, const Target& target) {
  if (demand.smem_bytes > target.smem_per_block_bytes) {
    return fmt::format("{} bytes of shared memory exceed the {} of a CTA on {}", demand.smem_bytes,
                       target.smem_per_block_bytes, target.name);
  }
  if (demand.registers > target.max_registers_per_thread) {
    return fmt::format("about {} registers a thread exceed {}", demand.registers, target.max_registers_per_thread);
  }
  const int64_t warps = demand.ctas_per_sm * ceil_div(demand.threads, 32);
  if (round_up(demand.registers, 8) * 32 * round_up(warps, kPartitions) > target.registers_per_sm) {
    return fmt::format("about {} registers x {} threads x {} CTAs exceed the file of {}", demand.registers,
                       demand.threads, demand.ctas_per_sm, target.registers_per_sm);
  }
  const int64_t smem_bytes = demand.ctas_per_sm * (demand.smem_bytes + kReservedSmemBytes);
  if (demand.ctas_per_sm > 1 && (warps > target.max_warps_per_sm || smem_bytes > target.smem_per_sm_bytes)) {
    return fmt::format("{} CTAs of {} threads and {} bytes do not fit an SM", demand.ctas_per_sm, demand.threads,
                       demand.smem_bytes);
  }
  return std::nullopt;
}

}  // namespace warpwright
