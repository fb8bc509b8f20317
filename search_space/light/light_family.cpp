// LightFamily: sizes, constraints, defaults and the frame of the source.
#include "search_space/light/light_family.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/no_legal_config.h"
#include "src/core/error.h"

namespace warpwright::light {

namespace {

constexpr int64_t kMostElements = (int64_t{1} << 31) - 4096;  // indices are int
constexpr int64_t kMostStaticSmem = 48 << 10;

std::string parameter(const KernelArgument& argument) {
  // Codes come as raw bytes.
  const std::string_view element = element_type(is_code(argument.dtype) ? DType::u8 : argument.dtype);
  switch (argument.role) {
    case KernelArgument::Role::input:
      return fmt::format("const {}* __restrict__ x{}", element, argument.index);
    case KernelArgument::Role::output:
      return fmt::format("{}* __restrict__ y", element);
    case KernelArgument::Role::constant:
      return fmt::format("const {}* __restrict__ {}", element, argument.name);
    case KernelArgument::Role::scalar:
      return fmt::format("{} {}", element, argument.name);
    case KernelArgument::Role::workspace:
    case KernelArgument::Role::counters:
      break;  // no light family has scratch memory
  }
  throw InternalError("unknown role of a kernel argument");
}

std::string signature(const std::string& entry, const std::vector<KernelArgument>& arguments, int64_t threads) {
  std::string text = fmt::format("\nextern \"C\" __global__ void __launch_bounds__({}) {}(", threads, entry);
  for (size_t i = 0; i < arguments.size(); ++i) text += (i > 0 ? ",\n    " : "\n    ") + parameter(arguments[i]);
  return text + ") {\n";
}

}  // namespace

int64_t LightPlan::ctas() const { return ceil_div(items, items_per_cta); }

std::optional<std::string> LightFamily::why_unsupported(const Workload& workload, const Target&) const {
  if (auto reason = why_foreign(workload)) return reason;
  int64_t most = workload.output.buffer_elements();
  for (const TensorForm& input : workload.inputs) most = std::max(most, input.buffer_elements());
  if (most > kMostElements) return fmt::format("a tensor of {} elements exceeds {}", most, kMostElements);
  return std::nullopt;
}

Space LightFamily::space(const Workload& workload, const Target& target) const {
  std::vector<Knob> knobs = own_knobs(workload);
  knobs.push_back({"threads", powers_of_two(32, 512)});
  auto why_illegal = [this, workload, target](const Config& config) -> std::optional<std::string> {
    const int64_t threads = config.at("threads");
    if (threads > target.max_threads_per_block) {
      return fmt::format("{} threads a CTA exceed the {} of {}", threads, target.max_threads_per_block, target.name);
    }
    if (auto reason = why_useless(workload, config)) return reason;
    const LightPlan plan = this->plan(workload, config);
    if (plan.items_per_cta > std::max<int64_t>(32, power_of_two_above(plan.items))) {
      return fmt::format("a CTA of {} items is hopeless for {} items", plan.items_per_cta, plan.items);
    }
    if (plan.smem_bytes > std::min(kMostStaticSmem, target.smem_per_block_bytes)) {
      return fmt::format("{} bytes of shared memory a CTA exceed {}", plan.smem_bytes,
                         std::min(kMostStaticSmem, target.smem_per_block_bytes));
    }
    if (plan.registers > target.max_registers_per_thread) {
      return fmt::format("about {} registers a thread exceed {}", plan.registers, target.max_registers_per_thread);
    }
    return std::nullopt;
  };
  return Space(std::string(name_), space_version_, std::move(knobs), std::move(why_illegal));
}

// The first preference that gives every SM a CTA, else the last one: the way of a small tensor.
Config LightFamily::default_config(const Workload& workload, const Target& target) const {
  if (auto reason = why_unsupported(workload, target)) throw InternalError(fmt::format("{}: {}", name_, *reason));
  const Space legal = space(workload, target);
  std::optional<Config> best;
  for (const Config& candidate : preferences(workload)) {
    if (legal.why_illegal(candidate)) continue;
    best = candidate;
    if (plan(workload, candidate).ctas() >= target.sm_count) break;
  }
  if (!best) throw NoLegalConfig(name_, workload, target);
  return *best;
}

Resources LightFamily::resources(const Workload& workload, const Config& config, const Target& target) const {
  require_legal(workload, config, target);
  const LightPlan plan = this->plan(workload, config);
  Resources resources;
  resources.threads = plan.threads;
  resources.ctas = plan.ctas();
  resources.smem_bytes = plan.smem_bytes;
  resources.registers = plan.registers;
  resources.global_load_bytes = plan.load_bytes;
  resources.global_store_bytes = plan.store_bytes;
  resources.smem_bytes_moved = plan.smem_bytes_moved;
  return resources;
}

KernelSource LightFamily::emit(const Workload& workload, const Config& config, const Target& target) const {
  require_legal(workload, config, target);
  const LightPlan plan = this->plan(workload, config);
  KernelSource kernel;
  kernel.entry = fmt::format("{}_{}", name_, warpwright::name(workload.kind));
  kernel.arguments = arguments(workload);
  kernel.launch.grid[0] = static_cast<uint32_t>(plan.ctas());
  kernel.launch.block[0] = static_cast<uint32_t>(plan.threads);
  const Body parts = body(workload, config, plan);
  kernel.source = fmt::format("// {}: {}\n", name_, workload.summary());
  kernel.source += access_source();
  kernel.source += parts.functions + signature(kernel.entry, kernel.arguments, plan.threads) + parts.statements + "}\n";
  return kernel;
}

std::string_view LightFamily::access_source() const { return lane_access_source(); }

Tensor LightFamily::pack(const Workload& workload, const Config&, const std::string& argument,
                         const Values& values) const {
  const auto found = values.find(argument);
  if (found == values.end()) {
    throw InternalError(fmt::format("{} of {}: no value '{}'", name_, workload.summary(), argument));
  }
  return found->second;
}

void LightFamily::require_legal(const Workload& workload, const Config& config, const Target& target) const {
  auto reason = why_unsupported(workload, target);
  if (!reason) reason = space(workload, target).why_illegal(config);
  if (reason) throw InternalError(fmt::format("{} of {}: {}", summary(config), workload.summary(), *reason));
}

std::string_view element_type(DType dtype) {
  switch (dtype) {
    case DType::s8:
      return "signed char";
    case DType::u8:
    case DType::boolean:
      return "unsigned char";
    case DType::s32:
      return "int";
    case DType::s64:
      return "long long";
    case DType::f32:
      return "float";
  }
  throw InternalError("an unknown element type");
}

KernelArgument input_argument(const Workload& workload, int index) {
  return {KernelArgument::Role::input, index, "", workload.inputs.at(static_cast<size_t>(index)).dtype};
}

KernelArgument output_argument(const Workload& workload) {
  return {KernelArgument::Role::output, 0, "", workload.output.dtype};
}

KernelArgument constant_argument(const std::string& name, DType dtype) {
  return {KernelArgument::Role::constant, 0, name, dtype};
}

KernelArgument scalar_argument(const std::string& name, DType dtype) {
  return {KernelArgument::Role::scalar, 0, name, dtype};
}

void append_pad_argument(const Workload& workload, std::vector<KernelArgument>& arguments) {
  if (writes_pad(workload.output)) arguments.push_back(scalar_argument("pad_code", DType::s32));
}

std::string pad_text(const Workload& workload) { return writes_pad(workload.output) ? "pad_code" : "0"; }

std::vector<int64_t> vector_widths(const TensorForm& form) { return powers_of_two(4, access_bytes(form, 16)); }

}  // namespace warpwright::light
