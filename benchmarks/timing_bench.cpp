// Times Configs without verifying them.
#include "benchmarks/timing_bench.h"

#include <variant>

#include "measure/trial_buffers.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/device/virtual/clock.h"
#include "src/device/virtual/virtual_device.h"

namespace warpwright {

namespace {

Outcome estimated(ProfilingDevice& device, const Launch& launch) {
  Outcome outcome;
  try {
    const ClockResult clock = estimate(device.profile(launch), device.target());
    outcome.kind = OutcomeKind::ok;
    outcome.samples_us = {clock.time_us};
    outcome.limited_by = clock.limited_by;
  } catch (const UsageError& error) {
    outcome.kind = OutcomeKind::launch_error;
    outcome.message = error.what();
  }
  return outcome;
}

}  // namespace

TimingBench::TimingBench(const std::string& device_name)
    : compiler_(open_nvrtc()), target_(target_of_device(device_name)) {
  if (!device_name.starts_with("virtual:")) card_ = open_device(device_name);
}

Outcome TimingBench::time(const Workload& workload, const Config& config, const Example& example,
                          CompiledKernel* kernel) {
  const KernelSource source = family_of(config).emit(workload, config, target_);
  const auto compiled = compiler_->compile(source, target_.arch());
  if (const Outcome* failure = std::get_if<Outcome>(&compiled)) return *failure;
  if (kernel != nullptr) *kernel = std::get<CompiledKernel>(compiled);
  const std::unique_ptr<ProfilingDevice> virtual_card =
      card_ == nullptr ? open_virtual_device(target_, {.checked = false, .jobs = 1}) : nullptr;
  Device& device = card_ == nullptr ? *virtual_card : *card_;
  const std::vector<Tensor> packed = pack_arguments(workload, config, source, example.values);
  const Tensor nothing_expected(workload.output.dtype, {workload.output.buffer_elements()});
  const TrialBuffers buffers(device, {workload, example, nothing_expected, source.arguments, packed});
  const Launch launch{device.load(std::get<CompiledKernel>(compiled)), source.launch, buffers.arguments()};
  return card_ == nullptr ? estimated(*virtual_card, launch) : card_->time(launch, {});
}

}  // namespace warpwright
