// Family add_mul: each thread takes a few vectors of lanes; what broadcasts is known when compiling.
#include "search_space/add_mul/add_mul.h"

#include <fmt/format.h>

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

/// Expression of the input's pixel for the output's `pixel`; extents of 1 broadcast.
std::string input_pixel(const TensorForm& x, const TensorForm& y) {
  if (x.n == y.n && x.h == y.h && x.w == y.w) return "pixel";
  std::string text = "0";
  if (x.w > 1) text += fmt::format(" + pixel % {}", y.w);
  if (x.h > 1) text += fmt::format(" + pixel / {} % {} * {}", y.w, y.h, x.w);
  if (x.n > 1) text += fmt::format(" + pixel / {} * {}", y.w * y.h, x.w * x.h);
  return text;
}

/// Statements that fill `words` from input `index`; one channel is spread over all lanes.
std::string load_input(const Workload& workload, int index, int64_t vector, const std::string& words) {
  const TensorForm& x = workload.inputs[static_cast<size_t>(index)];
  const std::string pixel = input_pixel(x, workload.output), pointer = fmt::format("x{}", index);
  if (x.c == 1 && workload.output.c > 1) {
    return fmt::format(R"({{
        const unsigned code = {}[{}];
#pragma unroll
        for (int j = 0; j < kVector / 4; ++j) {}[j] = code * 0x01010101u;
      }})",
                       pointer, pixel_offset(x, pixel, "0"), words);
  }
  return load_pixel_call(x, written_lanes(workload.output), vector, words, pointer, pixel, "lane");
}

class AddMulFamily final : public LightFamily {
 public:
  AddMulFamily() : LightFamily("add_mul", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::add && workload.kind != OpKind::mul) return "it is no add or mul";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", vector_widths(workload.output)}, {"vectors", {1, 2, 4}}};
  }

  std::optional<std::string> why_useless(const Workload&, const Config&) const override { return std::nullopt; }

  std::vector<Config> preferences(const Workload& workload) const override {
    std::vector<Config> list;
    for (int64_t vector = vector_widths(workload.output).back(); vector >= 4; vector /= 2) {
      for (const int64_t threads : {256, 128, 64}) {
        list.push_back(config({{"vector", vector}, {"vectors", 1}, {"threads", threads}}));
      }
    }
    list.push_back(config({{"vector", 4}, {"vectors", 1}, {"threads", 32}}));
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    LightPlan plan;
    plan.threads = config.at("threads");
    plan.items = y.pixels() * ceil_div(written_lanes(y), config.at("vector"));
    plan.items_per_cta = plan.threads * config.at("vectors");
    plan.registers = 28 + config.at("vectors") * config.at("vector");
    for (const TensorForm& x : workload.inputs) {
      plan.load_bytes += x.c == 1 && y.c > 1 ? plan.items : plan.items * config.at("vector");
    }
    plan.store_bytes = y.pixels() * written_lanes(y);
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0), input_argument(workload, 1)};
    for (const char* scale : {"a_scale", "b_scale", "y_scale", "lo", "hi"}) {
      list.push_back(scalar_argument(scale, DType::f32));
    }
    for (const char* zero_point : {"a_zero_point", "b_zero_point", "y_zero_point"}) {
      list.push_back(scalar_argument(zero_point, DType::s32));
    }
    append_pad_argument(workload, list);
    list.push_back(output_argument(workload));
    return list;
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const int64_t vector = config.at("vector");
    Body body;
    body.functions = store_pixel_source(workload.output, vector);
    body.functions += SourceConstants()
                          .add("Vector", vector)
                          .add("PerPixel", ceil_div(written_lanes(workload.output), vector))
                          .add("Items", plan.items)
                          .add("Threads", plan.threads)
                          .add("Vectors", config.at("vectors"))
                          .add("SignedA", workload.inputs[0].dtype == DType::s8)
                          .add("SignedB", workload.inputs[1].dtype == DType::s8)
                          .text();
    body.statements = R"(
  const int first = blockIdx.x * (kThreads * kVectors) + threadIdx.x;
  unsigned a[kVectors][kVector / 4], b[kVectors][kVector / 4];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int item = first + i * kThreads;
    [[maybe_unused]] const int pixel = item / kPerPixel, lane = item % kPerPixel * kVector;
    if (item < kItems) {
      )" + load_input(workload, 0, vector, "a[i]") +
                      "\n      " + load_input(workload, 1, vector, "b[i]") + R"(
    }
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int item = first + i * kThreads;
    const int pixel = item / kPerPixel, lane = item % kPerPixel * kVector;
    if (item < kItems) {
      unsigned words[kVector / 4];
#pragma unroll
      for (int j = 0; j < kVector / 4; ++j) {
        int codes[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float da = __fmul_rn(__int2float_rn(lane_code<kSignedA>(a[i][j], k) - a_zero_point), a_scale);
          const float db = __fmul_rn(__int2float_rn(lane_code<kSignedB>(b[i][j], k) - b_zero_point), b_scale);
          const float v = )" +
                      std::string(workload.kind == OpKind::add ? "__fadd_rn" : "__fmul_rn") + R"((da, db);
          codes[k] = __float2int_rn(fminf(fmaxf(__fdiv_rn(v, y_scale), lo), hi)) + y_zero_point;
        }
        words[j] = word_of_codes(codes[0], codes[1], codes[2], codes[3]);
      }
      store_pixel(y, pixel, lane, words, )" +
                      pad_text(workload) + R"();
    }
  }
)";
    return body;
  }
};

}  // namespace

const KernelFamily& add_mul_family() {
  static const AddMulFamily family;
  return family;
}

}  // namespace warpwright
