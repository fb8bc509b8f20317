// Family pool: an item is one output pixel and a vector of its lanes; its window's taps are shared out over `splits`
// threads, whose partial results meet in shared memory. Integers, so the order of the taps changes nothing.
#include "search_space/pool/pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/lanes.h"
#include "search_space/light/light_family.h"
#include "search_space/light/window.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

constexpr int64_t kMostSplits = 256;

int64_t taps(const Workload& workload) { return workload.window.kernel_h * workload.window.kernel_w; }

std::string constants(const Workload& workload, const Config& config, const LightPlan& plan) {
  const TensorForm& x = workload.inputs[0];
  return SourceConstants()
             .add("Vector", config.at("vector"))
             .add("PerPixel", ceil_div(written_lanes(workload.output), config.at("vector")))
             .add("Items", plan.items)
             .add("Threads", plan.threads)
             .add("Splits", config.at("splits"))
             .add("Slots", plan.items_per_cta)
             .add("InFlight", config.at("in_flight"))
             .add("Taps", taps(workload))
             .add("Signed", x.dtype == DType::s8)
             // What merges without effect.
             .add("Start", workload.kind == OpKind::average_pool ? 0 : code_min(x.dtype))
             .text() +
         window_constants(workload);
}

constexpr std::string_view kAverage = R"(
    const int inside = kAllInside ? kTaps : tap_count(top, kKernelH, kDilationH, 0, kH) *
                                            tap_count(left, kKernelW, kDilationW, 0, kW);
    const int count = kIncludePad ? tap_count(top, kKernelH, kDilationH, -kPadTop, kH + kPadBottom) *
                                    tap_count(left, kKernelW, kDilationW, -kPadLeft, kW + kPadRight) : inside;
    const float multiplier = __fdiv_rn(x_scale, __fmul_rn(y_scale, __int2float_rn(count)));
    const unsigned zero_points = static_cast<unsigned>(x_zero_point) * static_cast<unsigned>(inside);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const int sum = static_cast<int>(static_cast<unsigned>(result[i]) - zero_points);
      const float v = __fmul_rn(__int2float_rn(sum), multiplier);
      result[i] = __float2int_rn(fminf(fmaxf(v, lo), hi)) + y_zero_point;
    }
)";

class PoolFamily final : public LightFamily {
 public:
  PoolFamily() : LightFamily("pool", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::max_pool && workload.kind != OpKind::average_pool) return "it is no pool";
    if (taps(workload) >= int64_t{1} << 31) return "a window of 2^31 taps or more";
    const Window& window = workload.window;
    if (std::max(window.kernel_h * window.dilation_h, window.kernel_w * window.dilation_w) >= int64_t{1} << 29) {
      return "a window that spans 2^29 rows or columns";
    }
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    const int64_t most = std::min<int64_t>(kMostSplits, power_of_two_above(taps(workload)));
    return {{"vector", vector_widths(workload.output)},
            {"splits", powers_of_two(1, most)},
            {"in_flight", {1, 2, 3, 4, 5, 6, 7, 8, 9}}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const int64_t splits = config.at("splits");
    if (splits > taps(workload)) return fmt::format("{} splits of {} taps", splits, taps(workload));
    const int64_t each = ceil_div(taps(workload), splits), in_flight = config.at("in_flight");
    if (in_flight > 1 && ceil_div(each, in_flight) == ceil_div(each, in_flight - 1)) {
      return fmt::format("{} loads in flight take no fewer rounds than {} for {} taps a thread", in_flight,
                         in_flight - 1, each);
    }
    if (splits > config.at("threads")) return fmt::format("{} splits of {} threads", splits, config.at("threads"));
    const int64_t slots = config.at("threads") / splits;
    if (slots < 2 && workload.output.c > config.at("vector")) {
      return fmt::format("reads of {} bytes a pixel and CTA would not coalesce", config.at("vector"));
    }
    return std::nullopt;
  }

  /// As few rounds of loads as 9 in flight allow.
  Config pool_config(const Workload& workload, int64_t vector, int64_t splits, int64_t threads) const {
    const int64_t each = ceil_div(taps(workload), splits);
    const int64_t in_flight = ceil_div(each, ceil_div(each, 9));
    return config({{"vector", vector}, {"splits", splits}, {"in_flight", in_flight}, {"threads", threads}});
  }

