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
  const double threads = static_cast<double>(resources.threads) * static_cast<double>(resources.ctas);
  const double expected = static_cast<double>(resources.inner_products) * 8 + bytes * 2 + threads * 500 +
                          static_cast<double>(workload.multiply_adds()) * 4 + elements * 64;
  constexpr double kMost = 1e18;  // far beyond any launch, and safe to convert
  return std::max(kLeastInstructionLimit,
                  static_cast<uint64_t>(std::min(kMost, expected * static_cast<double>(kInstructionSlack))));
}

}  // namespace warpwright
