// A stand-in for libcuda.so.1: host memory, host kernels, a made-up clock, and the driver's real faults on request.
//
// A module is text: `fake cubin` or PTX with a `.target` line; its kernels are chosen by name:
//   add(pointer to int32, int32 n, int32 value)   adds value to n elements, 5 us
//   any other name NAME                           launches, and the stream then fails with the error of that name
// Environment: FAKE_CUDA_VERSION (13000), FAKE_CUDA_CARDS (2), FAKE_CUDA_NAME of the first card, FAKE_CUDA_CAPABILITY
// (89).
#include <cuda.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#undef cuEventElapsedTime  // the header names its second version, the product asks for the first

namespace {

constexpr size_t kMemory_bytes = size_t{256} << 20;
constexpr double kKernel_us = 5.0, kGap_us = 1.0, kCold_us = 2.0;

struct Function {
  std::string name;
  int dynamic_smem_bytes = 48 * 1024;
};
struct Module {
  std::map<std::string, Function> functions;
};
struct Work {
  const Function* function;
  uint64_t pointer;
  int32_t count, value;
};

/// Everything of the primary context; cleared when it is released for the last time.
struct Context {
  int users = 0;
  CUresult sticky = CUDA_SUCCESS;
  std::map<CUdeviceptr, std::vector<char>> memory;
  size_t used_bytes = 0;
  std::set<Module*> modules;
  bool capturing = false;
  std::vector<Work> captured;
  double now_us = 0;
  bool cold = true;
};
Context context;

long setting(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text != nullptr ? atol(text) : otherwise;
}

CUresult fault_named(const std::string& name) {
  static const std::map<std::string, CUresult> faults = {
      {"illegal_address", CUDA_ERROR_ILLEGAL_ADDRESS},         {"misaligned", CUDA_ERROR_MISALIGNED_ADDRESS},
      {"launch_timeout", CUDA_ERROR_LAUNCH_TIMEOUT},           {"assertion", CUDA_ERROR_ASSERT},
      {"illegal_instruction", CUDA_ERROR_ILLEGAL_INSTRUCTION}, {"ecc", CUDA_ERROR_ECC_UNCORRECTABLE}};
  const auto found = faults.find(name);
  return found == faults.end() ? CUDA_ERROR_UNKNOWN : found->second;
}

void execute(const Work& work) {
  context.now_us += kKernel_us + kGap_us + (context.cold ? kCold_us : 0);
  context.cold = false;
  if (work.function->name != "add") {
    context.sticky = fault_named(work.function->name);
    return;
  }
  auto memory = context.memory.find(work.pointer);
  if (memory == context.memory.end() || memory->second.size() < static_cast<size_t>(work.count) * 4) {
    context.sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
    return;
  }
  auto* elements = reinterpret_cast<int32_t*>(memory->second.data());
  for (int32_t i = 0; i < work.count; ++i) elements[i] += work.value;
}

char* host(CUdeviceptr address, size_t bytes) {
  auto next = context.memory.upper_bound(address);
  if (next == context.memory.begin()) return nullptr;
  auto& [base, memory] = *std::prev(next);
  return address - base + bytes <= memory.size() ? memory.data() + (address - base) : nullptr;
}

CUevent as_event(double* time) { return reinterpret_cast<CUevent>(time); }
double* as_time(CUevent event) { return reinterpret_cast<double*>(event); }

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) { return setting("FAKE_CUDA_CARDS", 2) >= 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
CUresult cuDriverGetVersion(int* version) {
  *version = static_cast<int>(setting("FAKE_CUDA_VERSION", 13000));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      *text = "CUDA_ERROR_MISALIGNED_ADDRESS";
      break;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      *text = "CUDA_ERROR_LAUNCH_TIMEOUT";
      break;
    case CUDA_ERROR_OUT_OF_MEMORY:
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_INVALID_VALUE:
      *text = "CUDA_ERROR_INVALID_VALUE";
      break;
    case CUDA_ERROR_INVALID_IMAGE:
      *text = "CUDA_ERROR_INVALID_IMAGE";
      break;
    case CUDA_ERROR_NOT_FOUND:
      *text = "CUDA_ERROR_NOT_FOUND";
      break;
    case CUDA_ERROR_NO_DEVICE:
      *text = "CUDA_ERROR_NO_DEVICE";
      break;
    default:
      *text = "CUDA_ERROR_OF_SOME_OTHER_NAME";
      break;
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the driver's own sentence";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(setting("FAKE_CUDA_CARDS", 2));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* card, int number) {
  *card = number;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* text, int size, CUdevice card) {
  const char* first = getenv("FAKE_CUDA_NAME");
  snprintf(text, static_cast<size_t>(size), "%s",
           card > 0           ? "Second Card"
           : first != nullptr ? first
                              : "NVIDIA GeForce RTX 4090");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice card) {
  memset(uuid->bytes, card == 0 ? 0x1a : 0x2b, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  const int capability = static_cast<int>(setting("FAKE_CUDA_CAPABILITY", 89));
  static const std::map<int, int> values = {{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 64},
                                            {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 101376},
                                            {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 102400},
                                            {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
                                            {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                                            {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1536},
                                            {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 24},
                                            {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 8 << 20},
                                            {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 384},
                                            {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 2520000},
                                            {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 10501000}};
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    *value = capability / 10;
  else if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    *value = capability % 10;
  else if (values.contains(which))
    *value = values.at(which);
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* result, CUdevice) {
  ++context.users;
  *result = reinterpret_cast<CUcontext>(&context);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  if (--context.users == 0) {
    for (Module* module : context.modules) delete module;
    context = Context();
  }
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  static CUdeviceptr next = 0x7f0000000000;
  if (context.sticky != CUDA_SUCCESS) return context.sticky;
  if (context.used_bytes + bytes > kMemory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  next += (bytes + 511) / 256 * 256;
  *address = next;
  next += (bytes + 511) / 256 * 256;
  context.memory[*address].resize(bytes);
  context.used_bytes += bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  if (context.sticky != CUDA_SUCCESS) return context.sticky;
  const auto found = context.memory.find(address);
  if (found == context.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  context.used_bytes -= found->second.size();
  context.memory.erase(found);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  char* memory = host(to, bytes);
  if (context.sticky != CUDA_SUCCESS || memory == nullptr)
    return context.sticky ? context.sticky : CUDA_ERROR_INVALID_VALUE;
  memcpy(memory, from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  const char* memory = host(from, bytes);
  if (context.sticky != CUDA_SUCCESS || memory == nullptr)
    return context.sticky ? context.sticky : CUDA_ERROR_INVALID_VALUE;
  memcpy(to, memory, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream) {
  char* memory = host(address, bytes);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  memset(memory, value, bytes);
  context.now_us += 20;
  context.cold = true;
  return context.sticky;
}
CUresult cuModuleLoadDataEx(CUmodule* result, const void* image, unsigned int count, CUjit_option* options,
                            void** values) {
  const char* text = static_cast<const char*>(image);
  if (strstr(text, "fake cubin") == nullptr && strstr(text, ".target") == nullptr) {
    if (count > 0 && options[0] == CU_JIT_ERROR_LOG_BUFFER)
      strcpy(static_cast<char*>(values[0]), "ptxas of the driver: no");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  auto* module = new Module;
  context.modules.insert(module);
  *result = reinterpret_cast<CUmodule>(module);
  return context.sticky;
}
CUresult cuModuleUnload(CUmodule module) {
  if (context.modules.erase(reinterpret_cast<Module*>(module)) == 0) return CUDA_ERROR_INVALID_VALUE;
  delete reinterpret_cast<Module*>(module);
  return context.sticky;
}
CUresult cuModuleGetFunction(CUfunction* result, CUmodule module, const char* name) {
  if (strcmp(name, "missing") == 0) return CUDA_ERROR_NOT_FOUND;
  Function& function = reinterpret_cast<Module*>(module)->functions[name];
  function.name = name;
  *result = reinterpret_cast<CUfunction>(&function);
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 101376) return CUDA_ERROR_INVALID_VALUE;
  reinterpret_cast<Function*>(function)->dynamic_smem_bytes = value;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction handle, unsigned int, unsigned int, unsigned int, unsigned int x, unsigned int y,
                        unsigned int z, unsigned int smem_bytes, CUstream, void** parameters, void**) {
  const auto* function = reinterpret_cast<const Function*>(handle);
  if (context.sticky != CUDA_SUCCESS) return context.sticky;
  if (x * y * z > 1024 || static_cast<int>(smem_bytes) > function->dynamic_smem_bytes) return CUDA_ERROR_INVALID_VALUE;
  Work work{function, 0, 0, 0};
  if (function->name == "add") {
    memcpy(&work.pointer, parameters[0], 8);
    memcpy(&work.count, parameters[1], 4);
    memcpy(&work.value, parameters[2], 4);
  }
  if (context.capturing)
    context.captured.push_back(work);
  else
    execute(work);
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  *stream = reinterpret_cast<CUstream>(&context);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream) { return context.sticky; }
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  context.capturing = true;
  context.captured.clear();
  return context.sticky;
}
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  context.capturing = false;
  *graph = reinterpret_cast<CUgraph>(new std::vector<Work>(context.captured));
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned int) {
  *event = as_event(new double(0));
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete as_time(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  *as_time(event) = context.now_us;
  return context.sticky;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds = static_cast<float>((*as_time(end) - *as_time(begin)) / 1e3);
  return context.sticky;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = reinterpret_cast<CUgraphExec>(new std::vector<Work>(*reinterpret_cast<std::vector<Work>*>(graph)));
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  for (const Work& work : *reinterpret_cast<std::vector<Work>*>(exec)) execute(work);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete reinterpret_cast<std::vector<Work>*>(exec);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<std::vector<Work>*>(graph);
  return CUDA_SUCCESS;
}

}  // extern "C"
