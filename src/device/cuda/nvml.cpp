// The few functions of NVML that tell a card's clocks, power and what throttles it. Their signatures and constants are
// those of NVML's documentation; its header is not needed.
#include "src/device/cuda/nvml.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace warpwright {
namespace {

using Handle = void*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1, kMemoryClock = 2, kTemperatureOfGpu = 0;

constexpr std::array<std::pair<unsigned long long, const char*>, 5> kThrottling{{{0x04, "power_cap"},
                                                                                 {0x08, "hardware_slowdown"},
                                                                                 {0x20, "thermal"},
                                                                                 {0x40, "hardware_thermal"},
                                                                                 {0x80, "power_brake"}}};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    const auto start = bind<int()>("nvmlInit_v2");
    is_open_ = start != nullptr && start() == kSuccess;
  }

  std::optional<CardState> state(const std::string& uuid) const {
    const auto find = bind<int(const char*, Handle*)>("nvmlDeviceGetHandleByUUID");
    Handle card = nullptr;
    if (!is_open_ || find == nullptr || find(uuid.c_str(), &card) != kSuccess) return std::nullopt;
    CardState state;
    state.sm_mhz = clock(card, kSmClock);
    state.memory_mhz = clock(card, kMemoryClock);
    state.power_w = watts(card, "nvmlDeviceGetPowerUsage");
    state.power_limit_w = watts(card, "nvmlDeviceGetEnforcedPowerLimit");
    unsigned least = 0, most = 0, degrees = 0;
    const auto limits = bind<int(Handle, unsigned*, unsigned*)>("nvmlDeviceGetPowerManagementLimitConstraints");
    if (limits != nullptr && limits(card, &least, &most) == kSuccess) state.most_power_limit_w = most / 1e3;
    const auto temperature = bind<int(Handle, int, unsigned*)>("nvmlDeviceGetTemperature");
    if (temperature != nullptr && temperature(card, kTemperatureOfGpu, &degrees) == kSuccess) {
      state.temperature_c = static_cast<int>(degrees);
    }
    unsigned long long reasons = 0;
    const auto throttling = bind<int(Handle, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
    if (throttling != nullptr && throttling(card, &reasons) == kSuccess) state.throttled_by = throttle_text(reasons);
    return state;
  }

 private:
  template <typename Signature>
  Signature* bind(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
  }
  double clock(Handle card, int kind) const {
    unsigned mhz = 0;
    const auto read = bind<int(Handle, int, unsigned*)>("nvmlDeviceGetClockInfo");
    return read != nullptr && read(card, kind, &mhz) == kSuccess ? mhz : 0;
  }
  double watts(Handle card, const char* function) const {
    unsigned milliwatts = 0;
    const auto read = bind<int(Handle, unsigned*)>(function);
    return read != nullptr && read(card, &milliwatts) == kSuccess ? milliwatts / 1e3 : 0;
  }

  void* const library_;  // never closed, like the driver
  bool is_open_ = false;
};

}  // namespace

std::string throttle_text(unsigned long long reasons) {
  std::string text;
  for (const auto& [bit, name] : kThrottling) {
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

std::optional<CardState> nvml_card_state(const std::string& uuid) {
  static const Nvml nvml;
  return nvml.state(uuid);
}

}  // namespace warpwright
