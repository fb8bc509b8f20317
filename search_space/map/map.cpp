// Family map: each thread takes a few vectors of neighbouring elements. All loads go out before the first is used; what
// the instructions are is known when compiling.
#include "search_space/map/map.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/real_family.h"
#include "search_space/map/instructions.h"
#include "search_space/map/operands.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;
using namespace map_kernel;

/// An operand as the kernel has it.
struct MapArgument {
  const MapOperand* operand;
  KernelArgument argument;
  std::string parameter;  // its name in the kernel
};

std::vector<MapArgument> map_arguments(const Workload& workload) {
  std::vector<MapArgument> list;
  int inputs = 0, constants = 0;
  for (const MapOperand& operand : workload.map.operands) {
    if (!operand.constant) {
      list.push_back({&operand, input_argument(workload, inputs), fmt::format("x{}", inputs)});
      ++inputs;
      continue;
    }
    const std::string name = fmt::format("constant{}", constants++);
    list.push_back({&operand,
                    is_scalar(workload.map, operand) ? scalar_argument(name, operand.dtype)
                                                     : constant_argument(name, operand.dtype),
                    name});
  }
  return list;
}

/// Bytes of the narrowest element that a vector moves.
int64_t narrowest_bytes(const Workload& workload) {
  size_t bytes = size_bytes(workload.output.dtype);
  for (const MapOperand& operand : workload.map.operands) bytes = std::min(bytes, size_bytes(operand.dtype));
  return static_cast<int64_t>(bytes);
}

class MapFamily final : public RealFamily {
 public:
  MapFamily() : RealFamily("map", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::map) return "it is no map";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", element_vectors(narrowest_bytes(workload))}, {"vectors", {1, 2, 4}}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const int64_t vector = config.at("vector");
    if (vector > power_of_two_above(workload.map.elements())) {
      return fmt::format("a vector of {} for {} elements", vector, workload.map.elements());
    }
    return std::nullopt;
  }

  std::vector<Config> preferences(const Workload& workload) const override {
    std::vector<Config> list;
    // One access of the widest type a vector: more would leave sectors half asked for.
    size_t widest = size_bytes(workload.output.dtype);
    for (const MapOperand& operand : workload.map.operands) widest = std::max(widest, size_bytes(operand.dtype));
    for (int64_t vector = 16 / static_cast<int64_t>(widest); vector >= 1; vector /= 2) {
      for (const int64_t threads : {256, 128, 64}) {
        list.push_back(config({{"vector", vector}, {"vectors", 1}, {"threads", threads}}));
      }
    }
    list.push_back(config({{"vector", 1}, {"vectors", 1}, {"threads", 32}}));
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const int64_t vector = config.at("vector"), elements = workload.map.elements();
    LightPlan plan;
    plan.threads = config.at("threads");
    plan.items = ceil_div(elements, vector);
    plan.items_per_cta = plan.threads * config.at("vectors");
    int64_t held_bytes = 0;
    for (const MapOperand& operand : workload.map.operands) {
      const auto bytes = static_cast<int64_t>(size_bytes(operand.dtype));
      const int64_t loads = plan_operand(workload.map, operand, vector).loads(vector);
      plan.load_bytes += plan.items * loads * bytes;
      held_bytes += loads * std::max<int64_t>(4, bytes);
    }
    plan.registers = 32 + config.at("vectors") * held_bytes / 4;
    plan.store_bytes = workload.output.buffer_bytes();
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list;
    for (const MapArgument& item : map_arguments(workload)) list.push_back(item.argument);
    list.push_back(output_argument(workload));
    return list;
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const Map& map = workload.map;
    const int64_t vector = config.at("vector"), elements = map.elements();
    Body body;
    body.functions = functions_source() + result_source(map);
    body.functions += SourceConstants()
                          .add("Vector", vector)
                          .add("Vectors", config.at("vectors"))
                          .add("Threads", plan.threads)
                          .add("Items", plan.items)
                          .add("Elements", elements)
                          .add("Full", plan.items % plan.items_per_cta == 0)
                          .text();
    std::string arrays, loads, values;
    size_t number = 0;
    for (const MapArgument& item : map_arguments(workload)) {
      const DType dtype = item.operand->dtype;
      if (number > 0) values += ", ";
      if (item.argument.role == KernelArgument::Role::scalar) {
        values += item.parameter;
      } else {
        const std::string array = fmt::format("a{}", number);
        arrays += fmt::format("  {} {}[kVectors][kVector];\n", element_type(dtype), array);
        loads += "      " + load_text(plan_operand(map, *item.operand, vector), array + "[j]",
                                      element_pointer(item.parameter, dtype), elements % vector != 0);
        values += array + (dtype == DType::boolean ? "[j][i] != 0" : "[j][i]");
      }
      ++number;
    }
    const DType y = workload.output.dtype;
    body.statements = fmt::format(kBody, fmt::arg("arrays", arrays), fmt::arg("loads", loads),
                                  fmt::arg("values", values), fmt::arg("y_type", element_type(y)),
                                  fmt::arg("y", y == DType::s8 ? "reinterpret_cast<signed char*>(y)" : "y"),
                                  fmt::arg("store", elements % vector == 0 ? "store_vector" : "store_some"),
                                  fmt::arg("count", elements % vector == 0 ? "" : ", kElements - static_cast<int>(e)"));
    return body;
  }

  static constexpr std::string_view kBody = R"(
  const unsigned first = blockIdx.x * (kThreads * kVectors) + threadIdx.x;
{arrays}#pragma unroll
  for (int j = 0; j < kVectors; ++j) {{
    const unsigned item = first + j * kThreads;
    [[maybe_unused]] const unsigned e = item * kVector;
    if (kFull || item < kItems) {{
{loads}    }}
  }}
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {{
    const unsigned item = first + j * kThreads, e = item * kVector;
    if (kFull || item < kItems) {{
      {y_type} results[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) results[i] = result({values});
      {store}({y} + e, results{count});
    }}
  }}
)";
};

}  // namespace

const KernelFamily& map_family() {
  static const MapFamily family;
  return family;
}

}  // namespace warpwright
