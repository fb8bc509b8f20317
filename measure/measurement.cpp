// The procedure of a measurement: resources, verification, time, and the output right again.
#include "measure/measurement.h"

#include <fmt/format.h>

#include <chrono>

#include "src/core/error.h"
#include "src/device/outdated_driver.h"

namespace warpwright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarmShare = 0.25;  // of the time for samples with a cold L2

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Outcome outcome_of(OutcomeKind kind, std::string message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace

/// One device with the kernel loaded and its buffers filled.
class Meter::Bench {
 public:
  Bench(Device& device, const Meter::Plan& plan) : device_(device), buffers_(device, plan.data) {
    launch_.kernel = device.load(plan.kernel);
    launch_.shape = plan.launch;
    launch_.arguments = buffers_.arguments();
  }

  Outcome verify() {
    buffers_.poison();
    Outcome outcome = device_.launch(launch_);
    if (!outcome.ok()) return outcome;
    if (auto fault = buffers_.fault("first launch")) return *fault;
    return outcome;
  }
  Outcome time(const TimingOptions& timing) {
    buffers_.poison();
    Outcome outcome = device_.time(launch_, timing);
    if (!outcome.ok()) return outcome;
    if (auto fault = buffers_.fault("after the timed loop")) return *fault;
    return outcome;
  }

 private:
  Device& device_;
  TrialBuffers buffers_;
  Launch launch_;
};

namespace {

/// A full card and a kernel that does not load are outcomes; so is a card that fails between launches, since launch and
/// time themselves give a kernel's faults as outcomes.
template <typename Step>
Outcome on_bench(Device& device, const Meter::Plan& plan, Step step) {
  try {
    Meter::Bench bench(device, plan);
    return step(bench);
  } catch (const OutOfDeviceMemory& error) {
    return outcome_of(OutcomeKind::out_of_memory, error.what());
  } catch (const OutdatedDriver& error) {
    return outcome_of(OutcomeKind::infrastructure, error.what());
  } catch (const UnloadableKernel& error) {
    return outcome_of(OutcomeKind::launch_error, error.what());
  } catch (const UsageError& error) {  // of a virtual device: PTX that it does not run
    return outcome_of(OutcomeKind::launch_error, error.what());
  } catch (const EnvironmentError& error) {
    if (device.evidence() != Evidence::silicon) throw;
    return outcome_of(OutcomeKind::device_lost, error.what());
  }
}

}  // namespace

std::optional<std::string> why_unlaunchable(const Target& target, const CompiledKernel& kernel,
                                            const LaunchShape& launch) {
  int64_t threads = 1;
  for (const uint32_t extent : launch.block) threads *= extent;
  for (const uint32_t extent : launch.grid) {
    if (extent == 0) return "a grid extent is 0";
  }
  if (threads < 1 || threads > target.max_threads_per_block) {
    return fmt::format("a CTA of {} threads; {} takes 1 to {}", threads, target.name, target.max_threads_per_block);
  }
  const int64_t smem = kernel.static_smem_bytes + launch.dynamic_smem_bytes;
  if (smem > target.smem_per_block_bytes) {
    return fmt::format("{} bytes of shared memory a CTA; {} has {}", smem, target.name, target.smem_per_block_bytes);
  }
  const int64_t warps = (threads + 31) / 32;
  const int64_t registers = (kernel.registers + 7) / 8 * 8 * 32 * warps;
  if (registers > target.registers_per_sm) {
    return fmt::format("{} registers a thread times {} threads are {} registers; {} has {} an SM", kernel.registers,
                       threads, registers, target.name, target.registers_per_sm);
  }
  return std::nullopt;
}

Meter::Meter(DeviceFactory open_device, std::string device_name, CardStateReader card_state)
    : open_device_(std::move(open_device)), device_name_(std::move(device_name)), card_state_(std::move(card_state)) {}

const Device& Meter::device() {
  if (!card_) card_ = open_device_(device_name_, DeviceOptions{});
  return *card_;
}

/// The card's clocks as the samples with a cold L2 left them, then samples with a warm one; `cold`, or the first fault.
Outcome Meter::time_warm(Bench& bench, TimingOptions timing, Outcome cold, Measurement& result) const {
  if (card_state_) {
    if (const auto state = card_state_(device_name_)) {
      result.clocks = {state->sm_mhz, state->memory_mhz, state->throttled_by};
    }
  }
  timing.cold_l2 = false;
  timing.most_seconds *= kWarmShare;
  Outcome warm = bench.time(timing);
  if (!warm.ok()) return warm;
  result.warm_samples_us = std::move(warm.samples_us);
  return cold;
}

Measurement Meter::measure(const Plan& plan) {
  Measurement result;
  const Device& known = device();
  if (const auto reason = why_unlaunchable(known.target(), plan.kernel, plan.launch)) {
    result.outcome = outcome_of(OutcomeKind::launch_error, *reason);
    return result;
  }
  const bool is_card = known.evidence() == Evidence::silicon;
  DeviceOptions options;
  options.instruction_limit = plan.instruction_limit;
  options.jobs = plan.device_jobs;
  std::unique_ptr<Device> checked = is_card ? nullptr : open_device_(device_name_, options);
  const auto timing_step = [&](Bench& bench) {
    const Clock::time_point begin = Clock::now();
    Outcome timed = bench.time(plan.timing);
    if (timed.ok() && is_card) timed = time_warm(bench, plan.timing, std::move(timed), result);
    result.run_s = seconds_since(begin);
    return timed;
  };
  result.outcome = on_bench(is_card ? *card_ : *checked, plan, [&](Bench& bench) {
    Outcome verified = bench.verify();
    return verified.ok() && is_card ? timing_step(bench) : verified;
  });
  if (is_card || !result.outcome.ok()) return result;
  options.checked = false;
  const std::unique_ptr<Device> fast = open_device_(device_name_, options);
  result.outcome = on_bench(*fast, plan, timing_step);
  return result;
}

}  // namespace warpwright
