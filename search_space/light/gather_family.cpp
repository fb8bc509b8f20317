// Gathering kernels: knobs, plan and text.
#include "search_space/light/gather_family.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/source_text.h"

namespace warpwright::light {

namespace {

constexpr std::string_view kItem = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  unsigned words[kVector / 4];
)";

constexpr std::string_view kCodesToPlanes = R"(
#pragma unroll
  for (int i = 0; i < kVector; ++i) {{
    const int element = item * kVector + i;
    unsigned code = 0;
    if (element < kElements) code = {};
    words[i / 4] = (i % 4 == 0 ? 0u : words[i / 4]) | (code << (8 * (i % 4)));
  }}
  store_lanes<kVector, kVector>(y + item * kVector, words, kElements - item * kVector);
)";

// Elements of one or more words.
constexpr std::string_view kWordsToPlanes = R"(
  constexpr int kWords = sizeof(Element) / 4;
#pragma unroll
  for (int i = 0; i < kVector / 4; i += kWords) {{
    const int element = item * (kVector / 4 / kWords) + i / kWords;
    Element bits = 0;
    if (element < kElements) bits = {};
#pragma unroll
    for (int j = 0; j < kWords; ++j) words[i + j] = static_cast<unsigned>(bits >> (16 * j) >> (16 * j));
  }}
  store_lanes<kVector, kVector>(reinterpret_cast<unsigned char*>(y) + item * kVector, words,
                                kElements * static_cast<int>(sizeof(Element)) - item * kVector);
)";

constexpr std::string_view kToPixels = R"(
  const int pixel = kPixelsFirst ? item % kPixels : item / kPerPixel;
  const int lane = (kPixelsFirst ? item / kPixels : item % kPerPixel) * kVector;
{}#pragma unroll
  for (int i = 0; i < kVector; ++i) {{
    const int channel = lane + i;
    unsigned code = 0;
    if (channel < kChannels) code = {};
    words[i / 4] = (i % 4 == 0 ? 0u : words[i / 4]) | (code << (8 * (i % 4)));
  }}
  store_pixel(y, pixel, lane, words, {});
)";

}  // namespace

std::vector<int64_t> GatherFamily::widths(const TensorForm& y) {
  const auto narrowest = std::max<int64_t>(4, static_cast<int64_t>(size_bytes(y.dtype)));
  return y.layout == Layout::nchw ? powers_of_two(narrowest, 16) : vector_widths(y);
}

std::vector<Knob> GatherFamily::own_knobs(const Workload& workload) const {
  return {{"vector", widths(workload.output)}, {"pixels_first", {0, 1}}};
}

std::optional<std::string> GatherFamily::why_useless(const Workload& workload, const Config& config) const {
  const TensorForm& y = workload.output;
  if (!config.at("pixels_first")) return std::nullopt;
  if (y.layout == Layout::nchw) return "an nchw output has no pixels to go first";
  if (y.pixels() == 1) return "with one pixel its lanes go first";
  if (written_lanes(y) <= config.at("vector")) return "with one vector a pixel the order is no choice";
  return std::nullopt;
}

std::vector<Config> GatherFamily::widest_first(const Workload& workload, int64_t pixels_first) const {
  std::vector<Config> list;
  const std::vector<int64_t> vectors = widths(workload.output);
  for (int64_t vector = vectors.back(); vector >= vectors.front(); vector /= 2) {
    for (const int64_t threads : {256, 128, 64}) {
      list.push_back(config({{"vector", vector}, {"pixels_first", pixels_first}, {"threads", threads}}));
    }
  }
  list.push_back(config({{"vector", vectors.front()}, {"pixels_first", pixels_first}, {"threads", 32}}));
  return list;
}

std::string_view GatherFamily::element_bits(DType dtype) {
  switch (size_bytes(dtype)) {
    case 1:
      return "unsigned char";
    case 8:
      return "unsigned long long";
    default:
      return "unsigned";
  }
}

LightPlan GatherFamily::gather_plan(const Workload& workload, const Config& config) {
  const TensorForm& y = workload.output;
  const bool flat = y.layout == Layout::nchw;  // as long as it is in bytes: one pixel of that many lanes
  const int64_t lanes = flat ? y.buffer_bytes() : written_lanes(y), pixels = flat ? 1 : y.pixels();
  LightPlan plan;
  plan.threads = plan.items_per_cta = config.at("threads");
  plan.items = pixels * ceil_div(lanes, config.at("vector"));
  plan.registers = 24 + 2 * config.at("vector");
  plan.load_bytes = 32 * y.pixels() * y.c;
  plan.store_bytes = pixels * lanes;
  return plan;
}

LightFamily::Body GatherFamily::gather_body(const Workload& workload, const Config& config, const LightPlan& plan,
                                            const Gather& gather) {
  const TensorForm& y = workload.output;
  const int64_t vector = config.at("vector");
  SourceConstants constants;
  constants.add("Vector", vector).add("Items", plan.items).add("Threads", plan.threads);
  constants.add("Channels", y.c).add("H", y.h).add("W", y.w);
  Body body;
  body.functions = gather.functions;
  body.statements = std::string(kItem) + gather.statements;
  if (y.layout == Layout::nchw) {
    const bool is_byte = size_bytes(y.dtype) == 1;
    body.functions += constants.add("Elements", y.pixels() * y.c).text();
    body.functions += fmt::format("typedef {} Element;\n", element_bits(y.dtype));
    body.statements += fmt::format(fmt::runtime(is_byte ? kCodesToPlanes : kWordsToPlanes), gather.word);
    return body;
  }
  constants.add("Pixels", y.pixels()).add("PerPixel", ceil_div(written_lanes(y), vector));
  body.functions += constants.add("PixelsFirst", config.at("pixels_first")).text() + store_pixel_source(y, vector);
  body.statements += fmt::format(fmt::runtime(kToPixels), gather.at_pixel, gather.code, pad_text(workload));
  return body;
}

}  // namespace warpwright::light
