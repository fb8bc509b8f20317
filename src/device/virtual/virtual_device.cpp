// Device on the interpreter.
#include "src/device/virtual/virtual_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "src/core/error.h"
#include "src/device/virtual/clock.h"
#include "src/device/virtual/decode.h"
#include "src/device/virtual/fault.h"
#include "src/device/virtual/folding.h"
#include "src/device/virtual/global_memory.h"
#include "src/device/virtual/launch.h"
#include "src/device/virtual/profiler.h"

namespace warpwright {
namespace {

using virtual_gpu::Grid;

struct LoadedKernel {
  std::unique_ptr<virtual_gpu::Code> code;
  std::vector<IssueCost> costs;
  int registers = 0;  // of the cubin, or of the PTX where there is no cubin
  int spill_store_bytes = 0, spill_load_bytes = 0;
};

Outcome refused(std::string message) {
  Outcome out;
  out.kind = OutcomeKind::launch_error;
  out.message = std::move(message);
  return out;
}

class VirtualDevice : public ProfilingDevice {
 public:
  VirtualDevice(const Target& target, const DeviceOptions& options)
      : target_(target), options_(options), memory_(options.checked) {}

  const Target& target() const override { return target_; }
  Evidence evidence() const override { return Evidence::virtual_device; }
  std::string description() const override { return "virtual"; }

  DeviceAddress allocate(int64_t bytes, std::string_view label, bool is_constant) override {
    if (bytes < 0) throw InternalError(fmt::format("allocation of {} bytes for '{}'", bytes, label));
    return memory_.allocate(static_cast<uint64_t>(bytes), label, is_constant);
  }
  void free(DeviceAddress address) override { memory_.free(address); }

  void upload(DeviceAddress to, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return;
    std::memcpy(memory_.range(to, bytes.size(), "an upload"), bytes.data(), bytes.size());
    memory_.set_valid(to, bytes.size(), true);
  }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    if (!to.empty()) std::memcpy(to.data(), memory_.range(from, to.size(), "a download"), to.size());
  }
  void begin_life(DeviceAddress address, int64_t bytes) override {
    if (bytes > 0) memory_.set_valid(address, static_cast<uint64_t>(bytes), false);
  }

  DeviceKernel load(const CompiledKernel& kernel) override;
  Outcome launch(const Launch& launch) override;
  Outcome time(const Launch& launch, const TimingOptions& options) override {
    return time_sequence(std::span(&launch, 1), options);
  }
  Outcome time_sequence(std::span<const Launch> launches, const TimingOptions& options) override;
  LaunchProfile profile(const Launch& launch) override;

 private:
  // Everything that decides a profile, as far as the profile does not depend on data.
  using ProfileKey =
      std::tuple<int, std::array<uint32_t, 3>, std::array<uint32_t, 3>, uint32_t, std::vector<std::byte>>;

  const LoadedKernel& loaded(const Launch& launch) const;
  std::optional<std::string> why_refused(const Launch& launch) const;
  std::optional<std::string> why_block_refused(const ptx::Kernel& kernel, const LaunchShape& shape) const;
  Grid grid_of(const Launch& launch);
  const LaunchProfile& profile_of(const Launch& launch);
  std::vector<uint64_t> place_globals(const ptx::Module& module);
  void require_fits(const std::string& arch) const;
  uint64_t footprint_bytes(const LaunchProfile& profile, std::vector<uint64_t> CtaProfile::*sectors);

