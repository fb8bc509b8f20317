// Family dp4a_gemm: the pieces put together.
#include "search_space/dp4a_gemm/dp4a_gemm.h"

#include "search_space/dp4a_gemm/plan.h"
#include "search_space/product_epilogue.h"

namespace warpwright {

namespace {

class Dp4aGemmFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return dp4a_gemm::kName; }
  int space_version() const override { return dp4a_gemm::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return dp4a_gemm::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return dp4a_gemm::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return dp4a_gemm::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return dp4a_gemm::resources_of(dp4a_gemm::Plan(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const override {
    return dp4a_gemm::emit_kernel(workload, config, target);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    const dp4a_gemm::Plan plan(workload, config);
    if (argument == "weights") return dp4a_gemm::pack_weights(workload, plan, values);
    return pack_product_argument(workload, argument, values, plan.packed_columns(),
                                 [&](int64_t position) { return plan.channel_at(position); });
  }
};

}  // namespace

const KernelFamily& dp4a_gemm_family() {
  static const Dp4aGemmFamily family;
  return family;
}

}  // namespace warpwright
