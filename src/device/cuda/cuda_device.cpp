// Memory, modules and launches of a card through the driver API, in its primary context.
#include "src/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "src/core/error.h"
#include "src/core/log.h"
#include "src/device/cuda/cards.h"
#include "src/device/cuda/stopwatch.h"
#include "src/device/outdated_driver.h"

namespace warpwright {
namespace {

constexpr uint32_t kFreeDynamicSmem_bytes = 48 * 1024;  // beyond it a function must opt in

class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaDriver& driver, CUdevice card);
  ~CudaDevice() override;

  const Target& target() const override { return target_; }
  Evidence evidence() const override { return Evidence::silicon; }
  std::string description() const override { return description_; }
  std::optional<int> driver_cuda_major() const override { return driver_.version / 1000; }

  DeviceAddress allocate(int64_t bytes, std::string_view label, bool is_constant) override;
  void free(DeviceAddress address) override;
  void upload(DeviceAddress to, std::span<const std::byte> bytes) override;
  void download(std::span<std::byte> to, DeviceAddress from) override;
  /// The card does not track which bytes were written: a hint it has no use for.
  void begin_life(DeviceAddress address, int64_t bytes) override { check_range(address, bytes, "begin_life"); }

  DeviceKernel load(const CompiledKernel& kernel) override;
  Outcome launch(const Launch& launch) override;
  Outcome time(const Launch& launch, const TimingOptions& options) override;
  Outcome time_sequence(std::span<const Launch> launches, const TimingOptions& options) override;

 private:
  struct Allocation {
    int64_t bytes = 0;
    std::string label;
  };
  struct Loaded {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    std::string entry;
    uint32_t dynamic_smem_bytes = kFreeDynamicSmem_bytes;  // opted in to so far
  };

  void enter() { require(driver_, driver_.context_set_current(context_), "entering the card's context"); }
  void check_range(DeviceAddress address, int64_t bytes, std::string_view what) const;
  CUmodule load_module(const CompiledKernel& kernel);
  void require_alive(CUresult result, const CompiledKernel& kernel) const;
  Loaded& loaded(const Launch& launch);
  CUresult opt_in_to_smem(const Launch& launch);
  CUresult enqueue(const Launch& launch);
  CUresult capture(std::span<const Launch> launches, CUgraphExec& graph);
  Outcome outcome(CUresult result, std::string_view what) const;
  Outcome timed(const std::function<CUresult()>& enqueue, const TimingOptions& options, std::string_view what);

  const CudaDriver& driver_;
  const CUdevice card_;
  Target target_;
  std::string description_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;  // ordered with the default stream, on which memory is copied
  std::map<DeviceAddress, Allocation> allocations_;
  std::vector<Loaded> kernels_;
};

CudaDevice::CudaDevice(const CudaDriver& driver, CUdevice card) : driver_(driver), card_(card) {
  bool is_known = false;
  target_ = card_target(driver_, card_, &is_known);
  if (!is_known) {
    log_warning("{} (sm_{}{}) has no preset: it is tuned by the limits that the driver gives", target_.device_name,
                target_.compute_major, target_.compute_minor);
  }
  description_ = fmt::format("{}, driver of {}", target_.device_name, driver_.version_text());
  const CUresult opened = driver_.context_retain(&context_, card_);
  if (opened == CUDA_ERROR_DEVICE_UNAVAILABLE) {
    throw EnvironmentError(fmt::format(
        "{} is not to be had: {}. Another process has it for itself (`nvidia-smi` lists them; `nvidia-smi -c "
        "0` as root lets several have it at a time), or computing on it is forbidden.",
        target_.device_name, driver_.describe(opened)));
  }
  require(driver_, opened, "opening the card's primary context");
  try {
    enter();
    require(driver_, driver_.stream_create(&stream_, CU_STREAM_DEFAULT), "creating a stream");
  } catch (...) {
    driver_.context_release(card_);
    throw;
  }
}

CudaDevice::~CudaDevice() {  // after a fault the driver refuses each of these; the process goes then anyway
  driver_.context_set_current(context_);
  for (const auto& [address, allocation] : allocations_) driver_.memory_free(address);
  for (const Loaded& kernel : kernels_) driver_.module_unload(kernel.module);
  driver_.stream_destroy(stream_);
  driver_.context_release(card_);
}

DeviceAddress CudaDevice::allocate(int64_t bytes, std::string_view label, bool /*is_constant*/) {
  if (bytes < 0) throw InternalError(fmt::format("an allocation of {} bytes for {}", bytes, label));
  enter();
  CUdeviceptr address = 0;
  const CUresult result = driver_.memory_allocate(&address, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw OutOfDeviceMemory(
        fmt::format("{} has no {} bytes left for {}: {}", target_.device_name, bytes, label, driver_.describe(result)));
  }
  require(driver_, result, fmt::format("allocating {} bytes for {}", bytes, label));
  allocations_[address] = {bytes, std::string(label)};
  return address;
}

