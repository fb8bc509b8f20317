// The list of devices: names to implementations.
#include "src/device/device.h"

#include <fmt/format.h>

#include <cstring>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_text.h"
#include "src/device/cuda/cuda_device.h"
#include "src/device/virtual/virtual_device.h"

namespace warpwright {
namespace {

constexpr std::string_view kCuda = "cuda:", kVirtual = "virtual:";
constexpr int64_t kTargetFileLimit_bytes = 1 << 20;

bool is_cuda(std::string_view name) { return name == "auto" || name.starts_with(kCuda); }

std::string_view cuda_selector(std::string_view name) { return name == "auto" ? "0" : name.substr(kCuda.size()); }

/// The Target of `virtual:PRESET` or `virtual:FILE.json`.
Target virtual_target(std::string_view name) {
  const std::string text(name.substr(kVirtual.size()));
  if (!text.ends_with(".json")) return target_preset(text);
  const Json json = try_parse_json(read_file(text, kTargetFileLimit_bytes));
  if (json.is_discarded()) throw UsageError(fmt::format("the target file {} is not JSON", text));
  try {
    return target_from_json(json);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("the target file {}: {}", text, error.what()));
  }
}

[[noreturn]] void refuse(std::string_view name) {
  throw UsageError(
      fmt::format("there is no device '{}'. Devices are cuda:N and cuda:GPU-UUID (a card), virtual:TARGET and "
                  "virtual:FILE.json (a GPU in software), and auto (cuda:0); `warpwright devices` lists them.",
                  name));
}

}  // namespace

BoundArgument bind_address(DeviceAddress address) {
  BoundArgument argument;
  static_assert(sizeof(address) == 8);
  std::memcpy(argument.bytes.data(), &address, 8);
  argument.size = 8;
  return argument;
}

BoundArgument bind_scalar(const Tensor& value) {
  if (size_bytes(value.dtype) != 4 || value.bytes.size() < 4) {
    throw InternalError(fmt::format("a scalar argument of {} bytes of {}", value.bytes.size(), name(value.dtype)));
  }
  BoundArgument argument;
  std::memcpy(argument.bytes.data(), value.bytes.data(), 4);
  argument.size = 4;
  return argument;
}

std::unique_ptr<Device> open_device(std::string_view name, const DeviceOptions& options) {
  if (is_cuda(name)) return open_cuda_device(cuda_driver(), cuda_selector(name));
  if (name.starts_with(kVirtual)) return open_virtual_device(virtual_target(name), options);
  refuse(name);
}

Target target_of_device(std::string_view name) {
  if (is_cuda(name)) return cuda_target(cuda_driver(), cuda_selector(name));
  if (name.starts_with(kVirtual)) return virtual_target(name);
  refuse(name);
}

std::vector<DeviceListing> list_devices() {
  std::vector<DeviceListing> listings;
  if (has_cuda_driver()) listings = list_cuda_devices(cuda_driver());
  for (const Target& preset : target_presets()) {
    listings.push_back({std::string(kVirtual) + preset.name, preset.device_name + " in software", preset});
  }
  return listings;
}

}  // namespace warpwright
