// CudaDevice: a card behind the driver API.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "src/core/target.h"
#include "src/device/cuda/driver.h"
#include "src/device/device.h"

namespace warpwright {

/// The card `selector`: its number, or its UUID as `GPU-...`. Throws UsageError for an unknown one (it lists the cards)
/// and EnvironmentError for a card that cannot be used. `driver` outlives the device.
std::unique_ptr<Device> open_cuda_device(const CudaDriver& driver, std::string_view selector);
/// The Target of that card without a context on it.
Target cuda_target(const CudaDriver& driver, std::string_view selector);
/// All cards of the driver that can be used; the others are named in the log.
std::vector<DeviceListing> list_cuda_devices(const CudaDriver& driver);

}  // namespace warpwright
