// From the name of a device to its card.
#include "src/device/card_state.h"

#include "src/device/cuda/cards.h"
#include "src/device/cuda/nvml.h"

namespace warpwright {
namespace {

constexpr std::string_view kCuda = "cuda:";

}  // namespace

std::string card_id(std::string_view device_name) {
  if (device_name != "auto" && !device_name.starts_with(kCuda)) return {};
  const CudaDriver& driver = cuda_driver();
  return card_uuid(driver, find_card(driver, device_name == "auto" ? "0" : device_name.substr(kCuda.size())));
}

std::optional<CardState> card_state(std::string_view device_name) {
  const std::string id = card_id(device_name);
  return id.empty() ? std::nullopt : nvml_card_state(id);
}

std::vector<CardProcess> card_processes(std::string_view device_name) {
  const std::string id = card_id(device_name);
  return id.empty() ? std::vector<CardProcess>() : nvml_card_processes(id);
}

}  // namespace warpwright
