// Family normalize: rows as light/rows.h cuts them.
#include "search_space/normalize/normalize.h"

#include "search_space/light/row_family.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;

class NormalizeFamily final : public RowFamily {
 public:
  NormalizeFamily() : RowFamily("normalize", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::normalize) return "it is no normalize";
    return std::nullopt;
  }
  int64_t passes() const override { return 3; }
  int64_t constant_bytes(const Workload& workload) const override {
    return workload.output.buffer_bytes() * (workload.epilogue.bias ? 2 : 1);
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list{input_argument(workload, 0), scalar_argument("epsilon", DType::f32),
                                     constant_argument("scale", DType::f32)};
    if (workload.epilogue.bias) list.push_back(constant_argument("bias", DType::f32));
    list.push_back(output_argument(workload));
    return list;
  }

  std::string functions(const Workload& workload) const override {
    return SourceConstants().add("Centered", workload.centered).add("Bias", workload.epilogue.bias).text();
  }

  // What is held is first x, then its distance from the mean.
  std::string statements(const Workload& workload) const override {
    std::string text = kBody;
    text += workload.epilogue.bias ? "        load_vector(shift, bias + place);\n" : "";
    return text + kEnd;
  }

  static constexpr const char* kBody = R"(
  float mean[kVector], square[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) mean[i] = square[i] = 0.0f;
  if constexpr (kCentered) {
    for_each_batch([&](int first) {
#pragma unroll
      for (int r = 0; r < kLoaded; ++r) {
        if (is_there(first + r)) {
#pragma unroll
          for (int i = 0; i < kVector; ++i) mean[i] = __fadd_rn(mean[i], x[r][i]);
        }
      }
    });
    sum_parts(mean);
#pragma unroll
    for (int i = 0; i < kVector; ++i) mean[i] = __fdiv_rn(mean[i], static_cast<float>(kLength));
  }
  for_each_batch([&](int first) {
#pragma unroll
    for (int r = 0; r < kLoaded; ++r) {
      if (is_there(first + r)) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          x[r][i] = __fsub_rn(x[r][i], mean[i]);
          square[i] = __fmaf_rn(x[r][i], x[r][i], square[i]);
        }
      }
    }
  });
  sum_parts(square);
  const float variance = __fdiv_rn(square[0], static_cast<float>(kLength));
  const float factor = __frcp_rn(__fsqrt_rn(__fadd_rn(variance, epsilon)));
  for_each_batch([&](int first) {
#pragma unroll
    for (int r = 0; r < kLoaded; ++r) {
      if (is_there(first + r)) {
        const int place = (first + r) * kParts + lane * kVector;
        float results[kVector], factors[kVector];
        [[maybe_unused]] float shift[kVector];
        load_vector(factors, scale + place);
)";
  static constexpr const char* kEnd = R"(
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          const float distance = kHeld ? x[r][i] : __fsub_rn(x[r][i], mean[i]);
          const float normal = __fmul_rn(distance, factor);
          results[i] = kBias ? __fmaf_rn(normal, factors[i], shift[i]) : __fmul_rn(normal, factors[i]);
        }
        store_vector(y + (start + (first + r) * kStep), results);
      }
    }
  });
)";
};

}  // namespace

const KernelFamily& normalize_family() {
  static const NormalizeFamily family;
  return family;
}

}  // namespace warpwright
