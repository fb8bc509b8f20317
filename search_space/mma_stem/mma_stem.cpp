// Family mma_stem: the pieces put together.
#include "search_space/mma_stem/mma_stem.h"

#include "search_space/mma_stem/plan.h"
#include "search_space/product_epilogue.h"

namespace warpwright {

namespace {

class MmaStemFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return mma_stem::kName; }
  int space_version() const override { return mma_stem::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return mma_stem::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return mma_stem::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return mma_stem::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return mma_stem::resources_of(workload, mma_stem::Plan(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const override {
    return mma_stem::emit_kernel(workload, config, target);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    const mma_stem::Plan plan(workload, config);
    if (argument == "weights") return mma_stem::pack_weights(workload, plan, values);
    return pack_product_argument(workload, argument, values, plan.packed_channels(),
                                 [&](int64_t position) { return plan.channel_at(position); });
  }
};

}  // namespace

const KernelFamily& mma_stem_family() {
  static const MmaStemFamily family;
  return family;
}

}  // namespace warpwright
