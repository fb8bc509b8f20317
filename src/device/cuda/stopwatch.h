// Stopwatch: times work on a stream by events, with warm-up, adaptive repeats and a flushed L2.
#pragma once

#include <functional>
#include <vector>

#include "src/device/cuda/driver.h"
#include "src/device/device.h"

namespace warpwright {

class Stopwatch {
 public:
  /// Takes a buffer of twice the L2 when `options.cold_l2`; throws OutOfDeviceMemory when there is no room for it.
  Stopwatch(const CudaDriver& driver, CUstream stream, int64_t l2_bytes, const TimingOptions& options);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// `enqueue` puts the work on the stream once. CUDA_SUCCESS and the samples, or the first error.
  CUresult time(const std::function<CUresult()>& enqueue, std::vector<double>& samples_us);

 private:
  Stopwatch(const CudaDriver& driver, CUstream stream, const TimingOptions& options);
  CUresult sample(const std::function<CUresult()>& enqueue, int launches, double& sample_us);

  const CudaDriver& driver_;
  const CUstream stream_;
  const TimingOptions options_;
  CUdeviceptr flush_ = 0;
  size_t flush_bytes_ = 0;
  CUevent begin_ = nullptr, end_ = nullptr;
};

/// True when more samples would hardly move the median: its spread is under half a percent.
bool is_settled(std::vector<double> samples);

}  // namespace warpwright
