// Family softmax: rows and columns as light/rows.h cuts them.
#include "search_space/softmax/softmax.h"

#include "search_space/light/row_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

class SoftmaxFamily final : public RowFamily {
 public:
  SoftmaxFamily() : RowFamily("softmax", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::softmax) return "it is no softmax";
    return std::nullopt;
  }
  int64_t passes() const override { return 3; }
  int64_t constant_bytes(const Workload&) const override { return 0; }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    return {input_argument(workload, 0), output_argument(workload)};
  }

  std::string functions(const Workload& workload) const override {
    return SourceConstants().add("Logarithm", workload.logarithm).text();
  }

  // What is held is first x, then, for the result, exp(x - m), or x - m where the logarithm is asked for.
  std::string statements(const Workload&) const override {
    return R"(
  float most[kVector], sum[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) most[i] = __int_as_float(0xff800000), sum[i] = 0.0f;
  for_each_batch([&](int first) {
#pragma unroll
    for (int r = 0; r < kLoaded; ++r) {
      if (is_there(first + r)) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) most[i] = largest(most[i], x[r][i]);
      }
    }
  });
  largest_parts(most);
  for_each_batch([&](int first) {
#pragma unroll
    for (int r = 0; r < kLoaded; ++r) {
      if (is_there(first + r)) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          const float below = __fsub_rn(x[r][i], most[i]), exponential = real_exp(below);
          sum[i] = __fadd_rn(sum[i], exponential);
          x[r][i] = kLogarithm ? below : exponential;
        }
      }
    }
  });
  sum_parts(sum);
  if constexpr (kLogarithm) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum[i] = real_log(sum[i]);
  }
  for_each_batch([&](int first) {
#pragma unroll
    for (int r = 0; r < kLoaded; ++r) {
      if (is_there(first + r)) {
        float results[kVector];
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          float value = x[r][i];
          if constexpr (!kHeld) {
            value = __fsub_rn(value, most[i]);
            if constexpr (!kLogarithm) value = real_exp(value);
          }
          results[i] = kLogarithm ? __fsub_rn(value, sum[i]) : __fdiv_rn(value, sum[i]);
        }
        store_vector(y + (start + (first + r) * kStep), results);
      }
    }
  });
)";
  }
};

}  // namespace

const KernelFamily& softmax_family() {
  static const SoftmaxFamily family;
  return family;
}

}  // namespace warpwright
