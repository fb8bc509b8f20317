// Family dp4a_gemv: the pieces put together.
#include "search_space/dp4a_gemv/dp4a_gemv.h"

#include "search_space/dp4a_gemv/plan.h"
#include "search_space/product_epilogue.h"

namespace warpwright {

namespace {

class Dp4aGemvFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return dp4a_gemv::kName; }
  int space_version() const override { return dp4a_gemv::kSpaceVersion; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return dp4a_gemv::why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override {
    return dp4a_gemv::make_space(workload, target);
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    return dp4a_gemv::choose_default(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target&) const override {
    return dp4a_gemv::resources_of(dp4a_gemv::Plan(workload, config));
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const override {
    return dp4a_gemv::emit_kernel(workload, config, target);
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    const dp4a_gemv::Plan plan(workload, config);
    if (argument == "weights") return dp4a_gemv::pack_weights(workload, plan, values);
    return pack_product_argument(workload, argument, values, plan.packed_columns(),
                                 [&](int64_t position) { return plan.channel_at(position); });
  }
};

}  // namespace

const KernelFamily& dp4a_gemv_family() {
  static const Dp4aGemvFamily family;
  return family;
}

}  // namespace warpwright
