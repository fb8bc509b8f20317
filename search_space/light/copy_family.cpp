// Copies: units, plan and text.
#include "search_space/light/copy_family.h"

#include <fmt/format.h>

#include "search_space/arithmetic.h"
#include "search_space/source_text.h"

namespace warpwright::light {

namespace {

int64_t element_bytes(const Workload& workload) { return static_cast<int64_t>(size_bytes(workload.output.dtype)); }

std::string_view unit_type(int64_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    case 8:
      return "uint2";
    default:
      return "uint4";
  }
}

constexpr std::string_view kBody = R"(
  const unsigned first = blockIdx.x * (kThreads * kUnits) + threadIdx.x;
  Unit units[kUnits];
#pragma unroll
  for (int j = 0; j < kUnits; ++j) {{
    const unsigned e = first + j * kThreads;
    if (kFull || e < kItems) units[j] = unit_of({});
  }}
#pragma unroll
  for (int j = 0; j < kUnits; ++j) {{
    const unsigned e = first + j * kThreads;
    if (kFull || e < kItems) reinterpret_cast<Unit*>(y)[e] = units[j];
  }}
)";

}  // namespace

std::vector<Knob> CopyFamily::own_knobs(const Workload& workload) const {
  return {{"unit", powers_of_two(element_bytes(workload), common_power_of_two(16, run_bytes(workload)))},
          {"units", {1, 2, 4}}};
}

std::optional<std::string> CopyFamily::why_useless(const Workload&, const Config&) const { return std::nullopt; }

std::vector<Config> CopyFamily::preferences(const Workload& workload) const {
  std::vector<Config> list;
  const int64_t narrowest = element_bytes(workload);
  for (int64_t unit = common_power_of_two(16, run_bytes(workload)); unit >= narrowest; unit /= 2) {
    for (const int64_t threads : {256, 128, 64}) {
      list.push_back(config({{"unit", unit}, {"units", 1}, {"threads", threads}}));
    }
  }
  list.push_back(config({{"unit", narrowest}, {"units", 1}, {"threads", 32}}));
  return list;
}

LightPlan CopyFamily::plan(const Workload& workload, const Config& config) const {
  const int64_t unit = config.at("unit");
  LightPlan plan;
  plan.threads = config.at("threads");
  plan.items = workload.output.buffer_bytes() / unit;
  plan.items_per_cta = plan.threads * config.at("units");
  plan.registers = 24 + config.at("units") * ceil_div(unit, 4);
  plan.load_bytes = plan.store_bytes = workload.output.buffer_bytes();
  return plan;
}

LightFamily::Body CopyFamily::body(const Workload& workload, const Config& config, const LightPlan& plan) const {
  const int64_t unit = config.at("unit");
  std::string parameters, names;
  for (const KernelArgument& argument : arguments(workload)) {
    if (argument.role == KernelArgument::Role::output) continue;
    const std::string name =
        argument.role == KernelArgument::Role::input ? fmt::format("x{}", argument.index) : argument.name;
    const char* separator = names.empty() ? "" : ", ";
    const std::string_view type = element_type(is_code(argument.dtype) ? DType::u8 : argument.dtype);
    parameters += fmt::format("{}const {}* __restrict__ {}", separator, type, name);
    names += separator + name;
  }
  Body body;
  body.functions = SourceConstants()
                       .add("Units", config.at("units"))
                       .add("Threads", plan.threads)
                       .add("Items", plan.items)
                       .add("Full", plan.items % plan.items_per_cta == 0)
                       .text();
  body.functions += fmt::format("typedef {} Unit;\n__device__ __forceinline__ Unit unit_of({}, unsigned e) {{\n{}}}\n",
                                unit_type(unit), parameters, unit_text(workload, unit));
  body.statements = fmt::format(kBody, names + ", e");
  return body;
}

}  // namespace warpwright::light