void CudaDevice::free(DeviceAddress address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) throw InternalError(fmt::format("free of {:#x}, which is no allocation", address));
  const std::string label = found->second.label;
  allocations_.erase(found);
  enter();
  require(driver_, driver_.memory_free(address), fmt::format("freeing {}", label));
}

void CudaDevice::check_range(DeviceAddress address, int64_t bytes, std::string_view what) const {
  auto next = allocations_.upper_bound(address);
  if (next != allocations_.begin()) {
    const auto& [start, allocation] = *std::prev(next);
    const auto offset = static_cast<int64_t>(address - start);
    if (bytes >= 0 && offset <= allocation.bytes && bytes <= allocation.bytes - offset) return;
  }
  throw InternalError(fmt::format("{} of {} bytes at {:#x} is outside every allocation", what, bytes, address));
}

void CudaDevice::upload(DeviceAddress to, std::span<const std::byte> bytes) {
  check_range(to, static_cast<int64_t>(bytes.size()), "upload");
  if (bytes.empty()) return;
  enter();
  require(driver_, driver_.memory_upload(to, bytes.data(), bytes.size()), "copying to the card");
}

void CudaDevice::download(std::span<std::byte> to, DeviceAddress from) {
  check_range(from, static_cast<int64_t>(to.size()), "download");
  if (to.empty()) return;
  enter();
  require(driver_, driver_.memory_download(to.data(), from, to.size()), "copying from the card");
}

/// 89 of `sm_89`; -1 for anything else.
int capability_of(const std::string& arch) {
  int number = -1;
  if (!arch.starts_with("sm_")) return -1;
  const auto [end, error] = std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return error == std::errc() && end == arch.data() + arch.size() ? number : -1;
}

/// Sorts out errors of the card from those of the binary.
void CudaDevice::require_alive(CUresult result, const CompiledKernel& kernel) const {
  const std::string what = fmt::format("loading the kernel {}", kernel.entry);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfDeviceMemory(what + ": " + driver_.describe(result));
  if (outcome_kind_of(result) == OutcomeKind::device_lost) require(driver_, result, what);
}

CUmodule CudaDevice::load_module(const CompiledKernel& kernel) {
  const int built_for = capability_of(kernel.arch), card = target_.compute_capability();
  const bool takes_cubin = built_for / 10 == card / 10 && built_for % 10 <= card % 10 && !kernel.cubin.empty();
  CUmodule module = nullptr;
  std::string reasons;
  bool is_outdated = false;
  if (takes_cubin) {
    const CUresult result = driver_.module_load(&module, kernel.cubin.data(), 0, nullptr, nullptr);
    if (result == CUDA_SUCCESS) return module;
    require_alive(result, kernel);
    is_outdated = result == CUDA_ERROR_NO_BINARY_FOR_GPU;
    reasons += fmt::format("\n  cubin: {}", driver_.describe(result));
  }
  if (built_for > 0 && built_for <= card && !kernel.ptx.empty()) {
    log_info("{}: no cubin for {}; its driver compiles the PTX of {}", kernel.entry, target_.arch(), kernel.arch);
    std::array<char, 8192> log{};
    std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
    const CUresult result = driver_.module_load(&module, kernel.ptx.c_str(), 2, options.data(), values.data());
    if (result == CUDA_SUCCESS) return module;
    require_alive(result, kernel);
    is_outdated = result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    reasons += fmt::format("\n  PTX: {} {}", driver_.describe(result), log.data());
  }
  if (is_outdated) {
    throw OutdatedDriver(fmt::format(
        "the driver of {} ({}) takes no code of {}. Install a newer driver, or use the NVRTC of an older CUDA "
        "version with --nvrtc PATH.{}",
        target_.device_name, driver_.version_text(), kernel.compiler, reasons));
  }
  throw UnloadableKernel(
      fmt::format("the kernel {} was compiled for {} and does not load on {} ({}, {}). Build it "
                  "for this card, or install a newer driver.{}",
                  kernel.entry, kernel.arch, target_.device_name, target_.arch(), driver_.version_text(), reasons));
}

DeviceKernel CudaDevice::load(const CompiledKernel& kernel) {
  enter();
  Loaded loaded;
  loaded.module = load_module(kernel);
  loaded.entry = kernel.entry;
  const CUresult result = driver_.module_function(&loaded.function, loaded.module, kernel.entry.c_str());
  if (result != CUDA_SUCCESS) {
    driver_.module_unload(loaded.module);
    throw UnloadableKernel(fmt::format("no kernel {} in its module: {}", kernel.entry, driver_.describe(result)));
  }
  kernels_.push_back(std::move(loaded));
  return {static_cast<int>(kernels_.size()) - 1};
}

