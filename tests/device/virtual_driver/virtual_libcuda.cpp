// libcuda.so.1 over the virtual GPU: what src/device/cuda asks of a driver, with kernels that really run, and a
// driver's faults on request (driver_fault.h). The loader finds it in place of a driver by LD_LIBRARY_PATH.
//
// Cubins are refused as those of another card are, so that the driver's way through PTX is taken. Times are those of
// the virtual clock, without noise. After a fault of a kernel every call of the process fails with it. Environment:
// VIRTUAL_CUDA_TARGET (rtx4090), VIRTUAL_CUDA_VERSION (13000), VIRTUAL_CUDA_MEMORY_MB (24564).
#include <cuda.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/core/error.h"
#include "src/core/target.h"
#include "src/device/virtual/ptx.h"
#include "src/device/virtual/virtual_device.h"
#include "tests/device/virtual_driver/driver_fault.h"

#undef cuEventElapsedTime  // the header names its second version, the product asks for the first

namespace {

using namespace warpwright;

constexpr int kL2_bytes = 4 << 20;  // small, since what flushes it is host memory
long setting(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text != nullptr ? atol(text) : otherwise;
}

const Target& card() {
  const char* name = getenv("VIRTUAL_CUDA_TARGET");
  return target_preset(name != nullptr ? name : "rtx4090");
}

struct Function {
  DeviceKernel kernel;
  std::vector<uint32_t> parameter_bytes;
};
struct Module {
  std::string text;
  ptx::Module ptx;
  std::map<std::string, Function> functions;
};
using Graph = std::vector<Launch>;

/// The one card with its primary context.
struct Card {
  std::unique_ptr<ProfilingDevice> device = open_virtual_device(card(), {.checked = false, .jobs = 1});
  virtual_driver::DriverFault fault;
  CUresult sticky = CUDA_SUCCESS;
  std::map<CUdeviceptr, size_t> sizes;
  size_t used_bytes = 0;
  std::set<Module*> modules;
  bool is_capturing = false;
  Graph captured;
  double now_us = 0;
  bool is_cold = false;
};

Card& state() {
  static Card card;
  return card;
}

/// What a driver calls the end of a launch.
CUresult error_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::ok:
      return CUDA_SUCCESS;
    case OutcomeKind::memory_fault:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case OutcomeKind::run_timeout:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case OutcomeKind::launch_error:
      return CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

/// Runs the kernel; only what it cannot be launched with is told at once.
CUresult execute(const Launch& launch) {
  TimingOptions timing;
  timing.cold_l2 = state().is_cold;
  state().is_cold = false;
  state().sticky = state().fault.at_launch();
  if (state().sticky != CUDA_SUCCESS) return CUDA_SUCCESS;
  const Outcome outcome = state().device->time(launch, timing);
  if (outcome.kind == OutcomeKind::launch_error) return CUDA_ERROR_INVALID_VALUE;
  state().sticky = error_of(outcome.kind);
  if (outcome.ok()) state().now_us += outcome.median_us();
  return CUDA_SUCCESS;
}

/// Calls the virtual device, whose exceptions stand for errors.
template <typename Call>
CUresult guarded(Call call) {
  if (state().sticky != CUDA_SUCCESS) return state().sticky;
  try {
    return call();
  } catch (const OutOfDeviceMemory&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception&) {
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult make_function(Module& module, const std::string& name, Function& function) {
  const auto found = std::ranges::find(module.ptx.kernels, name, &ptx::Kernel::name);
  if (found == module.ptx.kernels.end()) return CUDA_ERROR_NOT_FOUND;
  CompiledKernel compiled;
  compiled.entry = name;
  compiled.arch = card().arch();
  compiled.ptx = module.text;
  // As few as a block of the largest size leaves each of its threads: a driver's compiler holds to it too.
  const int64_t threads = int64_t{found->max_block[0]} * found->max_block[1] * found->max_block[2];
  compiled.registers = static_cast<int>(std::min<int64_t>(64, card().registers_per_sm / std::max<int64_t>(threads, 1)));
  function.kernel = state().device->load(compiled);
  for (const ptx::Parameter& parameter : found->parameters) function.parameter_bytes.push_back(parameter.bytes);
  return CUDA_SUCCESS;
}

CUevent as_event(double* time) { return reinterpret_cast<CUevent>(time); }
double* as_time(CUevent event) { return reinterpret_cast<double*>(event); }
Graph* as_graph(void* handle) { return reinterpret_cast<Graph*>(handle); }

struct ErrorText {
  CUresult error;
  const char* name;
  const char* sentence;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available on the device"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult text_of(CUresult error, const char* ErrorText::*which, const char** text) {
  const auto found = std::ranges::find(kErrors, error, &ErrorText::error);
  if (found == std::end(kErrors)) return CUDA_ERROR_INVALID_VALUE;
  *text = (*found).*which;
  return CUDA_SUCCESS;
}

int limit(CUdevice_attribute which, bool& is_known) {
  const Target& target = card();
  is_known = true;
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return target.compute_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return target.compute_minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return static_cast<int>(target.sm_count);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return static_cast<int>(target.smem_per_block_bytes);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return static_cast<int>(target.smem_per_sm_bytes);
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return static_cast<int>(target.registers_per_sm);
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return static_cast<int>(target.max_threads_per_block);
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return static_cast<int>(target.max_warps_per_sm * 32);
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return static_cast<int>(target.max_ctas_per_sm);
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return kL2_bytes;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return static_cast<int>(target.memory_bus_bits);
    default:
      is_known = false;
      return 0;
  }
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) { return state().fault.at_start(); }
CUresult cuGetExportTable(const void**, const CUuuid*) { return CUDA_ERROR_NOT_FOUND; }  // NVRTC does without
CUresult cuDriverGetVersion(int* version) {
  *version = static_cast<int>(setting("VIRTUAL_CUDA_VERSION", 13000));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) { return text_of(error, &ErrorText::name, text); }
CUresult cuGetErrorString(CUresult error, const char** text) { return text_of(error, &ErrorText::sentence, text); }
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int number) {
  return (*device = number) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDeviceGetName(char* text, int size, CUdevice) {
  strncpy(text, card().device_name.c_str(), static_cast<size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  memset(uuid->bytes, 0x5e, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  bool is_known = false;
  *value = limit(which, is_known);
  return is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&state());
  return state().fault.at_opening();
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return state().sticky; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return guarded([&] {
    const auto all = static_cast<size_t>(setting("VIRTUAL_CUDA_MEMORY_MB", 24564)) << 20;
    if (const CUresult injected = state().fault.at_allocation(); injected != CUDA_SUCCESS) return injected;
    if (bytes > all - state().used_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = state().device->allocate(static_cast<int64_t>(bytes), "memory of the driver");
    state().sizes[*address] = bytes;
    state().used_bytes += bytes;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  return guarded([&] {
    state().device->free(address);
    state().used_bytes -= state().sizes[address];
    state().sizes.erase(address);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return guarded([&] {
    state().device->upload(to, {static_cast<const std::byte*>(from), bytes});
    return CUDA_SUCCESS;
  });
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return guarded([&] {
    state().device->download({static_cast<std::byte*>(to), bytes}, from);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream) {
  return guarded([&] {
    const std::vector<std::byte> part(std::min(bytes, size_t{1} << 20), std::byte{value});
    for (size_t at = 0; at < bytes; at += part.size()) {
      state().device->upload(address + at, std::span(part).first(std::min(part.size(), bytes - at)));
    }
    state().is_cold = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleLoadDataEx(CUmodule* result, const void* image, unsigned int count, CUjit_option* options,
                            void** values) {
  return guarded([&] {
    const char* text = static_cast<const char*>(image);
    if (strncmp(text,
                "\x7f"
                "ELF",
                4) == 0)
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (const CUresult injected = state().fault.at_module(); injected != CUDA_SUCCESS) return injected;
    auto module = std::make_unique<Module>();
    module->text = text;
    try {
      module->ptx = ptx::parse(module->text);
    } catch (const std::exception& error) {
      if (count > 0 && options[0] == CU_JIT_ERROR_LOG_BUFFER)
        strncpy(static_cast<char*>(values[0]), error.what(), 1024);
      return CUDA_ERROR_INVALID_PTX;
    }
    state().modules.insert(module.get());
    *result = reinterpret_cast<CUmodule>(module.release());
    return CUDA_SUCCESS;
  });
}
CUresult cuModuleUnload(CUmodule handle) {
  auto* module = reinterpret_cast<Module*>(handle);
  if (state().modules.erase(module) == 0) return CUDA_ERROR_INVALID_VALUE;
  delete module;
  return state().sticky;
}
CUresult cuModuleGetFunction(CUfunction* result, CUmodule handle, const char* name) {
  return guarded([&] {
    Module& module = *reinterpret_cast<Module*>(handle);
    Function& function = module.functions[name];
    *result = reinterpret_cast<CUfunction>(&function);
    return make_function(module, name, function);
  });
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute which, int value) {
  const bool fits = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value <= card().smem_per_block_bytes;
  return fits ? state().sticky : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLaunchKernel(CUfunction handle, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int smem_bytes,
                        CUstream, void** parameters, void**) {
  return guarded([&] {
    const auto& function = *reinterpret_cast<const Function*>(handle);
    Launch launch;
    launch.kernel = function.kernel;
    launch.shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, smem_bytes};
    for (size_t i = 0; i < function.parameter_bytes.size(); ++i) {
      BoundArgument argument;
      argument.size = function.parameter_bytes[i];
      if (argument.size > argument.bytes.size()) return CUDA_ERROR_INVALID_VALUE;
      memcpy(argument.bytes.data(), parameters[i], argument.size);
      launch.arguments.push_back(argument);
    }
    if (!state().is_capturing) return execute(launch);
    state().captured.push_back(std::move(launch));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  *stream = reinterpret_cast<CUstream>(&state());
  return state().sticky;
}
CUresult cuStreamDestroy_v2(CUstream) { return state().sticky; }
CUresult cuStreamSynchronize(CUstream) { return state().sticky; }
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  state().is_capturing = true;
  state().captured.clear();
  return state().sticky;
}
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  state().is_capturing = false;
  *graph = reinterpret_cast<CUgraph>(new Graph(std::move(state().captured)));
  return state().sticky;
}
CUresult cuEventCreate(CUevent* event, unsigned int) {
  *event = as_event(new double(0));
  return state().sticky;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete as_time(event);
  return state().sticky;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  *as_time(event) = state().now_us;
  return state().sticky;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds = static_cast<float>((*as_time(end) - *as_time(begin)) / 1e3);
  return state().sticky;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = reinterpret_cast<CUgraphExec>(new Graph(*as_graph(graph)));
  return state().sticky;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  return guarded([&] {
    for (const Launch& launch : *as_graph(exec)) {
      const CUresult result = execute(launch);
      if (result != CUDA_SUCCESS || state().sticky != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete as_graph(exec);
  return state().sticky;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete as_graph(graph);
  return state().sticky;
}

}  // extern "C"
