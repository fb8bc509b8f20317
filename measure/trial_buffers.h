// TrialBuffers: the buffers of one kernel on a device, guarded and poisoned, and what became of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/core/kernel.h"
#include "src/core/outcome.h"
#include "src/core/tensor.h"
#include "src/core/workload.h"
#include "src/device/device.h"
#include "src/reference/reference.h"

namespace warpwright {

/// What the kernel gets and what it must give; all outlive the TrialBuffers.
struct TrialData {
  const Workload& workload;
  const Example& example;
  const Tensor& expected;  // output buffer
  const std::vector<KernelArgument>& arguments;
  const std::vector<Tensor>& packed;  // by argument: constants and scalars, others empty
};

class TrialBuffers {
 public:
  /// Allocates and uploads. Throws EnvironmentError when the card is full.
  TrialBuffers(Device& device, const TrialData& data);
  ~TrialBuffers();
  TrialBuffers(const TrialBuffers&) = delete;
  TrialBuffers& operator=(const TrialBuffers&) = delete;

  /// In the order of the kernel's signature.
  const std::vector<BoundArgument>& arguments() const { return arguments_; }
  /// Before a launch: every byte that the kernel owes becomes the complement of what is expected; lanes of a slice's
  /// neighbours hold what is expected, so that a kernel which writes them shows; the workspace holds nothing.
  void poison();
  /// wrong_result with the first wrong element and the count or for counters that are not zero again, memory_fault for
  /// a touched guard zone or a changed input; nullopt when all is right.
  std::optional<Outcome> fault(std::string_view when);

 private:
  struct Buffer {
    DeviceAddress allocation = 0, address = 0;
    const Tensor* content = nullptr;  // what must still be there afterwards; null for the output and scratch memory
    int64_t bytes = 0;
    std::string label;
    bool is_workspace = false, is_counters = false;
  };

  Buffer& add(std::string label, int64_t bytes, const Tensor* content);
  DeviceAddress add_scratch(const KernelArgument& argument);
  void poison_output();
  std::optional<std::string> left_counting(const Buffer& buffer);
  std::optional<std::string> changed(const Buffer& buffer);
  std::optional<std::string> guard_touched(const Buffer& buffer);
  void release();

  Device& device_;
  const TrialData data_;
  int64_t guard_bytes_ = 0;  // each side; 0 where the device guards every allocation itself
  std::vector<Buffer> buffers_;
  size_t output_ = 0;
  std::vector<BoundArgument> arguments_;
};

/// `element 17 (n 0, h 0, w 1, c 1): got -3, expected 5; 12 of 256 elements differ, by 8 at most`, or nullopt when
/// equal.
std::optional<std::string> difference(const TensorForm& form, const Tensor& expected, const Tensor& got);

}  // namespace warpwright
