// From a parsed kernel to operations that run.
#pragma once

#include <memory>
#include <vector>

#include "src/device/virtual/machine.h"

namespace warpwright::virtual_gpu {

/// `globals`: addresses of the module's global variables. With `is_checked`, accesses go through the checks of the CTA.
/// Throws UsageError that names the instruction when one is not supported.
std::unique_ptr<Code> decode(ptx::Kernel kernel, std::vector<std::byte> constant_bank,
                             const std::vector<uint64_t>& globals, bool is_checked);

}  // namespace warpwright::virtual_gpu
