// The few functions of NVML that tell a card's clocks, power and what throttles it. Their signatures and constants are
// those of NVML's documentation; its header is not needed.
#include "src/device/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

namespace warpwright {
namespace {

using Handle = void*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1, kMemoryClock = 2, kTemperatureOfGpu = 0;

constexpr unsigned long long kClocksSet = 0x02;  // of the reasons why clocks are what they are
constexpr int kUnknownPowerState = 32;
constexpr unsigned kMostProcesses = 64;

struct MemoryInfo {
  unsigned long long total = 0, free = 0, used = 0;
};
struct ProcessInfo {
  unsigned id = 0;
  unsigned long long used_bytes = 0;  // all bits set: unknown
  unsigned gpu_instance = 0, compute_instance = 0;
};

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
    const Handle card = find(uuid);
    if (card == nullptr) return std::nullopt;
    CardState state;
    state.sm_mhz = clock(card, kSmClock, "nvmlDeviceGetClockInfo");
    state.memory_mhz = clock(card, kMemoryClock, "nvmlDeviceGetClockInfo");
    state.most_sm_mhz = clock(card, kSmClock, "nvmlDeviceGetMaxClockInfo");
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
    state.are_clocks_set = (reasons & kClocksSet) != 0;
    add_identity(card, state);
    return state;
  }

  std::vector<CardProcess> processes(const std::string& uuid) const {
    const Handle card = find(uuid);
    std::vector<CardProcess> all;
    if (card == nullptr) return all;
    for (const char* function :
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"}) {
      const auto list = bind<int(Handle, unsigned*, ProcessInfo*)>(function);
      std::array<ProcessInfo, kMostProcesses> infos;
      unsigned count = kMostProcesses;
      if (list == nullptr || list(card, &count, infos.data()) != kSuccess) continue;
      for (unsigned i = 0; i < std::min(count, kMostProcesses); ++i) {
        if (static_cast<pid_t>(infos[i].id) == getpid()) continue;
        const bool is_known = infos[i].used_bytes != ~0ULL;
        all.push_back({infos[i].id, name_of(infos[i].id), is_known ? static_cast<int64_t>(infos[i].used_bytes) : 0});
      }
    }
    return all;
  }

 private:
  Handle find(const std::string& uuid) const {
    const auto find = bind<int(const char*, Handle*)>("nvmlDeviceGetHandleByUUID");
    Handle card = nullptr;
    const bool is_found = is_open_ && find != nullptr && find(uuid.c_str(), &card) == kSuccess;
    return is_found ? card : nullptr;
  }
  void add_identity(Handle card, CardState& state) const {
    unsigned index = 0;
    int power_state = kUnknownPowerState;
    MemoryInfo memory;
    const auto get_index = bind<int(Handle, unsigned*)>("nvmlDeviceGetIndex");
    if (get_index != nullptr && get_index(card, &index) == kSuccess) state.index = static_cast<int>(index);
    const auto get_state = bind<int(Handle, int*)>("nvmlDeviceGetPerformanceState");
    const bool is_told = get_state != nullptr && get_state(card, &power_state) == kSuccess;
    if (is_told && power_state != kUnknownPowerState) state.power_state = power_state;
    const auto get_memory = bind<int(Handle, MemoryInfo*)>("nvmlDeviceGetMemoryInfo");
    if (get_memory != nullptr && get_memory(card, &memory) == kSuccess) {
      state.memory_bytes = static_cast<int64_t>(memory.total);
      state.free_bytes = static_cast<int64_t>(memory.free);
    }
  }
  static std::string name_of(unsigned process) {
    std::ifstream file(fmt::format("/proc/{}/comm", process));
    std::string name;
    std::getline(file, name);
    return name;
  }
  template <typename Signature>
  Signature* bind(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
  }
  double clock(Handle card, int kind, const char* function) const {
    unsigned mhz = 0;
    const auto read = bind<int(Handle, int, unsigned*)>(function);
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

const Nvml& nvml() {
  static const Nvml library;
  return library;
}

}  // namespace

std::string throttle_text(unsigned long long reasons) {
  std::string text;
  for (const auto& [bit, name] : kThrottling) {
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

std::optional<CardState> nvml_card_state(const std::string& uuid) { return nvml().state(uuid); }

std::vector<CardProcess> nvml_card_processes(const std::string& uuid) { return nvml().processes(uuid); }

}  // namespace warpwright
