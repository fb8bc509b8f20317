// CUDA C++ of one mma_swapped kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include "search_space/mma/instructions.h"
#include "search_space/mma/split_sums.h"
#include "search_space/mma_swapped/plan.h"
#include "search_space/mma_swapped/text.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::mma_swapped {

namespace {

constexpr char kEntry[] = "mma_swapped";

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("WarpTiles", plan.warp_tiles)
      .add("Halves", 2 * plan.warp_tiles)
      .add("WeightVectors", 2 * plan.warp_tiles)
      .add("RowTiles", plan.row_tiles);
  constants.add("WarpsK", plan.warps_k).add("WarpsN", plan.warps_n).add("Warps", plan.warps_k * plan.warps_n);
  constants.add("Splits", plan.splits).add("SplitBytes", plan.steps * plan.warps_k * kStepBytes);
  constants.add("Depth", plan.depth).add("Steps", plan.steps).add("StepBytes", plan.warps_k * kStepBytes);
  constants.add("WarpBytes", plan.warp_weight_bytes).add("RingBytes", plan.ring_bytes);
  constants.add("DirectX", plan.direct_x ? 1 : 0);
  return constants.text();
}

std::string zero_point_source(const Workload& workload) {
  const char* zero_point = nullptr;
  switch (workload.weight_zero_point) {
    case ZeroPointForm::zero:
      return "";
    case ZeroPointForm::scalar:
      zero_point = "weight_zero_point";
      break;
    case ZeroPointForm::per_channel:
      zero_point = "weight_zero_point[n_tile * kTileN + (warp_n * kHalves + half) * 8 + lane / 4]";
      break;
  }
  return fmt::format(R"(
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {{
    const int zero_point = {};
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {{
      sums[half / 2][r][half % 2 * 2] -= zero_point * x_sums[r][0];
      sums[half / 2][r][half % 2 * 2 + 1] -= zero_point * x_sums[r][1];
    }}
  }}
)",
                     zero_point);
}

std::string functions(const Workload& workload, const Plan& plan) {
  std::string text = mma::multiply_source(plan.instruction, workload.weight_dtype, workload.inputs[0].dtype);
  if (plan.pipeline == Pipeline::copy_async) text += mma::copy_async_source();
  text += guarded_load_source();
  text += vector_access_source();
  if (plan.splits > 1) text += mma::split_sums_source();
  return text + requantizer_source(workload);
}

std::string loop_source(const Plan& plan) {
  std::string text;
  const bool copies = plan.pipeline == Pipeline::copy_async;
  if (copies) {
    text += kCopyText;
  } else {
    text += few_rows::kLoadWeightsText;
    text += "  int4 held[kDepth][kHalves] = {};\n  load_weights(held, 0);\n";
  }
  if (plan.direct_x) {
    text += kDirectXText;
  } else {
    text += few_rows::kRowVectorText;
    text += few_rows::kStageRowsText;
    text += "  stage_rows(smem + kRingBytes, split_k);\n  __syncthreads();\n";
    text += kSharedXText;
  }
  text += kMultiplyText;
  return text + (copies ? kCopyLoopText : plan.pipeline == Pipeline::prefetch ? kPrefetchLoopText : kLoopText);
}

}  // namespace

KernelSource emit_kernel(const Workload& workload, const Config& config, const Target&) {
  using Role = KernelArgument::Role;
  const Plan plan(workload, config);
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = product_arguments(workload);
  if (plan.splits > 1) {
    kernel.arguments.push_back({Role::workspace, 0, "", DType::s32, plan.workspace_bytes()});
    kernel.arguments.push_back({Role::counters, 0, "", DType::s32, plan.tiles * 4});
  }
  kernel.launch.grid = {static_cast<uint32_t>(plan.tiles), 1, static_cast<uint32_t>(plan.splits)};
  kernel.launch.block = {static_cast<uint32_t>(plan.cut.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + few_rows::constants(workload, plan.shape, plan.cut);
  text += plan_constants(plan) + few_rows::switches(workload, plan.steps * plan.warps_k * plan.warp_weight_bytes);
  text += functions(workload, plan);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.cut.threads, plan.ctas_per_sm);
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch);
  text += few_rows::kTilesText;
  text += fill_source(workload) + requantizer_of_arguments(workload);
  text += kPlacesText;
  text += loop_source(plan);
  text += zero_point_source(workload);
  text += kPartsText;
  text += finish_source(workload);
  text += few_rows::kSumOfPartsText;
  text += plan.splits > 1 ? kFinishSplitsText : few_rows::kFinishPartsText;
  text += "}\n";
  return kernel;
}

}  // namespace warpwright::mma_swapped
