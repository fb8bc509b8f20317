// An NVRTC for tests: the real one, but one source does not compile, that whose SHA-256 stands in
// WARPWRIGHT_TEST_REFUSED_SOURCE.
#include <cstdlib>
#include <cstring>
#include <set>

#include "measure/nvrtc_library.h"
#include "src/core/hash.h"

namespace {

const warpwright::NvrtcLibrary& real() {
  static const warpwright::NvrtcLibrary library = warpwright::load_nvrtc("");
  return library;
}

std::set<nvrtcProgram> refused;
constexpr char kLog[] = "this source is refused for a test";

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) { return real().version(major, minor); }
const char* nvrtcGetErrorString(nvrtcResult result) { return real().error_string(result); }

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int headers,
                               const char* const* contents, const char* const* include_names) {
  const nvrtcResult result = real().create_program(program, source, name, headers, contents, include_names);
  const char* hash = std::getenv("WARPWRIGHT_TEST_REFUSED_SOURCE");
  if (result == NVRTC_SUCCESS && hash != nullptr && warpwright::sha256_hex(source) == hash) refused.insert(*program);
  return result;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  refused.erase(*program);
  return real().destroy_program(program);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  return refused.contains(program) ? NVRTC_ERROR_COMPILATION : real().compile_program(program, count, options);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  if (!refused.contains(program)) return real().log_size(program, size);
  *size = sizeof kLog;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  if (!refused.contains(program)) return real().log(program, log);
  std::memcpy(log, kLog, sizeof kLog);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) { return real().ptx_size(program, size); }
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) { return real().ptx(program, ptx); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) { return real().cubin_size(program, size); }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) { return real().cubin(program, cubin); }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) { return real().supported_arch_count(count); }
nvrtcResult nvrtcGetSupportedArchs(int* archs) { return real().supported_archs(archs); }

}  // extern "C"
