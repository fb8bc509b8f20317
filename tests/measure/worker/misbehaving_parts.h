// A compiler and a device that do what the FaultPlan of the test says.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <new>

#include "measure/compiler.h"
#include "measure/worker_requests.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "tests/measure/fault_plan.h"

namespace warpwright {

inline constexpr int kForever_s = 1000;

/// Faults that a compiler and a device share; false when `fault` is none of them.
inline bool misbehave(const std::string& fault) {
  if (fault == "hang") sleep(kForever_s);
  if (fault == "abort") {
    std::fputs("assertion failed: something inside\n", stderr);
    std::abort();
  }
  if (fault == "segv") {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would make an exit of it
    raise(SIGSEGV);
  }
  if (fault == "killed") raise(SIGKILL);
  if (fault == "halt") raise(SIGSTOP);
  if (fault == "nap") usleep(3'000'000);
  if (fault == "memory") throw std::bad_alloc();
  if (fault == "exit") _exit(7);
  if (fault == "chatter") std::puts("noise on stdout\n{\"kernel\":1}"), std::fflush(stdout);
  if (fault == "environment") throw EnvironmentError("the disk is gone");
  if (fault == "grandchild") {
    const pid_t child = fork();
    if (child == 0) {
      sleep(kForever_s);
      _exit(0);
    }
    std::ofstream(std::filesystem::path(getenv(kFaultFolderVariable)) / "grandchild") << child;
    sleep(kForever_s);
  }
  return fault == "chatter";
}

inline Outcome outcome_of(OutcomeKind kind, std::string message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  return outcome;
}

class MisbehavingCompiler final : public Compiler {
 public:
  std::string version() const override { return "Fake 1.0"; }
  int cuda_major() const override { return 13; }
  std::variant<CompiledKernel, Outcome> compile(const KernelSource& source, const std::string& arch) override {
    const std::string fault = next_fault(source.entry == kProbeEntry ? "probe" : "compile");
    if (!misbehave(fault) && fault == "error") return outcome_of(OutcomeKind::compile_error, "does not compile");
    CompiledKernel kernel;
    kernel.entry = source.entry;
    kernel.arch = arch;
    kernel.ptx = "PTX of " + sha256_hex(source.source);
    kernel.cubin = std::string("\0\xff", 2) + sha256_hex(source.source);
    kernel.registers = fault == "registers" ? 255 : 32;
    kernel.static_smem_bytes = fault == "smem" ? 200'000 : 0;
    kernel.spill_store_bytes = 8;
    kernel.log = "log \xc3\x28 that is not UTF-8";
    kernel.compiler = version();
    return kernel;
  }
};

/// Knows the right output without computing it: the complement of the poison.
class MisbehavingDevice final : public Device {
 public:
  MisbehavingDevice(std::string_view name, bool is_checked)
      : name_(name),
        evidence_(name == "fake:virtual" ? Evidence::virtual_device : Evidence::silicon),
        takes_steps_(name != "fake:virtual" || is_checked) {}

  const Target& target() const override { return target_preset("rtx4090"); }
  Evidence evidence() const override { return evidence_; }
  std::string description() const override { return "a device for tests"; }
  std::optional<int> driver_cuda_major() const override {
    return getenv("WARPWRIGHT_TEST_OLD_DRIVER") != nullptr ? 12 : 13;
  }
  DeviceAddress allocate(int64_t bytes, std::string_view, bool is_constant) override {
    next_ += 1 << 20;
    memory_[next_].resize(static_cast<size_t>(bytes));
    is_constant_[next_] = is_constant;
    return next_;
  }
  void free(DeviceAddress address) override { memory_.erase(address); }
  void upload(DeviceAddress to, std::span<const std::byte> bytes) override {
    std::memcpy(at(to), bytes.data(), bytes.size());
  }
  void download(std::span<std::byte> to, DeviceAddress from) override { std::memcpy(to.data(), at(from), to.size()); }
  void begin_life(DeviceAddress, int64_t) override {}
  DeviceKernel load(const CompiledKernel&) override {
    if (is_dead()) throw EnvironmentError("CUDA_ERROR_DEVICE_UNAVAILABLE");
    if (takes_steps_) fault_ = next_fault("run");
    misbehave(fault_);
    if (fault_ == "full") throw OutOfDeviceMemory("the card is full");
    if (fault_ == "unloadable") throw UnloadableKernel("neither cubin nor PTX fits");
    return {0};
  }
  Outcome launch(const Launch& launch) override {
    if (fault_ == "memory_fault") return outcome_of(OutcomeKind::memory_fault, "CUDA_ERROR_ILLEGAL_ADDRESS");
    if (fault_ == "loop") return outcome_of(OutcomeKind::run_timeout, "instruction limit");
    if (fault_ == "lost") throw EnvironmentError("CUDA_ERROR_DEVICE_UNAVAILABLE");
    write(launch, fault_);
    return outcome_of(OutcomeKind::ok, "");
  }
  Outcome time(const Launch& launch, const TimingOptions& options) override {
    write(launch, fault_ == "wrong_later" ? "half" : fault_);
    Outcome outcome = outcome_of(OutcomeKind::ok, "");
    outcome.samples_us = {10.125, 11.0, 1.0 / 3.0};
    if (!options.cold_l2) outcome.samples_us = {5.5};
    outcome.limited_by = "dram";
    return outcome;
  }
  Outcome time_sequence(std::span<const Launch>, const TimingOptions&) override {
    return outcome_of(OutcomeKind::infrastructure, "not for tests");
  }

 private:
  std::byte* at(DeviceAddress address) {
    auto& [base, bytes] = *std::prev(memory_.upper_bound(address));
    return bytes.data() + (address - base);
  }
  void write(const Launch& launch, const std::string& fault) {
    for (const BoundArgument& argument : launch.arguments) {
      DeviceAddress address = 0;
      std::memcpy(&address, argument.bytes.data(), sizeof(address));
      if (argument.size != 8) continue;
      auto& [base, bytes] = *std::prev(memory_.upper_bound(address));
      const size_t guard = address - base, size = bytes.size() - 2 * guard;
      if (is_constant_.at(base)) {
        if (fault == "change_input") bytes[guard] ^= std::byte{1};
        continue;
      }
      const size_t written = fault == "half" ? size / 2 : size;
      for (size_t i = 0; i < written; ++i) bytes[guard + i] = ~bytes[guard + i];
      if (fault == "before") bytes[guard - 3] = std::byte{0};
      if (fault == "behind") bytes[guard + size + 9] = std::byte{0};
    }
  }

  bool is_dead() const {
    const char* dead = getenv("WARPWRIGHT_TEST_DEAD_CARD");
    return dead != nullptr && name_ == dead;
  }

  const std::string name_;
  const Evidence evidence_;
  const bool takes_steps_;
  std::string fault_ = "ok";
  DeviceAddress next_ = 0;
  std::map<DeviceAddress, std::vector<std::byte>> memory_;
  std::map<DeviceAddress, bool> is_constant_;
};

}  // namespace warpwright
