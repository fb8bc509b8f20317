// Family depthwise: the pieces put together.
#include "search_space/depthwise/depthwise.h"

#include "search_space/depthwise/plan.h"
#include "search_space/product_epilogue.h"

namespace warpwright {

namespace {

class DepthwiseFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return depthwise::kName; }
  int space_version() const override { return depthwise::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return depthwise::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return depthwise::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return depthwise::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return depthwise::resources_of(workload, depthwise::Plan(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const override {
    return depthwise::emit_kernel(workload, config, target);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    const depthwise::Plan plan(workload, config);
    if (argument == "weights") return depthwise::pack_weights(workload, plan, values);
    return pack_product_argument(workload, argument, values, plan.packed_channels(),
                                 [&](int64_t position) { return plan.channel_at(position); });
  }
};

}  // namespace

const KernelFamily& depthwise_family() {
  static const DepthwiseFamily family;
  return family;
}

}  // namespace warpwright
