// Family mma_matmul: the pieces put together.
#include "search_space/mma_matmul/mma_matmul.h"

#include <algorithm>

#include "search_space/mma_matmul/plan.h"
#include "src/core/error.h"

namespace warpwright {

namespace mma_matmul {

// Packed columns are alike: one multiplier, and the product of the zero points, which wraps as the sums do.
Tensor pack_argument(const Workload& workload, const Plan& plan, const std::string& argument, const Values& values) {
  const auto value = [&](const std::string& name) -> const Tensor& {
    const auto found = values.find(name);
    if (found == values.end()) throw InternalError("no value '" + name + "' of " + workload.summary());
    return found->second;
  };
  if (argument == "multiplier") {
    Tensor packed(DType::f32, {plan.packed_columns()});
    std::ranges::fill(packed.as<float>(), value("multiplier").as<float>()[0]);
    return packed;
  }
  if (argument == "bias") {
    const auto factor = [&](const char* name) { return static_cast<uint32_t>(value(name).as<int32_t>()[0]); };
    const uint32_t product = static_cast<uint32_t>(plan.shape.depth) * factor("a_zero_point") * factor("b_zero_point");
    Tensor packed(DType::s32, {plan.packed_columns()});
    std::ranges::fill(packed.as<int32_t>(), static_cast<int32_t>(product));
    return packed;
  }
  return value(argument);
}

}  // namespace mma_matmul

namespace {

class MmaMatmulFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return mma_matmul::kName; }
  int space_version() const override { return mma_matmul::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return mma_matmul::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return mma_matmul::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return mma_matmul::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return mma_matmul::resources_of(plan_of(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target&) const override {
    return mma_matmul::emit_kernel(workload, config);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    return mma_matmul::pack_argument(workload, plan_of(workload, config), argument, values);
  }

 private:
  static mma_matmul::Plan plan_of(const Workload& workload, const Config& config) {
    return {mma_matmul::Shape(workload), mma_matmul::knobs_of(config)};
  }
};

}  // namespace

const KernelFamily& mma_matmul_family() {
  static const MmaMatmulFamily family;
  return family;
}

}  // namespace warpwright
