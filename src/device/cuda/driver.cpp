// Opening libcuda.so.1 and naming its errors.
#include "src/device/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <type_traits>
#include <vector>

#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char* kLibraryOfWsl = "/usr/lib/wsl/lib/libcuda.so.1";  // not always on the loader's path
constexpr int kLeastVersion = 12000;
constexpr const char* kVersions = "580 or later for CUDA 13, 525 or later for CUDA 12";

Surroundings surroundings() {
  std::ifstream release("/proc/sys/kernel/osrelease");
  std::string text;
  std::getline(release, text);
  if (text.find("microsoft") != std::string::npos || text.find("WSL") != std::string::npos) return Surroundings::wsl;
  std::error_code ignored;
  const bool is_container = std::filesystem::exists("/.dockerenv", ignored) ||
                            std::filesystem::exists("/run/.containerenv", ignored) || getenv("container") != nullptr ||
                            getenv("KUBERNETES_SERVICE_HOST") != nullptr;
  return is_container ? Surroundings::container : Surroundings::machine;
}

// cuda.h names the newest version of each function; the ones without a check here have more than one.
static_assert(std::is_same_v<decltype(CudaDriver::device_attribute), decltype(&cuDeviceGetAttribute)>);
static_assert(std::is_same_v<decltype(CudaDriver::context_retain), decltype(&cuDevicePrimaryCtxRetain)>);
static_assert(std::is_same_v<decltype(CudaDriver::memory_allocate), decltype(&cuMemAlloc)>);
static_assert(std::is_same_v<decltype(CudaDriver::memory_upload), decltype(&cuMemcpyHtoD)>);
static_assert(std::is_same_v<decltype(CudaDriver::memory_download), decltype(&cuMemcpyDtoH)>);
static_assert(std::is_same_v<decltype(CudaDriver::memory_set), decltype(&cuMemsetD8Async)>);
static_assert(std::is_same_v<decltype(CudaDriver::module_load), decltype(&cuModuleLoadDataEx)>);
static_assert(std::is_same_v<decltype(CudaDriver::function_set_attribute), decltype(&cuFuncSetAttribute)>);
static_assert(std::is_same_v<decltype(CudaDriver::launch), decltype(&cuLaunchKernel)>);
static_assert(std::is_same_v<decltype(CudaDriver::stream_begin_capture), decltype(&cuStreamBeginCapture)>);
static_assert(std::is_same_v<decltype(CudaDriver::stream_end_capture), decltype(&cuStreamEndCapture)>);
static_assert(std::is_same_v<decltype(CudaDriver::event_create), decltype(&cuEventCreate)>);
static_assert(std::is_same_v<decltype(CudaDriver::graph_launch), decltype(&cuGraphLaunch)>);

class Symbols {
 public:
  /// Of the first of `libraries` that opens.
  explicit Symbols(const std::vector<std::string>& libraries) {
    std::vector<std::string> reasons;
    for (const std::string& library : libraries) {
      handle_ = dlopen(library.c_str(), RTLD_NOW);
      library_ = library;
      if (handle_ != nullptr) return;
      const char* reason = dlerror();
      reasons.emplace_back(reason != nullptr ? reason : library);
    }
    throw EnvironmentError(fmt::format("no CUDA driver: {}. {}", fmt::join(reasons, "; "), cure()));
  }

  template <typename Function>
  void bind(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (function == nullptr) {
      throw EnvironmentError(fmt::format("the CUDA driver {} has no {}: it is too old. {}", library_, symbol, cure()));
    }
  }

 private:
  static std::string cure() { return driver_cure(surroundings()); }

  std::string library_;
  void* handle_ = nullptr;  // never closed: the driver stays as long as the process
};

void bind_memory_and_modules(const Symbols& symbols, CudaDriver& driver) {
  symbols.bind("cuMemAlloc_v2", driver.memory_allocate);
  symbols.bind("cuMemFree_v2", driver.memory_free);
  symbols.bind("cuMemcpyHtoD_v2", driver.memory_upload);
  symbols.bind("cuMemcpyDtoH_v2", driver.memory_download);
  symbols.bind("cuMemsetD8Async", driver.memory_set);
  symbols.bind("cuModuleLoadDataEx", driver.module_load);
  symbols.bind("cuModuleUnload", driver.module_unload);
  symbols.bind("cuModuleGetFunction", driver.module_function);
  symbols.bind("cuFuncSetAttribute", driver.function_set_attribute);
  symbols.bind("cuLaunchKernel", driver.launch);
}

