// NvrtcCompiler: CUDA C++ to cubin and PTX in one call of NVRTC.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "measure/compiler.h"
#include "measure/nvrtc_library.h"
#include "measure/ptxas_report.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

class Program {
 public:
  Program(const NvrtcLibrary& library, const std::string& source) : library_(library) {
    require(library_.create_program(&program_, source.c_str(), "kernel.cu", 0, nullptr, nullptr), "create a program");
  }
  ~Program() { library_.destroy_program(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<const char*>& options) {
    return library_.compile_program(program_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const {
    std::string text = take(library_.log_size, library_.log, "log");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }
  std::string ptx() const {
    std::string text = take(library_.ptx_size, library_.ptx, "PTX");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  std::string cubin() const { return take(library_.cubin_size, library_.cubin, "cubin"); }

 private:
  template <typename Size, typename Get>
  std::string take(Size size_of, Get get, const char* what) const {
    size_t size = 0;
    require(size_of(program_, &size), what);
    std::string bytes(size, '\0');
    if (size > 0) require(get(program_, bytes.data()), what);
    return bytes;
  }
  void require(nvrtcResult result, const char* what) const {
    if (result == NVRTC_SUCCESS) return;
    throw EnvironmentError(fmt::format("{} at {} could not give the {}: {}", library_.version_text(), library_.path,
                                       what, library_.error_string(result)));
  }

  const NvrtcLibrary& library_;
  nvrtcProgram program_ = nullptr;
};

/// The line to show first: the first error, without its place, else the first line.
std::string first_error(const std::string& log) {
  const size_t at = log.find("error");
  const size_t begin = at == std::string::npos ? 0 : log.rfind('\n', at) + 1;  // npos + 1 is 0
  return log.substr(begin, log.find('\n', begin) - begin);
}

Outcome failure(std::string message, std::string log) {
  Outcome outcome;
  outcome.kind = OutcomeKind::compile_error;
  outcome.message = std::move(message);
  outcome.log = std::move(log);
  return outcome;
}

class NvrtcCompiler final : public Compiler {
 public:
  explicit NvrtcCompiler(NvrtcLibrary library)
      : library_(std::move(library)), architectures_(library_.known_architectures()) {}

  std::string version() const override { return library_.version_text(); }
  int cuda_major() const override { return library_.major; }
  std::variant<CompiledKernel, Outcome> compile(const KernelSource& source, const std::string& arch) override;

 private:
  void require_known(const std::string& arch) const;

  NvrtcLibrary library_;
  std::vector<int> architectures_;
};

void NvrtcCompiler::require_known(const std::string& arch) const {
  int number = 0;
  const bool is_number =
      arch.starts_with("sm_") && std::from_chars(arch.data() + 3, arch.data() + arch.size(), number).ec == std::errc();
  if (is_number && (architectures_.empty() || std::count(architectures_.begin(), architectures_.end(), number) > 0)) {
    return;
  }
  throw EnvironmentError(fmt::format(
      "{} at {} does not know the architecture {}; it knows sm_{}. Use the NVRTC of another CUDA version with "
      "--nvrtc PATH or $WARPWRIGHT_NVRTC.",
      library_.version_text(), library_.path, arch, fmt::join(architectures_, ", sm_")));
}

std::variant<CompiledKernel, Outcome> NvrtcCompiler::compile(const KernelSource& source, const std::string& arch) {
  require_known(arch);
  Program program(library_, source.source);
  const std::string architecture = "--gpu-architecture=" + arch;
  // No contraction: the integer rule rounds after each operation.
  const nvrtcResult result =
      program.compile({architecture.c_str(), "--std=c++17", "--fmad=false", "-default-device", "--ptxas-options=-v"});
  std::string log = program.log();
  if (result != NVRTC_SUCCESS) {
    std::string reason = log.empty() ? library_.error_string(result) : first_error(log);
    return failure(fmt::format("{} refuses the source: {}", version(), reason), std::move(log));
  }
  const std::optional<PtxasReport> report = read_ptxas_report(log, source.entry);
  if (!report) {
    return failure(fmt::format("{} reports no resources of an entry function '{}' (is it extern \"C\" __global__?)",
                               version(), source.entry),
                   std::move(log));
  }
  CompiledKernel kernel;
  kernel.entry = source.entry;
  kernel.arch = arch;
  kernel.ptx = program.ptx();
  kernel.cubin = program.cubin();
  kernel.registers = report->registers;
  kernel.spill_store_bytes = report->spill_store_bytes;
  kernel.spill_load_bytes = report->spill_load_bytes;
  kernel.static_smem_bytes = report->static_smem_bytes;
  kernel.local_bytes = report->local_bytes;
  kernel.log = std::move(log);
  kernel.compiler = version();
  return kernel;
}

}  // namespace

std::unique_ptr<Compiler> open_nvrtc(const std::string& path) {
  return std::make_unique<NvrtcCompiler>(load_nvrtc(path));
}

}  // namespace warpwright
