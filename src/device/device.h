// Device: memory, modules, launches and times of one card, in silicon or in software.
//
// Faults of a kernel come back as an Outcome; a broken device or wrong use throws. A device that reported
// memory_fault, crashed or device_lost may be unusable afterwards: its owner lets the process go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/core/error.h"
#include "src/core/kernel.h"
#include "src/core/outcome.h"
#include "src/core/target.h"
#include "src/core/tensor.h"

namespace warpwright {

using DeviceAddress = uint64_t;

/// The card is full.
class OutOfDeviceMemory : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// Neither cubin nor PTX of a kernel fits the card or its driver.
class UnloadableKernel : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// A loaded kernel. Freed with its Device.
struct DeviceKernel {
  int id = -1;
};

/// One bound parameter: an address (8 bytes) or a scalar (4 bytes), little endian.
struct BoundArgument {
  std::array<std::byte, 8> bytes{};
  uint32_t size = 8;
};
BoundArgument bind_address(DeviceAddress address);
BoundArgument bind_scalar(const Tensor& value);  // 4-byte element 0

struct Launch {
  DeviceKernel kernel;
  LaunchShape shape;
  std::vector<BoundArgument> arguments;
};

struct TimingOptions {
  int warm_up = 3;
  int least_samples = 5;
  int most_samples = 50;
  double most_seconds = 1.0;
  bool cold_l2 = true;  // L2 flushed before each sample
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const Target& target() const = 0;
  virtual Evidence evidence() const = 0;
  /// For people and records: driver version or `virtual`.
  virtual std::string description() const = 0;
  /// CUDA major version of the driver, which takes no newer cubins or PTX; nullopt where there is no driver.
  virtual std::optional<int> driver_cuda_major() const { return std::nullopt; }

  // Memory. allocate throws OutOfDeviceMemory when the card is full. `is_constant`: a kernel may not write to it.
  virtual DeviceAddress allocate(int64_t bytes, std::string_view label, bool is_constant = false) = 0;
  virtual void free(DeviceAddress address) = 0;
  virtual void upload(DeviceAddress to, std::span<const std::byte> bytes) = 0;
  virtual void download(std::span<std::byte> to, DeviceAddress from) = 0;
  /// Marks bytes as never written; a device that does not track this ignores the hint.
  virtual void begin_life(DeviceAddress address, int64_t bytes) = 0;

  /// Throws UnloadableKernel when neither cubin nor PTX fits the card.
  virtual DeviceKernel load(const CompiledKernel& kernel) = 0;
  /// Runs to the end; ok without samples, or the fault.
  virtual Outcome launch(const Launch& launch) = 0;
  /// Samples in Outcome::samples_us. The buffers hold the result of one more launch afterwards.
  virtual Outcome time(const Launch& launch, const TimingOptions& options) = 0;
  /// Time of the launches one behind the other as one replayed graph (CUDA graph); virtual: sum of the clock.
  virtual Outcome time_sequence(std::span<const Launch> launches, const TimingOptions& options) = 0;
};

struct DeviceOptions {
  bool checked = true;                          // virtual: every check on; false: the fast mode
  uint64_t instruction_limit = 40'000'000'000;  // virtual: warp instructions of one launch
  uint64_t seed = 1;                            // virtual: order of CTAs
  int jobs = 0;                                 // virtual: host threads, 0: all cores
};

/// One line of `warpwright devices`.
struct DeviceListing {
  std::string name;  // what --device takes: `cuda:0`, `virtual:rtx4090`
  std::string description;
  Target target;
};

/// `cuda:N`, `cuda:GPU-uuid`, `virtual:TARGET` or `virtual:FILE.json`, `auto` (cuda:0). Throws UsageError for an
/// unknown name (it lists the kinds) and EnvironmentError when there is no driver or card.
std::unique_ptr<Device> open_device(std::string_view name, const DeviceOptions& options = {});
/// The Target of a device name without opening more than it takes.
Target target_of_device(std::string_view name);
std::vector<DeviceListing> list_devices();

}  // namespace warpwright
