// Finding and opening NVRTC.
#include "measure/nvrtc_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "src/core/error.h"

namespace warpwright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCure =
    "Install the CUDA toolkit 12 or 13, or the Python wheel nvidia-cuda-nvrtc (scripts/quickstart does it), or name "
    "the library with --nvrtc PATH or $WARPWRIGHT_NVRTC.";
constexpr int kLeastMajor = 12;

/// `libnvrtc.so.13` yes; the built-ins, the static or alternative builds and other files no.
bool is_nvrtc_name(const std::string& name) { return name == "libnvrtc.so" || name.starts_with("libnvrtc.so."); }

/// Newest version first.
std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is_nvrtc_name(entry->path().filename().string())) found.push_back(entry->path().string());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// A folder of unpacked wheels: nvidia/cu13/lib or nvidia/cuda_nvrtc/lib below it, or the libraries themselves.
std::vector<std::string> libraries_of_wheels(const fs::path& root) {
  std::vector<std::string> found;
  for (const char* below : {"", "lib", "lib64", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}) {
    for (std::string& library : libraries_in(root / below)) found.push_back(std::move(library));
  }
  return found;
}

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  for (std::string& text : more) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
  }
}

template <typename Function>
bool bind(void* handle, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, symbol));
  return function != nullptr;
}

/// The first missing function, or null.
const char* bind_all(void* handle, NvrtcLibrary& library) {
  if (!bind(handle, "nvrtcVersion", library.version)) return "nvrtcVersion";
  if (!bind(handle, "nvrtcGetErrorString", library.error_string)) return "nvrtcGetErrorString";
  if (!bind(handle, "nvrtcCreateProgram", library.create_program)) return "nvrtcCreateProgram";
  if (!bind(handle, "nvrtcDestroyProgram", library.destroy_program)) return "nvrtcDestroyProgram";
  if (!bind(handle, "nvrtcCompileProgram", library.compile_program)) return "nvrtcCompileProgram";
  if (!bind(handle, "nvrtcGetProgramLogSize", library.log_size)) return "nvrtcGetProgramLogSize";
  if (!bind(handle, "nvrtcGetProgramLog", library.log)) return "nvrtcGetProgramLog";
  if (!bind(handle, "nvrtcGetPTXSize", library.ptx_size)) return "nvrtcGetPTXSize";
  if (!bind(handle, "nvrtcGetPTX", library.ptx)) return "nvrtcGetPTX";
  if (!bind(handle, "nvrtcGetCUBINSize", library.cubin_size)) return "nvrtcGetCUBINSize";
  if (!bind(handle, "nvrtcGetCUBIN", library.cubin)) return "nvrtcGetCUBIN";
  if (!bind(handle, "nvrtcGetNumSupportedArchs", library.supported_arch_count)) return "nvrtcGetNumSupportedArchs";
  if (!bind(handle, "nvrtcGetSupportedArchs", library.supported_archs)) return "nvrtcGetSupportedArchs";
  return nullptr;
}

/// Opens one candidate; nullopt-like: an empty string is success, else why not.
std::string why_unusable(const std::string& candidate, NvrtcLibrary& library) {
  void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return reason != nullptr ? reason : candidate + ": the loader gives no reason";
  }
  if (const char* missing = bind_all(handle, library)) {
    dlclose(handle);
    return fmt::format("{}: has no {} (not NVRTC, or older than CUDA 11.3)", candidate, missing);
  }
  if (library.version(&library.major, &library.minor) != NVRTC_SUCCESS) {
    return fmt::format("{}: does not tell its version", candidate);
  }
  if (library.major < kLeastMajor) {
    return fmt::format("{}: is {}, CUDA {} or later is needed", candidate, library.version_text(), kLeastMajor);
  }
  library.path = candidate;
  return {};
}

/// NVRTC opens its built-ins by name alone, and the wheel's library does not know its own folder: opened before, they
/// are what the loader finds under that name.
void open_builtins_beside(const NvrtcLibrary& library) {
  const fs::path folder = fs::path(library.path).parent_path();
  if (folder.empty()) return;
  const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", library.major, library.minor);
  dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::string NvrtcLibrary::version_text() const { return fmt::format("NVRTC {}.{}", major, minor); }

std::vector<int> NvrtcLibrary::known_architectures() const {
  int count = 0;
  if (supported_arch_count(&count) != NVRTC_SUCCESS || count <= 0) return {};
  std::vector<int> architectures(static_cast<size_t>(count));
  if (supported_archs(architectures.data()) != NVRTC_SUCCESS) return {};
  return architectures;
}

std::vector<std::string> nvrtc_candidates(const std::string& path) {
  std::string only = path;
  if (only.empty()) {
    if (const char* variable = std::getenv("WARPWRIGHT_NVRTC")) only = variable;
  }
  if (!only.empty()) {
    std::error_code error;
    if (!fs::is_directory(only, error)) return {only};
    std::vector<std::string> found = libraries_of_wheels(only);
    return found.empty() ? std::vector<std::string>{only + "/libnvrtc.so"} : found;
  }
  std::vector<std::string> candidates;
  const fs::path program = program_folder();
  for (const fs::path& root : {fs::path(WARPWRIGHT_NVRTC_FOLDER), program / "nvrtc", program / "../nvrtc",
                               program / "../../nvrtc", program / "../lib/warpwright/nvrtc"}) {
    append(candidates, libraries_of_wheels(root));
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && *root != '\0') append(candidates, libraries_of_wheels(root));
  }
  append(candidates, libraries_of_wheels("/usr/local/cuda"));
  append(candidates, {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  return candidates;
}

NvrtcLibrary load_nvrtc(const std::string& path) {
  std::vector<std::string> reasons;
  for (const std::string& candidate : nvrtc_candidates(path)) {
    NvrtcLibrary library;
    std::string reason = why_unusable(candidate, library);
    if (reason.empty()) {
      open_builtins_beside(library);
      return library;
    }
    reasons.push_back(std::move(reason));
  }
  throw EnvironmentError(fmt::format("NVRTC, the CUDA compiler library, could not be opened. {}\nTried:\n  {}", kCure,
                                     fmt::join(reasons, "\n  ")));
}

}  // namespace warpwright
