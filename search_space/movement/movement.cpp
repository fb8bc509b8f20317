// Family movement: each thread gathers one vector of the output, element by element. For nhwc outputs neighbouring
// threads take neighbouring lanes or neighbouring pixels, whichever lie together in the input.
#include "search_space/movement/movement.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/source_text.h"

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
std::string source_word(const TensorForm& x, const Movement& movement) {
  const char* type = is_code(x.dtype) ? "unsigned char" : "unsigned";
  std::string text = fmt::format(R"(
__device__ __forceinline__ unsigned source_word(const {}* x0, int element, [[maybe_unused]] unsigned fill) {{
  unsigned at = {}u;
  [[maybe_unused]] bool inside = true;
)",
                                 type, static_cast<uint32_t>(movement.start));
  text += axis_statements(movement);
  if (movement.fills()) text += "  if (!inside) return fill;\n";
  if (x.layout == Layout::nchw) return text + "  return x0[at];\n}\n";
  const int64_t plane = x.h * x.w;
  return text + fmt::format("  return x0[{}];\n}}\n",
                            pixel_offset(x, fmt::format("at / {} * {} + at % {}", x.c * plane, plane, plane),
                                         fmt::format("at / {} % {}", plane, x.c)));
}

/// The output as long as it is in bytes: one pixel of that many lanes.
int64_t flat_lanes(const TensorForm& y) { return y.buffer_bytes(); }

class MovementFamily final : public LightFamily {
 public:
  MovementFamily() : LightFamily("movement", 1) {}

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
    const TensorForm& y = workload.output;
    std::vector<Config> list;
    for (int64_t vector = widths(y).back(); vector >= 4; vector /= 2) {
      for (const int64_t threads : {256, 128, 64}) {
        list.push_back(config({{"vector", vector}, {"pixels_first", 0}, {"threads", threads}}));
      }
    }
    list.push_back(config({{"vector", 4}, {"pixels_first", 0}, {"threads", 32}}));
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    const bool flat = y.layout == Layout::nchw;
    const int64_t vector = config.at("vector");
    const int64_t lanes = flat ? flat_lanes(y) : written_lanes(y);
    LightPlan plan;
    plan.threads = plan.items_per_cta = config.at("threads");
    plan.items = (flat ? 1 : y.pixels()) * ceil_div(lanes, vector);
    plan.registers = 24 + 2 * vector + 2 * static_cast<int64_t>(workload.movement.axes.size());
    plan.load_bytes = 32 * y.pixels() * y.c;  // a sector an element, unless the caches hold it
    plan.store_bytes = (flat ? 1 : y.pixels()) * lanes;
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
    const TensorForm& y = workload.output;
    const int64_t vector = config.at("vector");
    Body body;
    body.functions = source_word(workload.inputs[0], workload.movement);
    SourceConstants constants;
    constants.add("Vector", vector).add("Items", plan.items).add("Threads", plan.threads);
    body.statements = std::string(kItem) + fill_statement(workload);
    if (y.layout == Layout::nchw) {
      body.functions += constants.add("Elements", y.pixels() * y.c).text();
      body.statements += is_code(y.dtype) ? kCodesToPlanes : kWordsToPlanes;
      return body;
    }
    constants.add("Channels", y.c).add("Plane", y.h * y.w);
    constants.add("Pixels", y.pixels()).add("PerPixel", ceil_div(written_lanes(y), vector));
    body.functions += constants.add("PixelsFirst", config.at("pixels_first")).text() + store_pixel_source(y, vector);
    body.statements += std::string(kToPixels) + "  store_pixel(y, pixel, lane, words, " + pad_text(workload) + ");\n";
    return body;
  }

  static std::string fill_statement(const Workload& workload) {
    if (!workload.movement.fills()) return "  const unsigned fill_bits = 0;\n";
    if (workload.output.dtype == DType::f32) return "  const unsigned fill_bits = __float_as_uint(fill);\n";
    return is_code(workload.output.dtype) ? "  const unsigned fill_bits = static_cast<unsigned>(fill) & 255u;\n"
                                          : "  const unsigned fill_bits = static_cast<unsigned>(fill);\n";
  }

  static constexpr std::string_view kItem = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  unsigned words[kVector / 4];
)";

  static constexpr std::string_view kCodesToPlanes = R"(
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const int element = item * kVector + i;
    unsigned code = 0;
    if (element < kElements) code = source_word(x0, element, fill_bits);
    words[i / 4] = (i % 4 == 0 ? 0u : words[i / 4]) | (code << (8 * (i % 4)));
  }
  store_lanes<kVector, kVector>(y + item * kVector, words, kElements - item * kVector);
)";

  static constexpr std::string_view kWordsToPlanes = R"(
#pragma unroll
  for (int i = 0; i < kVector / 4; ++i) {
    const int element = item * (kVector / 4) + i;
    words[i] = 0;
    if (element < kElements) words[i] = source_word(reinterpret_cast<const unsigned*>(x0), element, fill_bits);
  }
  store_lanes<kVector, kVector>(reinterpret_cast<unsigned char*>(y) + item * kVector, words,
                                kElements * 4 - item * kVector);
)";

  static constexpr std::string_view kToPixels = R"(
  const int pixel = kPixelsFirst ? item % kPixels : item / kPerPixel;
  const int lane = (kPixelsFirst ? item / kPixels : item % kPerPixel) * kVector;
  const int start = pixel / kPlane * (kPlane * kChannels) + pixel % kPlane;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    unsigned code = 0;
    if (lane + i < kChannels) code = source_word(x0, start + (lane + i) * kPlane, fill_bits);
    words[i / 4] = (i % 4 == 0 ? 0u : words[i / 4]) | (code << (8 * (i % 4)));
  }
)";
};

}  // namespace

const KernelFamily& movement_family() {
  static const MovementFamily family;
  return family;
}

}  // namespace warpwright
