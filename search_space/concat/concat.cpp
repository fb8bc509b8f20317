// Family concat: each thread writes a few vectors of lanes, each from the part it lies in. Where parts end inside a
// vector, its lanes are read byte by byte.
#include "search_space/concat/concat.h"

#include <fmt/format.h>

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

/// The widest vector, up to `most`, that ends where every part but the last ends; 1 when there is none.
int64_t common_vector(const Workload& workload, int64_t most) {
  int64_t vector = most, channel = 0;
  for (size_t i = 0; i + 1 < workload.inputs.size(); ++i) {
    channel += workload.inputs[i].c;
    vector = common_power_of_two(vector, channel);
  }
  return vector;
}

/// if (lane < END of part 0) { ... } else if ... with `statement(part, first lane)` in each branch.
template <typename Statement>
std::string part_chain(const Workload& workload, const char* lane, const Statement& statement) {
  std::string text;
  int64_t first = 0;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const int64_t end = first + workload.inputs[i].c;
    const bool last = i + 1 == workload.inputs.size();
    if (last && i == 0) {
      text += "{ ";
    } else if (last) {
      text += " else { ";
    } else {
      text += fmt::format("{}if ({} < {}) {{ ", i > 0 ? " else " : "", lane, end);
    }
    text += statement(i, first) + " }";
    first = end;
  }
  return text;
}

/// Statements that fill words[i] of the vector at (pixel, lane).
std::string load_vector(const Workload& workload, int64_t vector) {
  if (common_vector(workload, vector) == vector) {
    return part_chain(workload, "lane", [&](size_t i, int64_t first) {
      const bool last = i + 1 == workload.inputs.size();
      const int64_t walked = last ? written_lanes(workload.output) - first : workload.inputs[i].c;
      return load_pixel_call(workload.inputs[i], walked, vector, "words[i]", fmt::format("x{}", i), "pixel",
                             fmt::format("lane - {}", first));
    });
  }
  const std::string chain = part_chain(workload, "at", [&](size_t i, int64_t first) {
    return fmt::format("code = x{}[{}];", i, pixel_offset(workload.inputs[i], "pixel", fmt::format("at - {}", first)));
  });
  return fmt::format(R"(
#pragma unroll
      for (int j = 0; j < kVector; ++j) {{
        const int at = lane + j;
        unsigned code = 0;
        if (at < kChannels) {}
        words[i][j / 4] = (j % 4 == 0 ? 0u : words[i][j / 4]) | (code << (8 * (j % 4)));
      }})",
                     chain);
}

class ConcatFamily final : public LightFamily {
 public:
  ConcatFamily() : LightFamily("concat", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind == OpKind::concat) return std::nullopt;
    if (workload.kind != OpKind::layout) return "it is no concat or layout";
    const TensorForm &x = workload.inputs[0], &y = workload.output;
    if (!is_code(y.dtype)) return "its elements are no codes";
    if (x.layout != Layout::nhwc || y.layout != Layout::nhwc || x.c != y.c || x.h * x.w != y.h * y.w) {
      return "the layout changes pixels or channels";
    }
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", vector_widths(workload.output)}, {"vectors", {1, 2, 4}}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const int64_t vector = config.at("vector");
    if (vector > 4 && common_vector(workload, vector) < vector) {
      return fmt::format("a vector of {} lanes spans the end of a part", vector);
    }
    return std::nullopt;
  }

  std::vector<Config> preferences(const Workload& workload) const override {
    const int64_t widest = vector_widths(workload.output).back();
    std::vector<Config> list{config({{"vector", widest}, {"vectors", 2}, {"threads", 256}})};
    for (int64_t vector = widest; vector >= 4; vector /= 2) {
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
    plan.registers =
        16 + config.at("vectors") * config.at("vector") / 4 + 2 * static_cast<int64_t>(workload.inputs.size());
    plan.load_bytes = plan.items * config.at("vector");
    plan.store_bytes = y.pixels() * written_lanes(y);
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list;
    for (size_t i = 0; i < workload.inputs.size(); ++i) list.push_back(input_argument(workload, static_cast<int>(i)));
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
                          .add("Channels", workload.output.c)
                          .add("Items", plan.items)
                          .add("Threads", plan.threads)
                          .add("Vectors", config.at("vectors"))
                          .text();
    body.statements = R"(
  const int start = blockIdx.x * (kThreads * kVectors) + threadIdx.x;
  unsigned words[kVectors][kVector / 4];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int item = start + i * kThreads;
    const int pixel = item / kPerPixel, lane = item % kPerPixel * kVector;
    if (item < kItems) {
      )" + load_vector(workload, vector) +
                      R"(
    }
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int item = start + i * kThreads;
    if (item < kItems) {
      store_pixel(y, item / kPerPixel, item % kPerPixel * kVector, words[i], )" +
                      pad_text(workload) + ");\n    }\n  }\n";
    return body;
  }
};

}  // namespace

const KernelFamily& concat_family() {
  static const ConcatFamily family;
  return family;
}

}  // namespace warpwright
