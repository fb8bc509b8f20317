// NVRTC as a library opened at run time: where it is looked for, and its functions.
#pragma once

#include <nvrtc.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace warpwright {

/// The functions that the compiler uses. Lives as long as the process: NVRTC is never closed.
struct NvrtcLibrary {
  std::string path;  // as it was opened
  int major = 0, minor = 0;

  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  decltype(&nvrtcCreateProgram) create_program = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&nvrtcCompileProgram) compile_program = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) supported_arch_count = nullptr;
  decltype(&nvrtcGetSupportedArchs) supported_archs = nullptr;

  std::string version_text() const;              // `NVRTC 13.0`
  std::vector<int> known_architectures() const;  // 75, 80, ...
};

/// Names to hand to the loader, in order. An explicit `path` (a file, or a folder that holds the library), else
/// $WARPWRIGHT_NVRTC, is the only place; else the build's own copy, the toolkit and the loader's search path.
std::vector<std::string> nvrtc_candidates(const std::string& path);

/// Throws EnvironmentError that lists what was tried and the cure.
NvrtcLibrary load_nvrtc(const std::string& path);

}  // namespace warpwright
