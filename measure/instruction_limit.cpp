// The arithmetic of the instruction limit.
#include "measure/instruction_limit.h"

#include <algorithm>

namespace warpwright {

uint64_t instruction_limit(const Workload& workload, const Resources& resources) {
  double elements = static_cast<double>(workload.output.buffer_elements());
  for (const TensorForm& input : workload.inputs) elements += static_cast<double>(input.buffer_elements());
  const double bytes = static_cast<double>(resources.global_load_bytes) +
                       static_cast<double>(resources.global_store_bytes) +
                       static_cast<double>(resources.smem_bytes_moved);
  const double products =
      std::max(static_cast<double>(resources.inner_products) * 8, static_cast<double>(workload.multiply_adds()) * 4);
  const int64_t warps_per_cta = (resources.threads + 31) / 32;
  const double warps = static_cast<double>(warps_per_cta) * static_cast<double>(resources.ctas);
  const double expected = (products + bytes * 2 + elements * 64) / 32 + warps * 500;
  constexpr double kMost = 1e18;  // far beyond any launch, and safe to convert
  return std::max(kLeastInstructionLimit,
                  static_cast<uint64_t>(std::min(kMost, expected * static_cast<double>(kInstructionSlack))));
}

}  // namespace warpwright
