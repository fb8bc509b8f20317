// Family dequantize: each thread takes one vector of lanes of a pixel and writes as many planes. Neighbouring threads
// take neighbouring pixels (the planes are written coalesced) or neighbouring lanes (the codes are read coalesced).
#include "search_space/dequantize/dequantize.h"

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

class DequantizeFamily final : public LightFamily {
 public:
  DequantizeFamily() : LightFamily("dequantize", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::dequantize) return "it is no dequantize";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", vector_widths(workload.inputs[0])}, {"pixels_first", {0, 1}}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const TensorForm& x = workload.inputs[0];
    if (config.at("pixels_first") && x.h * x.w == 1) return "with one pixel an image, its lanes go first";
    if (!config.at("pixels_first") && x.h * x.w > 1 && x.c <= config.at("vector")) {
      return "with one vector a pixel the order is no choice: pixels_first must be 1";
    }
    return std::nullopt;
  }

  // With few vectors a pixel a warp still takes enough pixels in a row of each plane, and both sides coalesce.
  std::vector<Config> preferences(const Workload& workload) const override {
    const TensorForm& x = workload.inputs[0];
    std::vector<Config> list;
    const auto append = [&](int64_t vector, int64_t threads) {
      const int64_t vectors = ceil_div(x.c, vector);
      const bool pixels_first = x.h * x.w > 1 && (vectors == 1 || vectors > 4);
      list.push_back(config({{"vector", vector}, {"pixels_first", pixels_first}, {"threads", threads}}));
    };
    for (int64_t vector = vector_widths(x).back(); vector >= 4; vector /= 2) {
      for (const int64_t threads : {256, 128, 64}) append(vector, threads);
    }
    append(4, 32);
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm& x = workload.inputs[0];
    LightPlan plan;
    plan.threads = plan.items_per_cta = config.at("threads");
    plan.items = x.pixels() * ceil_div(x.c, config.at("vector"));
    plan.registers = 16 + config.at("vector");
    plan.load_bytes = plan.items * config.at("vector");
    plan.store_bytes = workload.output.buffer_bytes();
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    return {input_argument(workload, 0), scalar_argument("scale", DType::f32),
            scalar_argument("zero_point", DType::s32), output_argument(workload)};
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const TensorForm& x = workload.inputs[0];
    const int64_t vector = config.at("vector");
    Body body;
    body.functions = SourceConstants()
                         .add("Vector", vector)
                         .add("PerPixel", ceil_div(x.c, vector))
                         .add("Pixels", x.pixels())
                         .add("Items", plan.items)
                         .add("Threads", plan.threads)
                         .add("PixelsFirst", config.at("pixels_first"))
                         .add("Channels", x.c)
                         .add("Plane", x.h * x.w)
                         .add("Signed", x.dtype == DType::s8)
                         .text();
    body.statements = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  const int pixel = kPixelsFirst ? item % kPixels : item / kPerPixel;
  const int lane = (kPixelsFirst ? item / kPixels : item % kPerPixel) * kVector;
  unsigned words[kVector / 4];
  )" + load_pixel_call(x, x.c, vector, "words", "x0", "pixel", "lane") +
                      R"(
  float values[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    values[i] = __fmul_rn(__int2float_rn(lane_code<kSigned>(words[i / 4], i % 4) - zero_point), scale);
  }
  float* to = y + (pixel / kPlane * kChannels + lane) * kPlane + pixel % kPlane;
#pragma unroll
  for (int i = 0; i < kVector; i += 4) {
    if (kPlane == 1 && kChannels % 4 == 0) {
      if (lane + i < kChannels) {
        *reinterpret_cast<float4*>(to + i) = make_float4(values[i], values[i + 1], values[i + 2], values[i + 3]);
      }
    } else {
#pragma unroll
      for (int j = i; j < i + 4; ++j) {
        if (lane + j < kChannels) to[j * kPlane] = values[j];
      }
    }
  }
)";
    return body;
  }
};

}  // namespace

const KernelFamily& dequantize_family() {
  static const DequantizeFamily family;
  return family;
}

}  // namespace warpwright
