// Family layout_change: the same elements under another layout or shape, gathered.
#include "search_space/layout_change/layout_change.h"

#include <fmt/format.h>

#include <utility>

#include "search_space/light/gather_family.h"
#include "search_space/light/lanes.h"

namespace warpwright {

namespace {

using namespace light;

/// Device function source_code(x0, n, h, w, c): the code that belongs at this place of the output.
std::string source_code(const TensorForm& x, const TensorForm& y) {
  std::string text = fmt::format(R"(
__device__ __forceinline__ unsigned source_code(const {}* x0, int n, int h, int w, int c) {{
)",
                                 is_code(x.dtype) ? "unsigned char" : "int");
  const bool same_extents = x.n == y.n && x.h == y.h && x.w == y.w && x.c == y.c;
  if (x.layout == Layout::nhwc && same_extents) {
    return text +
           fmt::format("  return x0[{}];\n}}\n", pixel_offset(x, fmt::format("(n * {} + h) * {} + w", x.h, x.w), "c"));
  }
  text += fmt::format("  const int linear = ((n * {} + c) * {} + h) * {} + w;\n", y.c, y.h, y.w);
  if (x.layout == Layout::nchw) return text + "  return x0[linear];\n}\n";
  const std::string pixel = fmt::format("linear / {} * {} + linear % {}", x.c * x.h * x.w, x.h * x.w, x.h * x.w);
  const std::string channel = fmt::format("linear / {} % {}", x.h * x.w, x.c);
  return text + fmt::format("  return x0[{}];\n}}\n", pixel_offset(x, pixel, channel));
}

class LayoutChangeFamily final : public GatherFamily {
 public:
  LayoutChangeFamily() : GatherFamily("layout_change", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::layout) return "it is no layout";
    const TensorForm& y = workload.output;
    if (!is_code(y.dtype) && y.layout == Layout::nhwc) return "int32 goes to nchw only";
    if (y.buffer_bytes() > (int64_t{1} << 31) - 4096) return "byte offsets into the output exceed int";
    return std::nullopt;
  }

  std::vector<Config> preferences(const Workload& workload) const override {
    const TensorForm &x = workload.inputs[0], &y = workload.output;
    std::vector<Config> list;
    // Planes are read by neighbouring pixels.
    if (x.layout == Layout::nchw && y.layout == Layout::nhwc && y.h * y.w > 1) list = widest_first(workload, 1);
    for (Config& each : widest_first(workload, 0)) list.push_back(std::move(each));
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    LightPlan plan = gather_plan(workload, config);
    if (workload.inputs[0].layout == Layout::nchw) plan.load_bytes /= 32;
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0)};
    append_pad_argument(workload, list);
    list.push_back(output_argument(workload));
    return list;
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    Gather gather;
    gather.functions = source_code(workload.inputs[0], workload.output);
    gather.word =
        "source_code(x0, element / (kW * kH * kChannels), element / kW % kH, element % kW, element / (kW * kH) % "
        "kChannels)";
    gather.at_pixel = "  const int n = pixel / (kH * kW), h = pixel / kW % kH, w = pixel % kW;\n";
    gather.code = "source_code(x0, n, h, w, channel)";
    return gather_body(workload, config, plan, gather);
  }
};

}  // namespace

const KernelFamily& layout_change_family() {
  static const LayoutChangeFamily family;
  return family;
}

}  // namespace warpwright
