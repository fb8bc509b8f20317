// Family real_direct: the pieces put together.
#include "search_space/real_direct/real_direct.h"

#include "search_space/real_direct/plan.h"

namespace warpwright {

namespace {

class RealDirectFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return real_direct::kName; }
  int space_version() const override { return real_direct::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target&) const override {
    return real_direct::why_unsupported(workload);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return real_direct::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return real_direct::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target& target) const override {
    return real_direct::resources_of(workload, plan_of(workload, config), target);
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target&) const override {
    return real_direct::emit_kernel(workload, config);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    return real_direct::pack_argument(workload, plan_of(workload, config), argument, values);
  }

 private:
  static real_direct::Plan plan_of(const Workload& workload, const Config& config) {
    return {workload, real_direct::knobs_of(config)};
  }
};

}  // namespace

const KernelFamily& real_direct_family() {
  static const RealDirectFamily family;
  return family;
}

}  // namespace warpwright
