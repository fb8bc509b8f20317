// libnvidia-ml.so.1 for the card of virtual_libcuda.cpp: clocks, power and processes, all of them made up.
//
// Environment: VIRTUAL_NVML_PROCESS, the id of a process that computes on the card; VIRTUAL_NVML_REASONS, bits of what
// slows its clocks.
#include <stdlib.h>

#include <cstring>

namespace {

struct MemoryInfo {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned id;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

constexpr int kSuccess = 0, kNotFound = 6;
int card = 0;

int give(unsigned* value, unsigned what) {
  *value = what;
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  *handle = &card;
  return strncmp(uuid, "GPU-5e5e5e5e", 12) == 0 ? kSuccess : kNotFound;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) { return give(mhz, kind == 1 ? 2235 : 10501); }
int nvmlDeviceGetMaxClockInfo(void*, int kind, unsigned* mhz) { return give(mhz, kind == 1 ? 3105 : 10501); }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return give(milliwatts, 60'000); }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return give(milliwatts, 300'000); }
int nvmlDeviceGetPowerManagementLimitConstraints(void*, unsigned* least, unsigned* most) {
  return give(least, 150'000) + give(most, 450'000);
}
int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) { return give(degrees, 51); }
int nvmlDeviceGetIndex(void*, unsigned* index) { return give(index, 0); }
int nvmlDeviceGetPerformanceState(void*, int* state) {
  *state = 2;
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void*, MemoryInfo* memory) {
  *memory = {25'757'220'864, 24'000'000'000, 1'757'220'864};
  return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  const char* text = getenv("VIRTUAL_NVML_REASONS");
  *reasons = text != nullptr ? strtoull(text, nullptr, 16) : 1;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  const char* text = getenv("VIRTUAL_NVML_PROCESS");
  *count = text != nullptr ? 1 : 0;
  if (text != nullptr) infos[0] = {static_cast<unsigned>(atoi(text)), 512'000'000, ~0U, ~0U};
  return kSuccess;
}

}  // extern "C"
