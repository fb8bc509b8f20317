// Family resample: a thread computes a vector of neighbouring outputs of a row, the same in several planes, so that
// indices and weights are read once for all of them.
#include "search_space/resample/resample.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/real_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

constexpr int64_t kMostUnrolledTaps = 4;

int64_t planes_of(const Workload& workload) { return workload.output.n * workload.output.c; }

class ResampleFamily final : public RealFamily {
 public:
  ResampleFamily() : RealFamily("resample", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::resample) return "it is no resample";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", powers_of_two(1, common_power_of_two(4, workload.output.w))},
            {"planes", powers_of_two(1, std::min<int64_t>(8, power_of_two_above(planes_of(workload))))}};
  }

  std::optional<std::string> why_useless(const Workload&, const Config&) const override { return std::nullopt; }

  std::vector<Config> preferences(const Workload& workload) const override {
    const int64_t widest = common_power_of_two(4, workload.output.w);
    std::vector<Config> list;
    for (const int64_t planes : {4, 2, 1}) {
      for (const int64_t threads : {256, 128}) {
        list.push_back(config({{"vector", std::min<int64_t>(2, widest)}, {"planes", planes}, {"threads", threads}}));
      }
    }
    for (const int64_t threads : {128, 64, 32}) {
      list.push_back(config({{"vector", 1}, {"planes", 1}, {"threads", threads}}));
    }
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    const int64_t vector = config.at("vector"), planes = config.at("planes");
    const int64_t taps = workload.h_taps * workload.w_taps;
    LightPlan plan;
    plan.threads = plan.items_per_cta = config.at("threads");
    plan.items = ceil_div(planes_of(workload), planes) * y.h * (y.w / vector);
    plan.registers = 32 + 3 * vector * planes + 4 * vector * std::min(workload.w_taps, kMostUnrolledTaps);
    plan.load_bytes = 4 * taps * y.buffer_elements() + 8 * plan.items * (workload.h_taps + vector * workload.w_taps);
    plan.store_bytes = y.buffer_bytes();
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    return {input_argument(workload, 0),
            constant_argument("h_index", DType::s32),
            constant_argument("h_weight", DType::f32),
            constant_argument("w_index", DType::s32),
            constant_argument("w_weight", DType::f32),
            output_argument(workload)};
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const TensorForm &x = workload.inputs[0], &y = workload.output;
    const auto unrolled = [](int64_t taps) { return taps <= kMostUnrolledTaps ? taps : 1; };
    Body body;
    body.functions = SourceConstants()
                         .add("Vector", config.at("vector"))
                         .add("Planes", config.at("planes"))
                         .add("AllPlanes", planes_of(workload))
                         .add("Threads", plan.threads)
                         .add("Items", plan.items)
                         .add("H", x.h)
                         .add("W", x.w)
                         .add("OutH", y.h)
                         .add("OutW", y.w)
                         .add("TapsH", workload.h_taps)
                         .add("TapsW", workload.w_taps)
                         .add("UnrolledH", unrolled(workload.h_taps))
                         .add("UnrolledW", unrolled(workload.w_taps))
                         .text();
    body.statements = kBody;
    return body;
  }

  static constexpr const char* kBody = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (kItems % kThreads != 0 && item >= kItems) return;
  constexpr int kColumns = kOutW / kVector;
  const int line = item / kColumns, q = item % kColumns * kVector, p = line % kOutH, plane = line / kOutH * kPlanes;
  auto is_plane = [&](int k) { return kAllPlanes % kPlanes == 0 || plane + k < kAllPlanes; };
  float sums[kPlanes][kVector];
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) sums[k][v] = 0.0f;
  }
#pragma unroll kUnrolledH
  for (int i = 0; i < kTapsH; ++i) {
    const float* const from = x0 + (plane * (kH * kW) + h_index[p * kTapsH + i] * kW);
    float rows[kPlanes][kVector];
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) {
#pragma unroll
      for (int v = 0; v < kVector; ++v) rows[k][v] = 0.0f;
    }
#pragma unroll kUnrolledW
    for (int j = 0; j < kTapsW; ++j) {
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        const int at = w_index[(q + v) * kTapsW + j];
        const float weight = w_weight[(q + v) * kTapsW + j];
#pragma unroll
        for (int k = 0; k < kPlanes; ++k) {
          if (is_plane(k)) rows[k][v] = __fmaf_rn(weight, from[k * (kH * kW) + at], rows[k][v]);
        }
      }
    }
    const float weight = h_weight[p * kTapsH + i];
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) {
#pragma unroll
      for (int v = 0; v < kVector; ++v) sums[k][v] = __fmaf_rn(weight, rows[k][v], sums[k][v]);
    }
  }
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) {
    if (is_plane(k)) store_vector(y + ((plane + k) * (kOutH * kOutW) + p * kOutW + q), sums[k]);
  }
)";
};

}  // namespace

const KernelFamily& resample_family() {
  static const ResampleFamily family;
  return family;
}

}  // namespace warpwright