CudaDevice::Loaded& CudaDevice::loaded(const Launch& launch) {
  const auto id = static_cast<size_t>(launch.kernel.id);
  if (id >= kernels_.size()) throw InternalError(fmt::format("launch of kernel {}, which is not loaded", id));
  return kernels_[id];
}

CUresult CudaDevice::opt_in_to_smem(const Launch& launch) {
  Loaded& kernel = loaded(launch);
  if (launch.shape.dynamic_smem_bytes <= kernel.dynamic_smem_bytes) return CUDA_SUCCESS;
  const CUresult result =
      driver_.function_set_attribute(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     static_cast<int>(launch.shape.dynamic_smem_bytes));
  if (result == CUDA_SUCCESS) kernel.dynamic_smem_bytes = launch.shape.dynamic_smem_bytes;
  return result;
}

CUresult CudaDevice::enqueue(const Launch& launch) {
  std::vector<void*> parameters;
  parameters.reserve(launch.arguments.size());
  for (const BoundArgument& argument : launch.arguments) {
    parameters.push_back(const_cast<std::byte*>(argument.bytes.data()));  // the driver only reads them
  }
  const auto& [grid, block, smem_bytes] = launch.shape;
  return driver_.launch(loaded(launch).function, grid[0], grid[1], grid[2], block[0], block[1], block[2], smem_bytes,
                        stream_, parameters.data(), nullptr);
}

Outcome CudaDevice::outcome(CUresult result, std::string_view what) const {
  Outcome outcome;
  outcome.kind = outcome_kind_of(result);
  if (result != CUDA_SUCCESS) outcome.message = fmt::format("{}: {}", what, driver_.describe(result));
  return outcome;
}

Outcome CudaDevice::launch(const Launch& launch) {
  enter();
  CUresult result = opt_in_to_smem(launch);
  if (result == CUDA_SUCCESS) result = enqueue(launch);
  if (result == CUDA_SUCCESS) result = driver_.stream_synchronize(stream_);
  return outcome(result, loaded(launch).entry);
}

Outcome CudaDevice::timed(const std::function<CUresult()>& enqueue, const TimingOptions& options,
                          std::string_view what) {
  Stopwatch stopwatch(driver_, stream_, target_.l2_bytes, options);
  std::vector<double> samples_us;
  Outcome result = outcome(stopwatch.time(enqueue, samples_us), what);
  if (result.ok()) result.samples_us = std::move(samples_us);
  return result;
}

Outcome CudaDevice::time(const Launch& launch, const TimingOptions& options) {
  enter();
  if (const CUresult result = opt_in_to_smem(launch); result != CUDA_SUCCESS) {
    return outcome(result, loaded(launch).entry);
  }
  return timed([&] { return enqueue(launch); }, options, loaded(launch).entry);
}

CUresult CudaDevice::capture(std::span<const Launch> launches, CUgraphExec& graph_exec) {
  CUresult result = CUDA_SUCCESS;
  for (const Launch& launch : launches) {
    if (result == CUDA_SUCCESS) result = opt_in_to_smem(launch);
  }
  if (result == CUDA_SUCCESS) result = driver_.stream_begin_capture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result != CUDA_SUCCESS) return result;
  for (const Launch& launch : launches) {
    if (result == CUDA_SUCCESS) result = enqueue(launch);
  }
  CUgraph graph = nullptr;
  const CUresult ended = driver_.stream_end_capture(stream_, &graph);  // also after an error: leaves capture mode
  if (result == CUDA_SUCCESS) result = ended;
  if (result == CUDA_SUCCESS) result = driver_.graph_instantiate(&graph_exec, graph, 0);
  if (graph != nullptr) driver_.graph_destroy(graph);
  return result;
}

Outcome CudaDevice::time_sequence(std::span<const Launch> launches, const TimingOptions& options) {
  enter();
  const std::string what = fmt::format("a graph of {} kernels", launches.size());
  CUgraphExec graph = nullptr;
  if (const CUresult result = capture(launches, graph); result != CUDA_SUCCESS) return outcome(result, what);
  Outcome result;
  try {
    result = timed([&] { return driver_.graph_launch(graph, stream_); }, options, what);
  } catch (...) {
    driver_.graph_exec_destroy(graph);
    throw;
  }
  driver_.graph_exec_destroy(graph);
  return result;
}

}  // namespace

std::unique_ptr<Device> open_cuda_device(const CudaDriver& driver, std::string_view selector) {
  return std::make_unique<CudaDevice>(driver, find_card(driver, selector));
}

}  // namespace warpwright
