// Family layout_change: each thread gathers one vector of output lanes byte by byte. Neighbouring threads take
// neighbouring lanes (the output is written coalesced) or, for nhwc outputs, neighbouring pixels (planes are read so).
#include "search_space/layout_change/layout_change.h"

#include <fmt/format.h>

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/source_text.h"

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

/// An nchw tensor as one long pixel: its bytes are the lanes.
TensorForm as_written(const TensorForm& y) {
  if (y.layout == Layout::nhwc) return y;
  return {y.dtype, Layout::nhwc, 1, 1, 1, y.buffer_bytes(), y.buffer_bytes(), 0};
}

class LayoutChangeFamily final : public LightFamily {
 public:
  LayoutChangeFamily() : LightFamily("layout_change", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::layout) return "it is no layout";
    const TensorForm& y = workload.output;
    if (!is_code(y.dtype) && y.layout == Layout::nhwc) return "int32 goes to nchw only";
    if (y.buffer_bytes() > (int64_t{1} << 31) - 4096) return "byte offsets into the output exceed int";
    return std::nullopt;
  }

  // An nchw output has no alignment but its start's: its one long pixel begins there.
  static std::vector<int64_t> widths(const TensorForm& y) {
    return y.layout == Layout::nchw ? powers_of_two(4, 16) : vector_widths(y);
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", widths(workload.output)}, {"pixels_first", {0, 1}}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    if (!config.at("pixels_first")) return std::nullopt;
    if (y.layout == Layout::nchw) return "an nchw output has no pixels to go first";
    if (y.pixels() == 1) return "with one pixel its lanes go first";
    if (written_lanes(y) <= config.at("vector")) return "with one vector a pixel the order is no choice";
    return std::nullopt;
  }

  std::vector<Config> preferences(const Workload& workload) const override {
    const TensorForm &x = workload.inputs[0], &y = workload.output;
    const bool planes_to_pixels = x.layout == Layout::nchw && y.layout == Layout::nhwc && y.h * y.w > 1;
    std::vector<Config> list;
    for (const int64_t pixels_first : {planes_to_pixels ? 1 : 0, 0}) {
      for (int64_t vector = widths(y).back(); vector >= 4; vector /= 2) {
        for (const int64_t threads : {256, 128, 64}) {
          list.push_back(config({{"vector", vector}, {"pixels_first", pixels_first}, {"threads", threads}}));
        }
      }
      list.push_back(config({{"vector", 4}, {"pixels_first", pixels_first}, {"threads", 32}}));
    }
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm y = as_written(workload.output);
    const int64_t lanes = workload.output.layout == Layout::nchw ? y.c : written_lanes(y);
    LightPlan plan;
    plan.threads = plan.items_per_cta = config.at("threads");
    plan.items = y.pixels() * ceil_div(lanes, config.at("vector"));
    plan.registers = 24 + 2 * config.at("vector");
    plan.load_bytes = 32 * y.pixels() * y.c;  // a sector a byte, unless the caches hold it
    if (workload.inputs[0].layout == Layout::nchw) plan.load_bytes /= 32;
    plan.store_bytes = y.pixels() * lanes;
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0)};
    append_pad_argument(workload, list);
    list.push_back(output_argument(workload));
    return list;
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const TensorForm& y = workload.output;
    const int64_t vector = config.at("vector");
    Body body;
    body.functions = source_code(workload.inputs[0], y);
    SourceConstants constants;
    constants.add("Vector", vector).add("Items", plan.items).add("Threads", plan.threads);
    constants.add("Channels", y.c).add("H", y.h).add("W", y.w);
    if (y.layout == Layout::nchw) {
      body.functions += constants.add("Elements", y.pixels() * y.c).text();
      body.statements = is_code(y.dtype) ? kToPlanes : kWordsToPlanes;
      return body;
    }
    constants.add("Pixels", y.pixels()).add("PerPixel", ceil_div(written_lanes(y), vector));
    body.functions += constants.add("PixelsFirst", config.at("pixels_first")).text() + store_pixel_source(y, vector);
    body.statements = std::string(kToPixels) + "  store_pixel(y, pixel, lane, words, " + pad_text(workload) + ");\n";
    return body;
  }

  static constexpr std::string_view kToPlanes = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  unsigned words[kVector / 4];
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const int at = item * kVector + i;
    unsigned code = 0;
    if (at < kElements) {
      code = source_code(x0, at / (kW * kH * kChannels), at / kW % kH, at % kW, at / (kW * kH) % kChannels);
    }
    words[i / 4] = (i % 4 == 0 ? 0u : words[i / 4]) | (code << (8 * (i % 4)));
  }
  store_lanes<kVector, kVector>(y + item * kVector, words, kElements - item * kVector);
)";

  static constexpr std::string_view kWordsToPlanes = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  unsigned words[kVector / 4];
#pragma unroll
  for (int i = 0; i < kVector / 4; ++i) {
    const int at = item * (kVector / 4) + i;
    words[i] = 0;
    if (at < kElements) {
      words[i] = source_code(x0, at / (kW * kH * kChannels), at / kW % kH, at % kW, at / (kW * kH) % kChannels);
    }
  }
  store_lanes<kVector, kVector>(reinterpret_cast<unsigned char*>(y) + item * kVector, words,
                                kElements * 4 - item * kVector);
)";

  static constexpr std::string_view kToPixels = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  const int pixel = kPixelsFirst ? item % kPixels : item / kPerPixel;
  const int lane = (kPixelsFirst ? item / kPixels : item % kPerPixel) * kVector;
  const int n = pixel / (kH * kW), h = pixel / kW % kH, w = pixel % kW;
  unsigned words[kVector / 4];
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    unsigned code = 0;
    if (lane + i < kChannels) code = source_code(x0, n, h, w, lane + i);
    words[i / 4] = (i % 4 == 0 ? 0u : words[i / 4]) | (code << (8 * (i % 4)));
  }
)";
};

}  // namespace

const KernelFamily& layout_change_family() {
  static const LayoutChangeFamily family;
  return family;
}

}  // namespace warpwright
