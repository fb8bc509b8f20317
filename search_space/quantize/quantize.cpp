// Family quantize: each thread makes one vector of lanes of a pixel, reading as many planes. Neighbouring threads take
// neighbouring pixels (the planes are read coalesced) or neighbouring lanes (the codes are written coalesced).
#include "search_space/quantize/quantize.h"

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

class QuantizeFamily final : public LightFamily {
 public:
  QuantizeFamily() : LightFamily("quantize", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::quantize) return "it is no quantize";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", vector_widths(workload.output)}, {"pixels_first", {0, 1}}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    if (config.at("pixels_first") && y.h * y.w == 1) return "with one pixel an image, its lanes go first";
    if (!config.at("pixels_first") && y.h * y.w > 1 && written_lanes(y) <= config.at("vector")) {
      return "with one vector a pixel the order is no choice: pixels_first must be 1";
    }
    return std::nullopt;
  }

  // With few vectors a pixel a warp still takes enough pixels in a row of each plane, and both sides coalesce.
  std::vector<Config> preferences(const Workload& workload) const override {
    const TensorForm& y = workload.output;
    std::vector<Config> list;
    const auto append = [&](int64_t vector, int64_t threads) {
      const int64_t vectors = ceil_div(written_lanes(y), vector);
      const bool pixels_first = y.h * y.w > 1 && (vectors == 1 || vectors > 4);
      list.push_back(config({{"vector", vector}, {"pixels_first", pixels_first}, {"threads", threads}}));
    };
    for (int64_t vector = vector_widths(y).back(); vector >= 4; vector /= 2) {
      for (const int64_t threads : {256, 128, 64}) append(vector, threads);
    }
    append(4, 32);
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    LightPlan plan;
    plan.threads = plan.items_per_cta = config.at("threads");
    plan.items = y.pixels() * ceil_div(written_lanes(y), config.at("vector"));
    plan.registers = 20 + 2 * config.at("vector");
    plan.load_bytes = workload.inputs[0].buffer_bytes();
    plan.store_bytes = y.pixels() * written_lanes(y);
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0)};
    for (const char* name : {"scale", "lo", "hi"}) list.push_back(scalar_argument(name, DType::f32));
    list.push_back(scalar_argument("zero_point", DType::s32));
    append_pad_argument(workload, list);
    list.push_back(output_argument(workload));
    return list;
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const TensorForm& y = workload.output;
    const int64_t vector = config.at("vector");
    Body body;
    body.functions = store_pixel_source(y, vector);
    body.functions += SourceConstants()
                          .add("Vector", vector)
                          .add("PerPixel", ceil_div(written_lanes(y), vector))
                          .add("Pixels", y.pixels())
                          .add("Items", plan.items)
                          .add("Threads", plan.threads)
                          .add("PixelsFirst", config.at("pixels_first"))
                          .add("Channels", y.c)
                          .add("Plane", y.h * y.w)
                          .text();
    body.statements = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  const int pixel = kPixelsFirst ? item % kPixels : item / kPerPixel;
  const int lane = (kPixelsFirst ? item / kPixels : item % kPerPixel) * kVector;
  const float* from = x0 + (pixel / kPlane * kChannels + lane) * kPlane + pixel % kPlane;
  float values[kVector];
#pragma unroll
  for (int i = 0; i < kVector; i += 4) {
    if (kPlane == 1 && kChannels % 4 == 0) {
      float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (lane + i < kChannels) four = *reinterpret_cast<const float4*>(from + i);
      values[i] = four.x, values[i + 1] = four.y, values[i + 2] = four.z, values[i + 3] = four.w;
    } else {
#pragma unroll
      for (int j = i; j < i + 4; ++j) {
        values[j] = 0.0f;
        if (lane + j < kChannels) values[j] = from[j * kPlane];
      }
    }
  }
  unsigned words[kVector / 4];
#pragma unroll
  for (int i = 0; i < kVector / 4; ++i) {
    int codes[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      codes[j] = __float2int_rn(fminf(fmaxf(__fdiv_rn(values[4 * i + j], scale), lo), hi)) + zero_point;
    }
    words[i] = word_of_codes(codes[0], codes[1], codes[2], codes[3]);
  }
  store_pixel(y, pixel, lane, words, )" +
                      pad_text(workload) + ");\n";
    return body;
  }
};

}  // namespace

const KernelFamily& quantize_family() {
  static const QuantizeFamily family;
  return family;
}

}  // namespace warpwright
