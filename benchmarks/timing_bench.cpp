// Times Configs without verifying them.
#include "benchmarks/timing_bench.h"

#include <variant>

#include "measure/trial_buffers.h"
#include "search_space/kernel_family.h"

namespace warpwright {

TimingBench::TimingBench(const std::string& device_name)
    : compiler_(open_nvrtc()), device_(open_device(device_name, {.checked = false, .jobs = 1})) {}

Outcome TimingBench::time(const Workload& workload, const Config& config, const Example& example,
                          CompiledKernel* kernel) {
  const KernelSource source = family_of(config).emit(workload, config, target());
  const auto compiled = compiler_->compile(source, target().arch());
  if (const Outcome* failure = std::get_if<Outcome>(&compiled)) return *failure;
  if (kernel != nullptr) *kernel = std::get<CompiledKernel>(compiled);
  const std::vector<Tensor> packed = pack_arguments(workload, config, source, example.values);
  const Tensor nothing_expected(workload.output.dtype, {workload.output.buffer_elements()});
  const TrialBuffers buffers(*device_, {workload, example, nothing_expected, source.arguments, packed});
  return device_->time({device_->load(std::get<CompiledKernel>(compiled)), source.launch, buffers.arguments()}, {});
}

}  // namespace warpwright
