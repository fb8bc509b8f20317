// Family mma_swapped: the pieces put together.
#include "search_space/mma_swapped/mma_swapped.h"

#include "search_space/mma_swapped/plan.h"
#include "search_space/product_epilogue.h"

namespace warpwright {

namespace {

class MmaSwappedFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return mma_swapped::kName; }
  int space_version() const override { return mma_swapped::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return mma_swapped::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return mma_swapped::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return mma_swapped::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return mma_swapped::resources_of(mma_swapped::Plan(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const override {
    return mma_swapped::emit_kernel(workload, config, target);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    const mma_swapped::Plan plan(workload, config);
    if (argument == "weights") return mma_swapped::pack_weights(workload, plan, values);
    return pack_product_argument(workload, argument, values, plan.packed_columns(),
                                 [&](int64_t position) { return plan.channel_at(position); });
  }
};

}  // namespace

const KernelFamily& mma_swapped_family() {
  static const MmaSwappedFamily family;
  return family;
}

}  // namespace warpwright
