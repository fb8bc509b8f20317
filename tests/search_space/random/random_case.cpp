// Drawing and running a random case.
#include "tests/search_space/random/random_case.h"

#include <fmt/format.h>

#include <variant>

#include "measure/instruction_limit.h"
#include "measure/trial_buffers.h"
#include "src/core/error.h"
#include "src/device/device.h"
#include "tests/search_space/random/random_workload.h"

namespace warpwright::testing {

namespace {

constexpr int kMostWorkloads = 5'000;
constexpr int kMostTries = 50'000;

Config random_config(const RandomCase& item, Draw& draw) {
  const int64_t pick = draw.between(1, 16);
  if (pick == 1) return item.family->default_config(item.workload, *item.target);
  if (pick == 2) {
    const std::vector<Config> seeds = item.family->seeds(item.workload, *item.target);
    if (!seeds.empty()) return seeds.at(static_cast<size_t>(draw.between(0, static_cast<int64_t>(seeds.size()) - 1)));
  }
  const auto config = item.family->space(item.workload, *item.target).sample(draw.generator(), kMostTries);
  return config ? *config : item.family->default_config(item.workload, *item.target);
}

std::string verdict_of(const Outcome& outcome) {
  if (outcome.kind == OutcomeKind::wrong_result) return "wrong";
  if (outcome.kind != OutcomeKind::memory_fault) return std::string(name(outcome.kind));
  for (const char* fault : {"race", "uninitialised", "misaligned"}) {
    if (outcome.message.find(fault) != std::string::npos) return fault;
  }
  return "out_of_bounds";
}

CaseResult result_of(const Outcome& outcome) { return {verdict_of(outcome), outcome.message}; }

/// What the compiler must have kept to, beside compiling.
std::optional<CaseResult> compiled_wrong(const RandomCase& item, const CompiledKernel& kernel,
                                         const KernelSource& source, const Resources& resources) {
  for (const std::string forbidden : {"fma.", ".ftz", ".approx"}) {
    if (forbidden == "fma." && item.workload.is_real()) continue;  // where their formulas ask for it
    if (kernel.ptx.find(forbidden) != std::string::npos) return CaseResult{"inexact", forbidden};
  }
  const int64_t smem_bytes = kernel.static_smem_bytes + source.launch.dynamic_smem_bytes;
  if (smem_bytes != resources.smem_bytes) {
    return CaseResult{"resources",
                      fmt::format("{} bytes of shared memory, planned {}", smem_bytes, resources.smem_bytes)};
  }
  const auto& block = source.launch.block;
  const auto& grid = source.launch.grid;
  const int64_t threads = int64_t{block[0]} * block[1] * block[2], ctas = int64_t{grid[0]} * grid[1] * grid[2];
  if (threads != resources.threads || ctas != resources.ctas) {
    return CaseResult{"resources", fmt::format("{} CTAs of {} threads, planned {} of {}", ctas, threads, resources.ctas,
                                               resources.threads)};
  }
  return std::nullopt;
}

Outcome launch_checked(const RandomCase& item, const Example& example, const KernelSource& source,
                       const CompiledKernel& kernel, uint64_t limit) {
  std::vector<const Tensor*> inputs;
  for (const Tensor& input : example.inputs) inputs.push_back(&input);
  const Tensor expected = run_reference(item.workload, example.values, inputs);
  const std::vector<Tensor> packed = pack_arguments(item.workload, item.config, source, example.values);
  DeviceOptions options;
  options.instruction_limit = limit;
  options.seed = item.example_seed;
  options.jobs = 1;
  const std::unique_ptr<Device> device = open_device("virtual:" + item.target->name, options);
  TrialBuffers buffers(*device, {item.workload, example, expected, source.arguments, packed});
  const Launch launch{device->load(kernel), source.launch, buffers.arguments()};
  Outcome outcome;
  for (const char* when : {"first launch", "second launch"}) {  // the second finds what the first left behind
    buffers.poison();
    outcome = device->launch(launch);
    if (!outcome.ok()) return outcome;
    if (auto fault = buffers.fault(when)) return *fault;
  }
  return outcome;
}

CaseResult run_without_errors(Compiler& compiler, const RandomCase& item) {
  if (const auto reason = why_illegal(item.workload, item.config, *item.target)) return {"illegal", *reason};
  const Resources resources = item.family->resources(item.workload, item.config, *item.target);
  const KernelSource source = item.family->emit(item.workload, item.config, *item.target);
  const auto compiled = compiler.compile(source, item.target->arch());
  if (const Outcome* failure = std::get_if<Outcome>(&compiled)) return result_of(*failure);
  const auto& kernel = std::get<CompiledKernel>(compiled);
  if (const auto wrong = compiled_wrong(item, kernel, source, resources)) return *wrong;
  Draw draw(item.example_seed);
  const Example example = random_example(item.workload, draw);
  return result_of(launch_checked(item, example, source, kernel, instruction_limit(item.workload, resources)));
}

}  // namespace

const std::vector<const Target*>& random_targets() {
  static const std::vector<const Target*> targets = [] {
    std::vector<const Target*> list;
    for (const char* card : {"t4", "a100", "rtx3090", "orin", "rtx4090", "h100"}) list.push_back(&target_preset(card));
    return list;
  }();
  return targets;
}

std::optional<RandomCase> random_case(const KernelFamily& family, const Target& target, uint64_t seed) {
  Draw draw(seed);
  for (int tries = 0; tries < kMostWorkloads; ++tries) {
    RandomCase item{&family, &target, random_workload(draw), {}, 0};
    if (family.why_unsupported(item.workload, target)) continue;
    item.config = random_config(item, draw);
    item.example_seed = draw.generator()();
    return item;
  }
  return std::nullopt;
}

CaseResult run_case(Compiler& compiler, const RandomCase& item) {
  try {
    return run_without_errors(compiler, item);
  } catch (const Error& error) {
    return {"exception", error.what()};
  }
}

std::string describe(const RandomCase& item) {
  return fmt::format("target {}\nconfig {}\nworkload {}", item.target->name, summary(item.config),
                     to_json(item.workload).dump());
}

}  // namespace warpwright::testing
