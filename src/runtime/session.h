// Session: a package on a device, ready to run.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "src/core/error.h"
#include "src/device/device.h"
#include "src/runtime/batches.h"
#include "src/runtime/package.h"

namespace warpwright {

/// A kernel of the package faulted on the device: the answer is no (exit 1). The message names step and ONNX nodes.
class LaunchFault : public Error {
 public:
  using Error::Error;
};

/// Sees the output buffer of each step after it ran.
using StepObserver = std::function<void(size_t step, const Tensor& buffer)>;

class Session {
 public:
  /// Loads kernels, uploads constants, allocates the arena. Both outlive the session; used by one thread at a time.
  Session(const Package& package, Device& device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Inputs may hold several batches. Throws UsageError for inputs that do not fit and LaunchFault.
  TensorMap run(const TensorMap& inputs, const StepObserver& observe = {});
  /// One step alone on given input buffers; gives its output buffer.
  Tensor run_step(size_t step, std::span<const Tensor* const> inputs);

  /// Time of all steps, or of one. After a run: the buffers must hold something.
  Outcome time(const TimingOptions& options);
  Outcome time_step(size_t step, const TimingOptions& options);

 private:
  void load_kernels();
  void allocate_scratch();
  void reset_counters();
  void bind_step(size_t step);
  DeviceAddress constant(const Tensor& packed, const std::string& label);
  DeviceAddress address(int tensor) const;
  void begin_lives(size_t step);
  void launch(size_t step);
  Tensor download(int tensor) const;
  TensorMap run_batch(const TensorMap& inputs, size_t batch, const StepObserver& observe);

  const Package& package_;
  Device& device_;
  DeviceAddress arena_ = 0;
  // As large as the most demanding kernel wants: launches do not overlap.
  DeviceAddress workspace_ = 0, counters_ = 0;
  int64_t workspace_bytes_ = 0, counters_bytes_ = 0;
  std::vector<DeviceAddress> allocations_;
  std::map<std::string, DeviceAddress> constants_;  // by the hash of their bytes
  std::vector<DeviceKernel> kernels_;
  std::vector<Launch> launches_;  // one a step
};

}  // namespace warpwright
