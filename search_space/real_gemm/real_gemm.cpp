// Family real_gemm: the pieces put together.
#include "search_space/real_gemm/real_gemm.h"

#include "search_space/real_gemm/plan.h"

namespace warpwright {

namespace {

class RealGemmFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return real_gemm::kName; }
  int space_version() const override { return real_gemm::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target&) const override {
    return real_gemm::why_unsupported(workload);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return real_gemm::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return real_gemm::choose_default(workload, target);
  }
  std::vector<Config> seeds(const Workload& workload, const Target& target) const override {
    return real_gemm::choose_seeds(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return real_gemm::resources_of(plan_of(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target&) const override {
    return real_gemm::emit_kernel(workload, config);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    return real_gemm::pack_argument(workload, plan_of(workload, config), argument, values);
  }

 private:
  static real_gemm::Plan plan_of(const Workload& workload, const Config& config) {
    return {real_gemm::Shape(workload), real_gemm::knobs_of(config)};
  }
};

}  // namespace

const KernelFamily& real_gemm_family() {
  static const RealGemmFamily family;
  return family;
}

}  // namespace warpwright