void bind_streams_and_graphs(const Symbols& symbols, CudaDriver& driver) {
  symbols.bind("cuStreamCreate", driver.stream_create);
  symbols.bind("cuStreamDestroy_v2", driver.stream_destroy);
  symbols.bind("cuStreamSynchronize", driver.stream_synchronize);
  symbols.bind("cuStreamBeginCapture_v2", driver.stream_begin_capture);
  symbols.bind("cuStreamEndCapture", driver.stream_end_capture);
  symbols.bind("cuEventCreate", driver.event_create);
  symbols.bind("cuEventDestroy_v2", driver.event_destroy);
  symbols.bind("cuEventRecord", driver.event_record);
  symbols.bind("cuEventElapsedTime", driver.event_elapsed);
  symbols.bind("cuGraphInstantiateWithFlags", driver.graph_instantiate);
  symbols.bind("cuGraphLaunch", driver.graph_launch);
  symbols.bind("cuGraphExecDestroy", driver.graph_exec_destroy);
  symbols.bind("cuGraphDestroy", driver.graph_destroy);
}

}  // namespace

std::string driver_cure(Surroundings where) {
  constexpr const char* kVirtual = "or use a GPU in software with --device virtual:rtx4090.";
  switch (where) {
    case Surroundings::container:
      return fmt::format(
          "This is a container: start it with the card, `docker run --gpus all` or `podman run --device "
          "nvidia.com/gpu=all`, with NVIDIA_DRIVER_CAPABILITIES=compute,utility, on a machine that has NVIDIA's driver "
          "({}) and the NVIDIA Container Toolkit; {}",
          kVersions, kVirtual);
    case Surroundings::wsl:
      return fmt::format("This is WSL: install NVIDIA's driver ({}) in Windows, not here; it comes as {}; {}",
                         kVersions, kLibraryOfWsl, kVirtual);
    case Surroundings::machine:
      break;
  }
  return fmt::format("Install NVIDIA's driver ({}) on a machine with a card, {}", kVersions, kVirtual);
}

CudaDriver load_cuda_driver(const std::string& library) { return load_cuda_driver(std::vector<std::string>{library}); }

CudaDriver load_cuda_driver(const std::vector<std::string>& libraries) {
  const Symbols symbols(libraries);
  const std::string cure = driver_cure(surroundings());
  CudaDriver driver;
  symbols.bind("cuInit", driver.init);
  symbols.bind("cuDriverGetVersion", driver.driver_version);
  symbols.bind("cuGetErrorName", driver.error_name);
  symbols.bind("cuGetErrorString", driver.error_string);
  symbols.bind("cuDeviceGetCount", driver.device_count);
  symbols.bind("cuDeviceGet", driver.device_get);
  symbols.bind("cuDeviceGetName", driver.device_name);
  symbols.bind("cuDeviceGetUuid_v2", driver.device_uuid);
  symbols.bind("cuDeviceGetAttribute", driver.device_attribute);
  symbols.bind("cuDevicePrimaryCtxRetain", driver.context_retain);
  symbols.bind("cuDevicePrimaryCtxRelease_v2", driver.context_release);
  symbols.bind("cuCtxSetCurrent", driver.context_set_current);
  bind_memory_and_modules(symbols, driver);
  bind_streams_and_graphs(symbols, driver);
  if (const CUresult result = driver.init(0); result != CUDA_SUCCESS) {
    throw EnvironmentError(fmt::format("the CUDA driver does not start: {}. {}", driver.describe(result), cure));
  }
  if (const CUresult result = driver.driver_version(&driver.version); result != CUDA_SUCCESS) {
    throw EnvironmentError(fmt::format("the CUDA driver tells no version: {}. {}", driver.describe(result), cure));
  }
  if (driver.version < kLeastVersion) {
    throw EnvironmentError(fmt::format("the driver is of {}, too old. {}", driver.version_text(), cure));
  }
  return driver;
}

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = load_cuda_driver(std::vector<std::string>{kLibrary, kLibraryOfWsl});
  return driver;
}

bool has_cuda_driver() {
  try {
    cuda_driver();
    return true;
  } catch (const EnvironmentError&) {
    return false;
  }
}

std::string CudaDriver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return fmt::format("an error that this driver cannot name (code {})", static_cast<int>(result));
  }
  if (error_string(result, &text) != CUDA_SUCCESS || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

std::string CudaDriver::version_text() const { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

OutcomeKind outcome_kind_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return OutcomeKind::ok;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      return OutcomeKind::memory_fault;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return OutcomeKind::run_timeout;
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ASSERT:
      return OutcomeKind::crashed;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_NOT_FOUND:
      return OutcomeKind::launch_error;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return OutcomeKind::out_of_memory;
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_UNKNOWN:
      return OutcomeKind::device_lost;
    default:
      return OutcomeKind::infrastructure;
  }
}

}  // namespace warpwright
