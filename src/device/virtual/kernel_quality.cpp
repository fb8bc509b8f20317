// Counts of a profile and of folded PTX that say whether a kernel is a good one.
#include "src/device/virtual/kernel_quality.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/error.h"
#include "src/device/virtual/folding.h"
#include "src/device/virtual/folding_loops.h"

namespace warpwright {
namespace {

void add(const GlobalRequests& from, GlobalRequests& to) {
  to.count += from.count;
  to.narrow += from.narrow;
  to.partial += from.partial;
  to.sectors += from.sectors;
}

MainLoop count(const ptx::Kernel& kernel, const Loop& loop, const std::vector<IssueCost>& costs) {
  MainLoop counted;
  for (size_t b = 0; b < kernel.blocks.size(); ++b) {
    if (!loop.contains[b]) continue;
    for (int i = kernel.blocks[b].first; i < kernel.blocks[b].last; ++i) {
      const ptx::Opcode opcode = kernel.instructions[i].opcode;
      const bool is_product = opcode == ptx::Opcode::mma || opcode == ptx::Opcode::fma;
      counted.products += is_product ? 1 : 0;
      counted.others += costs[i].all() - (is_product ? 1 : 0);
    }
  }
  return counted;
}

}  // namespace

std::optional<MainLoop> main_loop(const std::string& ptx, const std::string& entry) {
  const ptx::Module module = ptx::parse(ptx);
  const auto kernel = std::ranges::find(module.kernels, entry, &ptx::Kernel::name);
  if (kernel == module.kernels.end()) throw UsageError(fmt::format("there is no kernel '{}' in the PTX", entry));
  const std::vector<IssueCost> costs = fold(*kernel);
  for (const Loop& loop : loops(*kernel)) {
    const MainLoop counted = count(*kernel, loop, costs);
    if (counted.products > 0) return counted;
  }
  return std::nullopt;
}

KernelQuality quality(const CompiledKernel& kernel, const LaunchProfile& profile) {
  KernelQuality out;
  for (const CtaProfile& cta : profile.sampled) {
    out.matrix_conflicts += cta.matrix_conflicts;
    out.copy_conflicts += cta.copy_conflicts;
    out.other_conflicts +=
        cta.shared_wavefronts - cta.shared_wavefronts_ideal - cta.matrix_conflicts - cta.copy_conflicts;
    add(cta.loads, out.loads);
    add(cta.stores, out.stores);
    add(cta.copies, out.copies);
  }
  out.spill_bytes = kernel.spill_store_bytes + kernel.spill_load_bytes;
  out.main_loop = main_loop(kernel.ptx, kernel.entry);
  return out;
}

}  // namespace warpwright
