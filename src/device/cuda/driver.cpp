// Opening libcuda.so.1 and naming its errors.
#include "src/device/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kLeastVersion = 12000;
constexpr const char* kCure =
    "Install NVIDIA's driver (580 or later for CUDA 13, 525 or later for CUDA 12) on a machine with a card, or use a "
    "GPU "
    "in software with --device virtual:rtx4090.";

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
  explicit Symbols(const std::string& library) : library_(library), handle_(dlopen(library.c_str(), RTLD_NOW)) {
    if (handle_ != nullptr) return;
    const char* reason = dlerror();
    throw EnvironmentError(fmt::format("no CUDA driver: {}. {}", reason != nullptr ? reason : library, kCure));
  }

  template <typename Function>
  void bind(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (function == nullptr) {
      throw EnvironmentError(fmt::format("the CUDA driver {} has no {}: it is too old. {}", library_, symbol, kCure));
    }
  }

 private:
  const std::string library_;
  void* const handle_;  // never closed: the driver stays as long as the process
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

CudaDriver load_cuda_driver(const std::string& library) {
  const Symbols symbols(library);
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
    throw EnvironmentError(fmt::format("the CUDA driver does not start: {}. {}", driver.describe(result), kCure));
  }
  if (const CUresult result = driver.driver_version(&driver.version); result != CUDA_SUCCESS) {
    throw EnvironmentError(fmt::format("the CUDA driver tells no version: {}. {}", driver.describe(result), kCure));
  }
  if (driver.version < kLeastVersion) {
    throw EnvironmentError(fmt::format("the driver is of {}, too old. {}", driver.version_text(), kCure));
  }
  return driver;
}

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = load_cuda_driver(kLibrary);
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
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
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
