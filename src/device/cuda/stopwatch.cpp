// Timing by events on the stream.
#include "src/device/cuda/stopwatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/device/cuda/cards.h"

namespace warpwright {
namespace {

constexpr double kWarmSample_us = 200;  // short kernels share a sample when L2 stays warm: events tick in 0.5 us
constexpr int kMostLaunchesInASample = 100;
constexpr double kSettledSpread = 0.005;

}  // namespace

bool is_settled(std::vector<double> samples) {
  if (samples.size() < 2) return false;
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size();
  const double quartiles = samples[n - 1 - n / 4] - samples[n / 4];
  return quartiles / std::sqrt(static_cast<double>(n)) <= kSettledSpread * samples[n / 2];
}

Stopwatch::Stopwatch(const CudaDriver& driver, CUstream stream, const TimingOptions& options)
    : driver_(driver), stream_(stream), options_(options) {}

/// Delegates, so that the destructor cleans up when a step here throws.
Stopwatch::Stopwatch(const CudaDriver& driver, CUstream stream, int64_t l2_bytes, const TimingOptions& options)
    : Stopwatch(driver, stream, options) {
  if (options_.cold_l2) {
    flush_bytes_ = static_cast<size_t>(std::max<int64_t>(l2_bytes, 1 << 20)) * 2;
    const CUresult result = driver_.memory_allocate(&flush_, flush_bytes_);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      throw OutOfDeviceMemory(fmt::format("{} bytes to flush the L2: {}", flush_bytes_, driver_.describe(result)));
    }
    require(driver_, result, "allocating the buffer that flushes the L2");
  }
  require(driver_, driver_.event_create(&begin_, CU_EVENT_DEFAULT), "creating an event");
  require(driver_, driver_.event_create(&end_, CU_EVENT_DEFAULT), "creating an event");
}

Stopwatch::~Stopwatch() {
  if (begin_ != nullptr) driver_.event_destroy(begin_);
  if (end_ != nullptr) driver_.event_destroy(end_);
  if (flush_ != 0) driver_.memory_free(flush_);
}

CUresult Stopwatch::sample(const std::function<CUresult()>& enqueue, int launches, double& sample_us) {
  CUresult result = CUDA_SUCCESS;
  if (options_.cold_l2) result = driver_.memory_set(flush_, 0, flush_bytes_, stream_);
  if (result == CUDA_SUCCESS) result = driver_.event_record(begin_, stream_);
  for (int i = 0; i < launches && result == CUDA_SUCCESS; ++i) result = enqueue();
  if (result == CUDA_SUCCESS) result = driver_.event_record(end_, stream_);
  if (result == CUDA_SUCCESS) result = driver_.stream_synchronize(stream_);
  float milliseconds = 0;
  if (result == CUDA_SUCCESS) result = driver_.event_elapsed(&milliseconds, begin_, end_);
  sample_us = static_cast<double>(milliseconds) * 1e3 / launches;
  return result;
}

CUresult Stopwatch::time(const std::function<CUresult()>& enqueue, std::vector<double>& samples_us) {
  using Clock = std::chrono::steady_clock;
  double last_us = 0;
  for (int i = 0; i < std::max(1, options_.warm_up); ++i) {
    if (const CUresult result = sample(enqueue, 1, last_us); result != CUDA_SUCCESS) return result;
  }
  int launches = 1;
  if (!options_.cold_l2 && last_us > 0) {
    launches = static_cast<int>(std::clamp(kWarmSample_us / last_us, 1.0, double{kMostLaunchesInASample}));
  }
  const Clock::time_point begin = Clock::now();
  samples_us.clear();
  while (static_cast<int>(samples_us.size()) < options_.most_samples) {
    if (const CUresult result = sample(enqueue, launches, last_us); result != CUDA_SUCCESS) return result;
    samples_us.push_back(last_us);
    if (static_cast<int>(samples_us.size()) < options_.least_samples) continue;
    const bool is_late = std::chrono::duration<double>(Clock::now() - begin).count() >= options_.most_seconds;
    if (is_late || is_settled(samples_us)) break;
  }
  return CUDA_SUCCESS;
}

}  // namespace warpwright
