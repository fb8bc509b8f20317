// A worker whose compiler and device are the real ones, or stand-ins, but for the faults that are drawn.
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "measure/worker.h"
#include "src/core/hash.h"
#include "src/device/card_state.h"
#include "tests/measure/worker/misbehaving_parts.h"
#include "tests/night/drawn_fault.h"

namespace warpwright {
namespace {

constexpr const char* kMark = "\n// source ";  // behind a kernel's PTX: the hash of its source

bool is_stand_in() { return getenv(kNightStandInVariable) != nullptr; }

/// The fault that strikes now, if any.
std::optional<DrawnFault> striking(const std::string& source_hash, bool is_compiler) {
  const std::optional<DrawnFault> fault = drawn_fault(source_hash);
  if (!fault || fault->is_compiler != is_compiler) return std::nullopt;
  if (!fault->strikes_once) return fault;
  const std::filesystem::path mark = std::filesystem::path(getenv(kNightFolderVariable)) / source_hash;
  if (std::filesystem::exists(mark)) return std::nullopt;
  std::ofstream(mark) << fault->name;
  return fault;
}

class FaultyCompiler final : public Compiler {
 public:
  explicit FaultyCompiler(std::unique_ptr<Compiler> compiler) : compiler_(std::move(compiler)) {}
  std::string version() const override { return compiler_->version(); }
  int cuda_major() const override { return compiler_->cuda_major(); }
  std::variant<CompiledKernel, Outcome> compile(const KernelSource& source, const std::string& arch) override {
    const std::string hash = sha256_hex(source.source);
    if (const auto fault = striking(hash, true)) {
      const std::string name = fault->name;
      if (name == "compile_error") return outcome_of(OutcomeKind::compile_error, "drawn: does not compile");
      misbehave(name == "compile_abort" ? "abort" : name == "compile_hang" ? "hang" : name);
    }
    auto result = compiler_->compile(source, arch);
    if (CompiledKernel* kernel = std::get_if<CompiledKernel>(&result)) kernel->ptx += kMark + hash;
    return result;
  }

 private:
  std::unique_ptr<Compiler> compiler_;
};

/// Forwards; the fault of a kernel strikes when it is loaded, or makes its output wrong.
class FaultyDevice final : public Device {
 public:
  explicit FaultyDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  const Target& target() const override { return device_->target(); }
  Evidence evidence() const override { return device_->evidence(); }
  std::string description() const override { return device_->description(); }
  std::optional<int> driver_cuda_major() const override { return device_->driver_cuda_major(); }
  DeviceAddress allocate(int64_t bytes, std::string_view label, bool is_constant) override {
    const DeviceAddress address = device_->allocate(bytes, label, is_constant);
    if (label == "output") output_ = {address, bytes};
    return address;
  }
  void free(DeviceAddress address) override { device_->free(address); }
  void upload(DeviceAddress to, std::span<const std::byte> bytes) override { device_->upload(to, bytes); }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    device_->download(to, from);
    const auto [begin, bytes] = output_;
    const bool is_output = from >= begin && from < begin + static_cast<DeviceAddress>(bytes);
    if (fault_ == "wrong" && is_output && !to.empty()) to[0] ^= std::byte{1};
  }
  void begin_life(DeviceAddress address, int64_t bytes) override { device_->begin_life(address, bytes); }
  DeviceKernel load(const CompiledKernel& kernel) override {
    const size_t mark = kernel.ptx.rfind(kMark);
    if (mark != std::string::npos) {
      if (const auto fault = striking(kernel.ptx.substr(mark + std::strlen(kMark)), false)) fault_ = fault->name;
    }
    if (fault_ == "out_of_memory") throw OutOfDeviceMemory("drawn: the card is full");
    misbehave(fault_);
    return device_->load(kernel);
  }
  Outcome launch(const Launch& launch) override {
    if (fault_ == "memory_fault") return outcome_of(OutcomeKind::memory_fault, "drawn: illegal address");
    return device_->launch(launch);
  }
  Outcome time(const Launch& launch, const TimingOptions& options) override { return device_->time(launch, options); }
  Outcome time_sequence(std::span<const Launch> launches, const TimingOptions& options) override {
    return device_->time_sequence(launches, options);
  }

 private:
  std::unique_ptr<Device> device_;
  std::pair<DeviceAddress, int64_t> output_;
  std::string fault_;
};

}  // namespace
}  // namespace warpwright

int main() {
  using namespace warpwright;
  return run_worker(
      STDIN_FILENO, STDOUT_FILENO,
      {[](const std::string& path) -> std::unique_ptr<Compiler> {
         if (is_stand_in()) return std::make_unique<FaultyCompiler>(std::make_unique<MisbehavingCompiler>());
         return std::make_unique<FaultyCompiler>(open_nvrtc(path));
       },
       [](std::string_view name, const DeviceOptions& options) -> std::unique_ptr<Device> {
         if (!is_stand_in()) return std::make_unique<FaultyDevice>(open_device(name, options));
         return std::make_unique<FaultyDevice>(std::make_unique<MisbehavingDevice>("fake:virtual", options.checked));
       },
       [](std::string_view) { return std::string(); },
       {}});
}
