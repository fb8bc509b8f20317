// Family mma_gemm: the pieces put together.
#include "search_space/mma_gemm/mma_gemm.h"

#include "search_space/mma_gemm/plan.h"
#include "search_space/product_epilogue.h"

namespace warpwright {

namespace {

class MmaGemmFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return mma_gemm::kName; }
  int space_version() const override { return mma_gemm::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return mma_gemm::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return mma_gemm::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return mma_gemm::choose_default(workload, target);
  }
  std::vector<Config> seeds(const Workload& workload, const Target& target) const override {
    return mma_gemm::choose_seeds(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return mma_gemm::resources_of(plan_of(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target&) const override {
    return mma_gemm::emit_kernel(workload, config);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    const mma_gemm::Plan plan = plan_of(workload, config);
    if (argument == "weights") return mma_gemm::pack_weights(workload, plan, values);
    return pack_product_argument(workload, argument, values, plan.packed_columns(),
                                 [&](int64_t position) { return plan.channel_of_constant(position); });
  }

 private:
  static mma_gemm::Plan plan_of(const Workload& workload, const Config& config) {
    return {mma_gemm::Shape(workload), mma_gemm::knobs_of(config)};
  }
};

}  // namespace

const KernelFamily& mma_gemm_family() {
  static const MmaGemmFamily family;
  return family;
}

}  // namespace warpwright
