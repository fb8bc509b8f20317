// CUDA C++ of one dp4a_gemv kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include "search_space/arithmetic.h"
#include "search_space/dp4a_gemv/plan.h"
#include "search_space/dp4a_gemv/text.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::dp4a_gemv {

namespace {

constexpr char kEntry[] = "dp4a_gemv";

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("ThreadM", plan.thread_m).add("ThreadN", plan.thread_n).add("WeightVectors", plan.thread_n);
  constants.add("LanesK", plan.lanes_k).add("LanesN", plan.lanes_n);
  constants.add("WarpsK", plan.warps_k).add("WarpsN", plan.warps_n);
  constants.add("Depth", plan.depth).add("Steps", plan.steps);
  constants.add("StepBytes", plan.slices * few_rows::kVectorBytes).add("WarpBytes", plan.warp_weight_bytes);
  constants.add("Values", power_of_two_above(plan.thread_m * plan.thread_n));
  constants.add("DirectX", plan.direct_x ? 1 : 0);
  return constants.text();
}

std::string zero_point_source(const Workload& workload) {
  switch (workload.weight_zero_point) {
    case ZeroPointForm::zero:
      return "";
    case ZeroPointForm::scalar:
      return "#pragma unroll\n  for (int i = 0; i < kThreadM * kThreadN; ++i) "
             "sums[i] -= weight_zero_point * x_sums[i / kThreadN];\n";
    case ZeroPointForm::per_channel:
      return "#pragma unroll\n  for (int j = 0; j < kThreadN; ++j) {\n"
             "    const int zero_point = weight_zero_point[n_tile * kTileN + thread_column + j];\n#pragma unroll\n"
             "    for (int i = 0; i < kThreadM; ++i) sums[i * kThreadN + j] -= zero_point * x_sums[i];\n  }\n";
  }
  throw InternalError("unknown form of a zero point");
}

}  // namespace

KernelSource emit_kernel(const Workload& workload, const Config& config, const Target&) {
  const Plan plan(workload, config);
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = product_arguments(workload);
  kernel.launch.grid = {static_cast<uint32_t>(plan.ctas), 1, 1};
  kernel.launch.block = {static_cast<uint32_t>(plan.cut.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + few_rows::constants(workload, plan.shape, plan.cut);
  text += plan_constants(plan) + few_rows::switches(workload, plan.steps * plan.warps_k * plan.warp_weight_bytes);
  text += dot_source(workload.inputs[0].dtype, workload.weight_dtype);
  text += guarded_load_source();
  text += vector_access_source();
  text += kFoldLanesText;
  text += requantizer_source(workload);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.cut.threads, plan.ctas_per_sm);
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch);
  text += few_rows::kTilesText;
  text += fill_source(workload) + requantizer_of_arguments(workload);
  text += kPlacesText;
  text += few_rows::kLoadWeightsText;
  text += "  int4 held[kDepth][kThreadN] = {};\n  load_weights(held, 0);\n";
  if (plan.direct_x) {
    text += kDirectXText;
  } else {
    text += few_rows::kRowVectorText;
    text += few_rows::kStageRowsText;
    text += "  stage_rows(smem, 0);\n  __syncthreads();\n";
    text += kSharedXText;
  }
  text += kMultiplyText;
  text += plan.prefetch ? kPrefetchLoopText : kLoopText;
  text += zero_point_source(workload);
  text += kPartsText;
  text += finish_source(workload);
  text += few_rows::kSumOfPartsText;
  text += few_rows::kFinishPartsText;
  text += "}\n";
  return kernel;
}

}  // namespace warpwright::dp4a_gemv
