// Family stem: the pieces put together.
#include "search_space/stem/stem.h"

#include "search_space/product_epilogue.h"
#include "search_space/stem/plan.h"

namespace warpwright {

namespace {

class StemFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return stem::kName; }
  int space_version() const override { return stem::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return stem::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return stem::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return stem::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return stem::resources_of(workload, stem::Plan(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const override {
    return stem::emit_kernel(workload, config, target);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    const stem::Plan plan(workload, config);
    if (argument == "weights") return stem::pack_weights(workload, plan, values);
    return pack_product_argument(workload, argument, values, plan.packed_channels(),
                                 [&](int64_t position) { return plan.channel_at(position); });
  }
};

}  // namespace

const KernelFamily& stem_family() {
  static const StemFamily family;
  return family;
}

}  // namespace warpwright
