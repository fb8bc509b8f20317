// Family lookup: each thread takes a few vectors of lanes; the table lies in shared or in global memory.
#include "search_space/lookup/lookup.h"

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

class LookupFamily final : public LightFamily {
 public:
  LookupFamily() : LightFamily("lookup", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::lookup) return "it is no lookup";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", vector_widths(workload.output)}, {"vectors", {1, 2, 4}}, {"shared_table", {0, 1}}};
  }

  std::optional<std::string> why_useless(const Workload&, const Config&) const override { return std::nullopt; }

  std::vector<Config> preferences(const Workload& workload) const override {
    const int64_t widest = vector_widths(workload.output).back();
    std::vector<Config> list{config({{"vector", widest}, {"vectors", 2}, {"shared_table", 1}, {"threads", 256}})};
    for (int64_t vector = widest; vector >= 4; vector /= 2) {
      for (const int64_t threads : {256, 128, 64}) {
        list.push_back(config({{"vector", vector}, {"vectors", 1}, {"shared_table", 1}, {"threads", threads}}));
      }
    }
    list.push_back(config({{"vector", 4}, {"vectors", 1}, {"shared_table", 1}, {"threads", 32}}));
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    LightPlan plan;
    plan.threads = config.at("threads");
    plan.items = y.pixels() * ceil_div(written_lanes(y), config.at("vector"));
    plan.items_per_cta = plan.threads * config.at("vectors");
    plan.smem_bytes = config.at("shared_table") ? 256 : 0;
    plan.registers = 24 + config.at("vectors") * config.at("vector") / 2;
    plan.load_bytes = plan.items * config.at("vector") + plan.ctas() * 256;
    plan.store_bytes = y.pixels() * written_lanes(y);
    plan.smem_bytes_moved = config.at("shared_table") ? plan.ctas() * 256 + plan.store_bytes : 0;
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0), constant_argument("table", DType::u8)};
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
                          .text();
    if (config.at("shared_table")) {
      body.statements += R"(
  __shared__ unsigned char entries[256];
  for (int i = threadIdx.x; i < 256; i += kThreads) entries[i] = table[i];
  __syncthreads();
)";
    } else {
      body.statements += "  const unsigned char* entries = table;\n";
    }
    body.statements +=
        R"(
  const int first = blockIdx.x * (kThreads * kVectors) + threadIdx.x;
  unsigned words[kVectors][kVector / 4];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int item = first + i * kThreads;
    const int pixel = item / kPerPixel, lane = item % kPerPixel * kVector;
    if (item < kItems) {
      )" +
        load_pixel_call(workload.inputs[0], written_lanes(workload.output), vector, "words[i]", "x0", "pixel", "lane") +
        R"(
    }
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int item = first + i * kThreads;
    const int pixel = item / kPerPixel, lane = item % kPerPixel * kVector;
    if (item < kItems) {
#pragma unroll
      for (int j = 0; j < kVector / 4; ++j) {
        const unsigned word = words[i][j];
        words[i][j] = word_of_codes(entries[word & 255u], entries[(word >> 8) & 255u], entries[(word >> 16) & 255u],
                                    entries[word >> 24]);
      }
      store_pixel(y, pixel, lane, words[i], )" +
        pad_text(workload) + R"();
    }
  }
)";
    return body;
  }
};

}  // namespace

const KernelFamily& lookup_family() {
  static const LookupFamily family;
  return family;
}

}  // namespace warpwright
