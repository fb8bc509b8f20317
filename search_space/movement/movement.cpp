// Family movement: elements that go elsewhere by strides, gathered.
#include "search_space/movement/movement.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/light/gather_family.h"
#include "search_space/light/lanes.h"

namespace warpwright {

namespace {

using namespace light;

constexpr int64_t kMostBytes = (int64_t{1} << 31) - 4096;  // byte offsets are int

/// Statements that add to `at` what the index on each axis gives, and let `inside` say whether it has a source.
std::string axis_statements(const Movement& movement) {
  std::string text;
  for (size_t k = movement.axes.size(); k-- > 0;) {
    const MovementAxis& axis = movement.axes[k];
    const std::string index =
        k > 0 ? fmt::format("static_cast<unsigned>(element % {})", axis.extent) : "static_cast<unsigned>(element)";
    text += fmt::format("  {{\n    const unsigned index = {};\n", index);
    // Modulo 2^32: where there is a source, the sum is its number.
    text += fmt::format("    at += index * {}u;\n", static_cast<uint32_t>(axis.step));
    if (axis.first > 0) text += fmt::format("    inside = inside && index >= {}u;\n", axis.first);
    if (axis.last < axis.extent) text += fmt::format("    inside = inside && index < {}u;\n", axis.last);
    text += "  }\n";
    if (k > 0) text += fmt::format("  element /= {};\n", axis.extent);
  }
  return text;
}

/// Device function source_word(x0, element, fill): the bits that belong at this element of the output, counted in
/// NCHW-linear order.
std::string source_word(const TensorForm& x, const Movement& movement, std::string_view bits) {
  std::string text = fmt::format(R"(
__device__ __forceinline__ {0} source_word(const {0}* x0, int element, [[maybe_unused]] {0} fill) {{
  unsigned at = {1}u;
  [[maybe_unused]] bool inside = true;
)",
                                 bits, static_cast<uint32_t>(movement.start));
  text += axis_statements(movement);
  if (movement.fills()) text += "  if (!inside) return fill;\n";
  if (x.layout == Layout::nchw) return text + "  return x0[at];\n}\n";
  const int64_t plane = x.h * x.w;
  return text + fmt::format("  return x0[{}];\n}}\n",
                            pixel_offset(x, fmt::format("at / {} * {} + at % {}", x.c * plane, plane, plane),
                                         fmt::format("at / {} % {}", plane, x.c)));
}

class MovementFamily final : public GatherFamily {
 public:
  MovementFamily() : GatherFamily("movement", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::move) return "it is no move";
    const TensorForm &x = workload.inputs[0], &y = workload.output;
    if (!is_code(y.dtype) && y.layout == Layout::nhwc) return "int32 goes to nchw only";
    if (std::max(x.buffer_bytes(), y.buffer_bytes()) > kMostBytes) {
      return fmt::format("a tensor of more than {} bytes", kMostBytes);
    }
    return std::nullopt;
  }

  std::vector<Config> preferences(const Workload& workload) const override { return widest_first(workload, 0); }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    LightPlan plan = gather_plan(workload, config);
    plan.registers += 2 * static_cast<int64_t>(workload.movement.axes.size());
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0)};
    if (workload.movement.fills()) {
      list.push_back(scalar_argument("fill", workload.output.dtype == DType::f32 ? DType::f32 : DType::s32));
    }
    append_pad_argument(workload, list);
    list.push_back(output_argument(workload));
    return list;
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const std::string_view bits = element_bits(workload.output.dtype);
    Gather gather;
    gather.functions = source_word(workload.inputs[0], workload.movement, bits);
    gather.statements = fill_statement(workload);
    gather.word = fmt::format("source_word(reinterpret_cast<const {}*>(x0), element, fill_bits)", bits);
    gather.at_pixel = "  const int start = pixel / (kH * kW) * (kH * kW * kChannels) + pixel % (kH * kW);\n";
    gather.code = "source_word(x0, start + channel * (kH * kW), fill_bits)";
    return gather_body(workload, config, plan, gather);
  }

  static std::string fill_statement(const Workload& workload) {
    const DType dtype = workload.output.dtype;
    std::string bits = "0";
    if (workload.movement.fills()) {
      bits = dtype == DType::f32 ? "__float_as_uint(fill)" : fmt::format("static_cast<{}>(fill)", element_bits(dtype));
    }
    return fmt::format("  const {} fill_bits = {};\n", element_bits(dtype), bits);
  }
};

}  // namespace

const KernelFamily& movement_family() {
  static const MovementFamily family;
  return family;
}

}  // namespace warpwright
