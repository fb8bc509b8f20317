// Cards of the driver: selection by number or UUID, and their Targets.
#pragma once

#include <string>
#include <string_view>

#include "src/core/target.h"
#include "src/device/cuda/driver.h"

namespace warpwright {

/// Throws UsageError that lists the cards, EnvironmentError when there is none.
CUdevice find_card(const CudaDriver& driver, std::string_view selector);
/// Limits as the driver gives them, over the preset of the same device name where there is one; `is_known` tells.
/// Throws EnvironmentError for a card older than sm_75.
Target card_target(const CudaDriver& driver, CUdevice card, bool* is_known = nullptr);
/// `GPU-` and 32 hexadecimal digits in five groups.
std::string card_uuid(const CudaDriver& driver, CUdevice card);
/// Throws EnvironmentError naming `what` and the error unless it is CUDA_SUCCESS.
void require(const CudaDriver& driver, CUresult result, std::string_view what);

}  // namespace warpwright
