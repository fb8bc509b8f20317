// Family real_pool: a thread computes a vector of neighbouring outputs of a row. Each row of the image that their
// windows see is loaded once, as far as it is needed; the taps of a window are merged in their order.
#include "search_space/real_pool/real_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/real_family.h"
#include "search_space/light/window.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

constexpr int64_t kMostSpan = 64;       // columns of a row in registers
constexpr int64_t kMostUnrolled = 128;  // columns of all rows

/// Columns that the windows of a vector of outputs see.
int64_t span_of(const Workload& workload, int64_t vector) {
  const Window& window = workload.window;
  return (vector - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
}

class RealPoolFamily final : public RealFamily {
 public:
  RealPoolFamily() : RealFamily("real_pool", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::real_max_pool && workload.kind != OpKind::real_average_pool) return "it is no pool";
    const Window& window = workload.window;
    if (std::max(window.kernel_h * window.dilation_h, window.kernel_w * window.dilation_w) >= int64_t{1} << 29) {
      return "a window that spans 2^29 rows or columns";
    }
    if (window.kernel_h * window.kernel_w >= int64_t{1} << 31) return "a window of 2^31 taps or more";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    return {{"vector", powers_of_two(1, common_power_of_two(4, workload.output.w))}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const int64_t vector = config.at("vector");
    if (vector > 1 && span_of(workload, vector) > kMostSpan) {
      return fmt::format("{} outputs see {} columns", vector, span_of(workload, vector));
    }
    return std::nullopt;
  }

  std::vector<Config> preferences(const Workload& workload) const override {
    std::vector<Config> list;
    // Neighbouring lanes read neighbouring elements where windows do not jump; else wide stores are all there is to
    // win.
    const int64_t widest = workload.window.stride_w == 1 ? 1 : 2;
    for (int64_t vector = widest; vector >= 1; vector /= 2) {
      for (const int64_t threads : {256, 128, 64, 32}) {
        list.push_back(config({{"vector", vector}, {"threads", threads}}));
      }
    }
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const int64_t vector = config.at("vector"), span = std::min(span_of(workload, vector), kMostSpan);
    LightPlan plan;
    plan.threads = plan.items_per_cta = config.at("threads");
    plan.items = workload.output.buffer_elements() / vector;
    plan.registers = 32 + 2 * vector + span;
    plan.load_bytes = 4 * plan.items * workload.window.kernel_h *
                      std::min(span_of(workload, vector), vector * workload.window.kernel_w);
    plan.store_bytes = workload.output.buffer_bytes();
    return plan;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    return {input_argument(workload, 0), output_argument(workload)};
  }

  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const override {
    const bool average = workload.kind == OpKind::real_average_pool;
    const int64_t vector = config.at("vector"), span = span_of(workload, vector);
    Body body;
    body.functions = window_constants(workload);
    body.functions +=
        SourceConstants()
            .add("Vector", vector)
            .add("Threads", plan.threads)
            .add("Items", plan.items)
            .add("Span", span)
            .add("UnrolledRows", span * workload.window.kernel_h <= kMostUnrolled ? workload.window.kernel_h : 1)
            .text();
    body.functions.append(real_source()).append(tap_count_source());
    body.functions += fmt::format(kMerge, average ? "0.0f" : "__int_as_float(0xff800000)",
                                  average ? "__fadd_rn(a, b)" : "largest(a, b)");
    body.statements =
        std::string(kBegin) + (span <= kMostSpan ? kSpanned : kTapByTap) + (average ? kAverage : "") + kEnd;
    return body;
  }

  // Where there is no element, the start of a sum changes nothing: sums are never -0.
  static constexpr std::string_view kMerge = R"(
__device__ __forceinline__ float nothing() {{ return {}; }}
__device__ __forceinline__ float merged(float a, float b) {{ return {}; }}
)";
  static constexpr const char* kBegin = R"(
  const int item = blockIdx.x * kThreads + threadIdx.x;
  if (kItems % kThreads != 0 && item >= kItems) return;
  constexpr int kColumns = kOutW / kVector;
  const int line = item / kColumns, plane = line / kOutH;
  const int top = line % kOutH * kStrideH - kPadTop, left = item % kColumns * (kVector * kStrideW) - kPadLeft;
  float results[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) results[i] = nothing();
#pragma unroll kUnrolledRows
  for (int row = 0; row < kKernelH; ++row) {
    const int h = top + row * kDilationH;
    const bool is_row = kAllInside || (h >= 0 && h < kH);
    const float* const from = x0 + ((plane * kH + h) * kW + left);
)";
  static constexpr const char* kSpanned = R"(
    float x[kSpan];
#pragma unroll
    for (int column = 0; column < kSpan; ++column) {
      const int w = left + column;
      x[column] = nothing();
      if (is_row && (kAllInside || (w >= 0 && w < kW))) x[column] = from[column];
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
#pragma unroll
      for (int tap = 0; tap < kKernelW; ++tap) {
        results[i] = merged(results[i], x[i * kStrideW + tap * kDilationW]);
      }
    }
  }
)";
  static constexpr const char* kTapByTap = R"(
#pragma unroll 4
    for (int tap = 0; tap < kKernelW; ++tap) {
      const int w = left + tap * kDilationW;
      if (is_row && (kAllInside || (w >= 0 && w < kW))) results[0] = merged(results[0], from[tap * kDilationW]);
    }
  }
)";
  static constexpr const char* kAverage = R"(
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const int start = left + i * kStrideW;
    const int inside = kAllInside ? kKernelH * kKernelW : tap_count(top, kKernelH, kDilationH, 0, kH) *
                                                          tap_count(start, kKernelW, kDilationW, 0, kW);
    const int count = kIncludePad ? tap_count(top, kKernelH, kDilationH, -kPadTop, kH + kPadBottom) *
                                    tap_count(start, kKernelW, kDilationW, -kPadLeft, kW + kPadRight) : inside;
    results[i] = __fdiv_rn(results[i], __int2float_rn(max(count, 1)));
  }
)";
  static constexpr const char* kEnd = "  store_vector(y + item * kVector, results);\n";
};

}  // namespace

const KernelFamily& real_pool_family() {
  static const RealPoolFamily family;
  return family;
}

}  // namespace warpwright
