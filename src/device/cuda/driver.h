// The CUDA driver as a library opened at run time: its functions and its errors.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "src/core/outcome.h"

namespace warpwright {

/// Signatures are spelled out, since cuda.h renames functions from version to version; the symbols are those that every
/// driver since CUDA 12 exports.
struct CudaDriver {
  int version = 0;  // 13000 for CUDA 13.0

  CUresult (*init)(unsigned int) = nullptr;
  CUresult (*driver_version)(int*) = nullptr;
  CUresult (*error_name)(CUresult, const char**) = nullptr;
  CUresult (*error_string)(CUresult, const char**) = nullptr;
  CUresult (*device_count)(int*) = nullptr;
  CUresult (*device_get)(CUdevice*, int) = nullptr;
  CUresult (*device_name)(char*, int, CUdevice) = nullptr;
  CUresult (*device_uuid)(CUuuid*, CUdevice) = nullptr;
  CUresult (*device_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUresult (*context_retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*context_release)(CUdevice) = nullptr;
  CUresult (*context_set_current)(CUcontext) = nullptr;
  CUresult (*memory_allocate)(CUdeviceptr*, size_t) = nullptr;
  CUresult (*memory_free)(CUdeviceptr) = nullptr;
  CUresult (*memory_upload)(CUdeviceptr, const void*, size_t) = nullptr;
  CUresult (*memory_download)(void*, CUdeviceptr, size_t) = nullptr;
  CUresult (*memory_set)(CUdeviceptr, unsigned char, size_t, CUstream) = nullptr;
  CUresult (*module_load)(CUmodule*, const void*, unsigned int, CUjit_option*, void**) = nullptr;
  CUresult (*module_unload)(CUmodule) = nullptr;
  CUresult (*module_function)(CUfunction*, CUmodule, const char*) = nullptr;
  CUresult (*function_set_attribute)(CUfunction, CUfunction_attribute, int) = nullptr;
  CUresult (*launch)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                     unsigned int, CUstream, void**, void**) = nullptr;
  CUresult (*stream_create)(CUstream*, unsigned int) = nullptr;
  CUresult (*stream_destroy)(CUstream) = nullptr;
  CUresult (*stream_synchronize)(CUstream) = nullptr;
  CUresult (*stream_begin_capture)(CUstream, CUstreamCaptureMode) = nullptr;
  CUresult (*stream_end_capture)(CUstream, CUgraph*) = nullptr;
  CUresult (*event_create)(CUevent*, unsigned int) = nullptr;
  CUresult (*event_destroy)(CUevent) = nullptr;
  CUresult (*event_record)(CUevent, CUstream) = nullptr;
  CUresult (*event_elapsed)(float*, CUevent, CUevent) = nullptr;
  CUresult (*graph_instantiate)(CUgraphExec*, CUgraph, unsigned long long) = nullptr;
  CUresult (*graph_launch)(CUgraphExec, CUstream) = nullptr;
  CUresult (*graph_exec_destroy)(CUgraphExec) = nullptr;
  CUresult (*graph_destroy)(CUgraph) = nullptr;

  /// `CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)`.
  std::string describe(CUresult result) const;
  std::string version_text() const;  // `CUDA 13.0`
};

/// Opened and initialised once a process. Throws EnvironmentError with the cure when there is no driver or it is too
/// old.
const CudaDriver& cuda_driver();
/// From another file than the loader's libcuda.so.1, or the first of several that opens.
CudaDriver load_cuda_driver(const std::string& library);
CudaDriver load_cuda_driver(const std::vector<std::string>& libraries);

/// Where this process runs, which decides how a driver gets there.
enum class Surroundings { machine, container, wsl };
/// What to do where the driver is missing or too old.
std::string driver_cure(Surroundings where);
/// True when the loader finds a driver that initialises.
bool has_cuda_driver();

/// What an error of the driver says about the kernel that ran.
OutcomeKind outcome_kind_of(CUresult result);

}  // namespace warpwright
