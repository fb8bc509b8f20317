// The one explicit list of kernel families, and questions to all of them.
#include <fmt/format.h>

#include "search_space/add_mul/add_mul.h"
#include "search_space/concat/concat.h"
#include "search_space/depthwise/depthwise.h"
#include "search_space/dequantize/dequantize.h"
#include "search_space/dp4a_gemm/dp4a_gemm.h"
#include "search_space/dp4a_gemv/dp4a_gemv.h"
#include "search_space/gather/gather.h"
#include "search_space/join/join.h"
#include "search_space/kernel_family.h"
#include "search_space/layout_change/layout_change.h"
#include "search_space/lookup/lookup.h"
#include "search_space/map/map.h"
#include "search_space/mma_gemm/mma_gemm.h"
#include "search_space/mma_matmul/mma_matmul.h"
#include "search_space/mma_stem/mma_stem.h"
#include "search_space/mma_swapped/mma_swapped.h"
#include "search_space/movement/movement.h"
#include "search_space/normalize/normalize.h"
#include "search_space/pool/pool.h"
#include "search_space/quantize/quantize.h"
#include "search_space/real_direct/real_direct.h"
#include "search_space/real_gemm/real_gemm.h"
#include "search_space/real_pool/real_pool.h"
#include "search_space/reduce/reduce.h"
#include "search_space/resample/resample.h"
#include "search_space/softmax/softmax.h"
#include "search_space/stem/stem.h"
#include "src/core/error.h"

namespace warpwright {

const std::vector<const KernelFamily*>& kernel_families() {
  static const std::vector<const KernelFamily*> families = {
      &depthwise_family(),  &stem_family(),        &mma_stem_family(),   &mma_gemm_family(), &dp4a_gemm_family(),
      &dp4a_gemv_family(),  &mma_swapped_family(), &mma_matmul_family(), &quantize_family(), &dequantize_family(),
      &lookup_family(),     &add_mul_family(),     &pool_family(),       &concat_family(),   &layout_change_family(),
      &movement_family(),   &map_family(),         &reduce_family(),     &softmax_family(),  &normalize_family(),
      &real_pool_family(),  &resample_family(),    &gather_family(),     &join_family(),     &real_gemm_family(),
      &real_direct_family()};
  return families;
}

std::vector<const KernelFamily*> families_for(const Workload& workload, const Target& target) {
  std::vector<const KernelFamily*> fitting;
  for (const KernelFamily* family : kernel_families()) {
    if (!family->why_unsupported(workload, target)) fitting.push_back(family);
  }
  return fitting;
}

const KernelFamily* family_named(std::string_view name) {
  for (const KernelFamily* family : kernel_families()) {
    if (family->name() == name) return family;
  }
  return nullptr;
}

std::string why_unsupported(const Workload& workload, const Target& target) {
  std::string reasons;
  for (const KernelFamily* family : kernel_families()) {
    const std::optional<std::string> reason = family->why_unsupported(workload, target);
    reasons += fmt::format("\n  {}: {}", family->name(), reason.value_or("takes it"));
  }
  return fmt::format("no kernel family takes {} on {}:{}", workload.summary(), target.name, reasons);
}

std::optional<std::string> why_illegal(const Workload& workload, const Config& config, const Target& target) {
  const KernelFamily* family = family_named(config.family);
  if (family == nullptr) return fmt::format("there is no kernel family {}", config.family);
  if (auto reason = family->why_unsupported(workload, target)) return reason;
  return family->space(workload, target).why_illegal(config);
}

const KernelFamily& family_of(const Config& config) {
  const KernelFamily* family = family_named(config.family);
  if (family == nullptr) {
    std::string known;
    for (const KernelFamily* each : kernel_families()) known += fmt::format(" {}", each->name());
    throw UsageError(fmt::format("there is no kernel family {}; known:{}", config.family, known));
  }
  return *family;
}

std::vector<Tensor> pack_arguments(const Workload& workload, const Config& config, const KernelSource& kernel,
                                   const Values& values) {
  const KernelFamily& family = family_of(config);
  std::vector<Tensor> packed(kernel.arguments.size());
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    if (argument.role != KernelArgument::Role::constant && argument.role != KernelArgument::Role::scalar) continue;
    packed[i] = family.pack(workload, config, argument.name, values);
  }
  return packed;
}

}  // namespace warpwright