  // Without splits while there are pixels enough; else up to 12 taps a thread, and 32 bytes of a pixel a CTA.
  std::vector<Config> preferences(const Workload& workload) const override {
    std::vector<Config> list;
    for (int64_t vector = vector_widths(workload.output).back(); vector >= 4; vector /= 2) {
      for (const int64_t threads : {256, 128, 64}) {
        list.push_back(pool_config(workload, vector, 1, threads));
      }
    }
    int64_t splits = 1;
    while (splits < kMostSplits && taps(workload) > 12 * splits) splits *= 2;
    for (const int64_t threads : {32, 64, 128, 256, 512}) {
      if (threads <= std::max<int64_t>(64, 8 * splits)) {
        list.push_back(pool_config(workload, 4, splits, threads));
      }
    }
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const TensorForm& y = workload.output;
    const int64_t vector = config.at("vector"), splits = config.at("splits");
    LightPlan plan;
    plan.threads = config.at("threads");
    plan.items = y.pixels() * ceil_div(written_lanes(y), vector);
    plan.items_per_cta = std::max<int64_t>(1, plan.threads / splits);
    plan.smem_bytes = splits > 1 ? plan.threads * vector * 4 : 0;
    plan.registers = 32 + 2 * vector + config.at("in_flight") * (vector / 4 + 1);
    plan.load_bytes = plan.items * vector * taps(workload);
    plan.store_bytes = y.pixels() * written_lanes(y);
    plan.smem_bytes_moved = 4 * plan.smem_bytes * plan.ctas();
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0)};
    if (workload.kind == OpKind::average_pool) {
      for (const char* name : {"x_scale", "y_scale", "lo", "hi"}) list.push_back(scalar_argument(name, DType::f32));
      for (const char* name : {"x_zero_point", "y_zero_point"}) list.push_back(scalar_argument(name, DType::s32));
    }
    append_pad_argument(workload, list);
    list.push_back(output_argument(workload));
    return list;
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const bool average = workload.kind == OpKind::average_pool;
    const int64_t vector = config.at("vector"), splits = config.at("splits");
    Body body;
    body.functions = store_pixel_source(workload.output, vector) + constants(workload, config, plan);
    if (average) body.functions += tap_count_source();
    body.functions += fmt::format("__device__ __forceinline__ int merged(int a, int b) {{ return {}; }}\n",
                                  average ? "a + b" : "max(a, b)");
    body.statements = kTapsBegin;
    body.statements += "        " + load_pixel_call(workload.inputs[0], written_lanes(workload.output), vector,
                                                    "words[j]", "x0", "inside[j] ? at : 0", "lane");
    body.statements += kTapsEnd;
    if (splits > 1) body.statements += kMergeSplits;
    body.statements += std::string("  if (item < kItems") + (splits > 1 ? " && split == 0" : "") + ") {\n";
    if (average) body.statements += kAverage;
    body.statements += R"(
    unsigned words[kVector / 4];
#pragma unroll
    for (int i = 0; i < kVector / 4; ++i) {
      words[i] = word_of_codes(result[4 * i], result[4 * i + 1], result[4 * i + 2], result[4 * i + 3]);
    }
    store_pixel(y, pixel, lane, words, )" +
                       pad_text(workload) + ");\n  }\n";
    return body;
  }

  // All loads of a round go out before the first is used; outside the image they read pixel 0 and count nothing.
  static constexpr std::string_view kTapsBegin = R"(
  const int slot = threadIdx.x % kSlots, split = threadIdx.x / kSlots;
  const int item = blockIdx.x * kSlots + slot;
  const int pixel = item / kPerPixel, lane = item % kPerPixel * kVector;
  const int n = pixel / (kOutH * kOutW);
  const int top = pixel / kOutW % kOutH * kStrideH - kPadTop, left = pixel % kOutW * kStrideW - kPadLeft;
  int result[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) result[i] = kStart;
  if (item < kItems) {
    for (int first = split; first < kTaps; first += kInFlight * kSplits) {
      unsigned words[kInFlight][kVector / 4];
      bool inside[kInFlight];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
        const int tap = first + j * kSplits;
        const int h = top + tap / kKernelW * kDilationH, w = left + tap % kKernelW * kDilationW;
        inside[j] = (kTaps % (kInFlight * kSplits) == 0 || tap < kTaps) &&
                    (kAllInside || (h >= 0 && h < kH && w >= 0 && w < kW));
        const int at = (n * kH + h) * kW + w;
)";
  static constexpr std::string_view kTapsEnd = R"(
      }
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          const unsigned word = inside[j] ? words[j][i / 4] : (kStart & 255) * 0x01010101u;
          result[i] = merged(result[i], lane_code<kSigned>(word, i % 4));
        }
      }
    }
  }
)";
  static constexpr std::string_view kMergeSplits = R"(
  __shared__ int partial[kVector * kThreads];
#pragma unroll
  for (int i = 0; i < kVector; ++i) partial[i * kThreads + threadIdx.x] = result[i];
#pragma unroll
  for (int half = kSplits / 2; half > 0; half /= 2) {
    __syncthreads();
    if (split < half) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        result[i] = merged(result[i], partial[i * kThreads + half * kSlots + threadIdx.x]);
        partial[i * kThreads + threadIdx.x] = result[i];
      }
    }
  }
)";
};

}  // namespace

const KernelFamily& pool_family() {
  static const PoolFamily family;
  return family;
}

}  // namespace warpwright