  Target target_;
  DeviceOptions options_;
  virtual_gpu::GlobalMemory memory_;
  std::vector<LoadedKernel> kernels_;
  std::map<ProfileKey, LaunchProfile> profiles_;
  uint64_t launches_ = 0;
};

void VirtualDevice::require_fits(const std::string& arch) const {
  int wanted = 0;
  const bool known =
      arch.starts_with("sm_") && std::from_chars(arch.data() + 3, arch.data() + arch.size(), wanted).ec == std::errc();
  if (!known || wanted > target_.compute_capability()) {
    throw UnloadableKernel(fmt::format("virtual device: PTX for '{}' does not run on {} ({}); compile it for {}", arch,
                                       target_.name, target_.arch(), target_.arch()));
  }
}

std::vector<uint64_t> VirtualDevice::place_globals(const ptx::Module& module) {
  std::vector<uint64_t> out;
  for (const ptx::GlobalVariable& global : module.globals) {
    const uint64_t address = memory_.allocate(global.bytes.size(), "module variable " + global.name, false);
    if (!global.bytes.empty()) upload(address, global.bytes);  // zero where it has no initialiser
    out.push_back(address);
  }
  return out;
}

DeviceKernel VirtualDevice::load(const CompiledKernel& kernel) {
  ptx::Module module = ptx::parse(kernel.ptx);
  require_fits(module.target);
  const auto found = std::find_if(module.kernels.begin(), module.kernels.end(),
                                  [&](const ptx::Kernel& each) { return each.name == kernel.entry; });
  if (found == module.kernels.end()) {
    throw UsageError(fmt::format("virtual device: there is no kernel '{}' in the PTX", kernel.entry));
  }
  LoadedKernel made;
  made.costs = fold(*found);
  made.code = virtual_gpu::decode(std::move(*found), module.constants, place_globals(module), options_.checked);
  const int in_ptx = static_cast<int>(std::min<size_t>(made.code->register_lines, 255));
  made.registers = kernel.registers > 0 ? kernel.registers : in_ptx;
  made.spill_store_bytes = kernel.spill_store_bytes;
  made.spill_load_bytes = kernel.spill_load_bytes;
  kernels_.push_back(std::move(made));
  return {static_cast<int>(kernels_.size()) - 1};
}

const LoadedKernel& VirtualDevice::loaded(const Launch& launch) const {
  if (launch.kernel.id < 0 || static_cast<size_t>(launch.kernel.id) >= kernels_.size()) {
    throw InternalError(fmt::format("launch of kernel {}, which is not loaded", launch.kernel.id));
  }
  return kernels_[static_cast<size_t>(launch.kernel.id)];
}

std::optional<std::string> VirtualDevice::why_block_refused(const ptx::Kernel& kernel, const LaunchShape& shape) const {
  const auto product = [](const std::array<uint32_t, 3>& of) { return uint64_t{of[0]} * of[1] * of[2]; };
  const auto& [x, y, z] = shape.block;
  const uint64_t threads = product(shape.block);
  if (threads == 0 || x > 1024 || y > 1024 || z > 64 ||
      threads > static_cast<uint64_t>(target_.max_threads_per_block)) {
    return fmt::format("a block of ({},{},{}) threads is not allowed; at most {}", x, y, z,
                       target_.max_threads_per_block);
  }
  if (kernel.max_block[0] != 0 && threads > product(kernel.max_block)) {
    return fmt::format("a block of {} threads, but the kernel was compiled for at most {}", threads,
                       product(kernel.max_block));
  }
  if (kernel.exact_block[0] != 0 && shape.block != kernel.exact_block) {
    return fmt::format("a block of ({},{},{}) threads, but the kernel needs ({},{},{})", x, y, z, kernel.exact_block[0],
                       kernel.exact_block[1], kernel.exact_block[2]);
  }
  return std::nullopt;
}

std::optional<std::string> VirtualDevice::why_refused(const Launch& launch) const {
  const LoadedKernel& kernel = loaded(launch);
  const ptx::Kernel& ptx = kernel.code->kernel;
  const LaunchShape& shape = launch.shape;
  if (auto why = why_block_refused(ptx, shape)) return why;
  if (shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0 || shape.grid[0] > 0x7fffffffu ||
      shape.grid[1] > 65535 || shape.grid[2] > 65535) {
    return fmt::format("a grid of ({},{},{}) blocks is not allowed", shape.grid[0], shape.grid[1], shape.grid[2]);
  }
  const int64_t smem = int64_t{ptx.shared_bytes} + shape.dynamic_smem_bytes;
  if (smem > target_.smem_per_block_bytes) {
    return fmt::format("{} bytes of shared memory, but {} has {} for a block", smem, target_.name,
                       target_.smem_per_block_bytes);
  }
  const int64_t threads = int64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const int64_t registers = (threads + 31) / 32 * 32 * kernel.registers;
  if (registers > target_.registers_per_sm) {
    return fmt::format("{} registers for a block ({} a thread), but {} has {}", registers, kernel.registers,
                       target_.name, target_.registers_per_sm);
  }
  if (launch.arguments.size() != ptx.parameters.size()) {
    return fmt::format("{} arguments, but kernel '{}' has {} parameters", launch.arguments.size(), ptx.name,
                       ptx.parameters.size());
  }
  for (size_t i = 0; i < ptx.parameters.size(); ++i) {
    if (launch.arguments[i].size != ptx.parameters[i].bytes) {
      return fmt::format("argument {} has {} bytes, but parameter '{}' has {}", i, launch.arguments[i].size,
                         ptx.parameters[i].name, ptx.parameters[i].bytes);
    }
  }
  return std::nullopt;
}

Grid VirtualDevice::grid_of(const Launch& launch) {
  Grid grid;
  grid.code = loaded(launch).code.get();
  grid.memory = &memory_;
  grid.shape = launch.shape;
  const ptx::Kernel& kernel = grid.code->kernel;
  grid.parameters.resize(kernel.parameter_bytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ptx::Parameter& parameter = kernel.parameters[i];
    std::memcpy(grid.parameters.data() + parameter.offset, launch.arguments[i].bytes.data(), parameter.bytes);
  }
  const uint32_t dynamic = launch.shape.dynamic_smem_bytes;
  grid.shared_bytes = dynamic > 0 ? kernel.dynamic_shared_offset + dynamic : kernel.shared_bytes;
  return grid;
}

Outcome VirtualDevice::launch(const Launch& launch) {
  if (auto why = why_refused(launch)) return refused(*why);
  const virtual_gpu::LaunchOptions options{options_.checked, options_.instruction_limit, options_.seed, options_.jobs,
                                           ++launches_};
  return virtual_gpu::run_grid(grid_of(launch), options);
}

/// Bytes of the allocations that the sectors lie in.
uint64_t VirtualDevice::footprint_bytes(const LaunchProfile& profile, std::vector<uint64_t> CtaProfile::*sectors) {
  constexpr uint64_t kSectorBytes = 32;
  std::set<const virtual_gpu::Allocation*> found;
  for (const CtaProfile& cta : profile.sampled) {
    for (const uint64_t sector : cta.*sectors) {
      if (const auto* allocation = memory_.allocation_at(sector * kSectorBytes)) found.insert(allocation);
    }
  }
  uint64_t bytes = 0;
  for (const virtual_gpu::Allocation* allocation : found) bytes += allocation->bytes;
  return bytes;
}

const LaunchProfile& VirtualDevice::profile_of(const Launch& launch) {
  const Grid grid = grid_of(launch);
  const LaunchShape& shape = launch.shape;
  const ProfileKey key{launch.kernel.id, shape.grid, shape.block, shape.dynamic_smem_bytes, grid.parameters};
  if (const auto found = profiles_.find(key); found != profiles_.end()) return found->second;
  const LoadedKernel& kernel = loaded(launch);
  LaunchProfile made;
  made.sampled =
      virtual_gpu::profile_ctas(grid, virtual_gpu::stratify(shape), kernel.costs, options_.instruction_limit);
  made.ctas = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  made.threads_per_cta = shape.block[0] * shape.block[1] * shape.block[2];
  made.registers_per_thread = kernel.registers;
  made.smem_bytes_per_cta = grid.shared_bytes;
  made.spill_store_bytes = kernel.spill_store_bytes;
  made.spill_load_bytes = kernel.spill_load_bytes;
  made.static_issued = total_slots(kernel.costs);
  made.fresh_reads = virtual_gpu::fresh_reads(grid, made.sampled);
  made.read_footprint_bytes = footprint_bytes(made, &CtaProfile::read_sectors);
  made.written_footprint_bytes = footprint_bytes(made, &CtaProfile::written_sectors);
  return profiles_.emplace(key, std::move(made)).first->second;
}

LaunchProfile VirtualDevice::profile(const Launch& launch) {
  if (const auto why = why_refused(launch)) throw UsageError(fmt::format("profile: {}", *why));
  try {
    return profile_of(launch);
  } catch (const virtual_gpu::Fault& fault) {
    throw UsageError(fmt::format("profile: {}", fault.message));
  }
}

Outcome VirtualDevice::time_sequence(std::span<const Launch> launches, const TimingOptions& options) {
  Outcome out;
  out.kind = OutcomeKind::ok;
  double total_us = 0;
  std::map<std::string, double> limits;
  for (const Launch& each : launches) {
    Outcome ran = launch(each);
    if (!ran.ok()) return ran;
    if (out.log.empty()) out.log = std::move(ran.log);
    try {
      const ClockResult clock = estimate(profile_of(each), target_, options.cold_l2);
      total_us += clock.time_us;
      limits[clock.limited_by] += clock.time_us;
    } catch (const virtual_gpu::Fault& fault) {
      out.kind = fault.kind;
      out.message = fault.message;
      return out;
    }
  }
  out.samples_us = {total_us};
  double most = 0;
  for (const auto& [limit, time_us] : limits) {
    if (time_us > most) {
      most = time_us;
      out.limited_by = limit;
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<ProfilingDevice> open_virtual_device(const Target& target, const DeviceOptions& options) {
  return std::make_unique<VirtualDevice>(target, options);
}

}  // namespace warpwright
