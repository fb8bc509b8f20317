// CUDA C++ of one mma_stem kernel: constants of the plan in front of a fixed text.
#include "search_space/mma/instructions.h"
#include "search_space/mma_stem/plan.h"
#include "search_space/mma_stem/text.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"

namespace warpwright::mma_stem {

namespace {

constexpr char kEntry[] = "mma_stem";

std::string shape_constants(const Workload& workload, const Plan& plan) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  SourceConstants constants;
  constants.add("H", x.h).add("W", x.w).add("P", y.h).add("Q", y.w);
  constants.add("KernelH", window.kernel_h);
  constants.add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left);
  constants.add("NeedsFill", needs_fill(workload) ? 1 : 0);
  constants.add("WeightZeroPoint", workload.weight_zero_point != ZeroPointForm::zero ? 1 : 0);
  constants.add("CoveredLanes", plan.covered_lanes);
  return constants.text();
}

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("Threads", plan.threads).add("WarpsM", plan.warps_m).add("WarpsN", plan.warps_n);
  constants.add("WarpN", plan.warp_n).add("RowTiles", plan.warp_m / 16).add("ColumnTiles", plan.column_tiles());
  constants.add("TileH", plan.tile_h).add("TileW", plan.tile_w).add("TileN", plan.tile_n);
  constants.add("RowUnits", plan.tile_w / 8).add("Passes", plan.passes).add("Run", plan.run);
  constants.add("CBlocks", plan.c_blocks).add("WBlocks", plan.w_blocks).add("HBlocks", plan.h_blocks);
  constants.add("Tiles", plan.tiles).add("AllTiles", plan.all_tiles);
  constants.add("FlatTaps", plan.flat_taps ? 1 : 0).add("RowTaps", plan.row_taps);
  constants.add("RowGroups", plan.row_taps / kGroupTaps).add("Groups", plan.groups).add("Steps", plan.steps);
  constants.add("Vector", plan.vector).add("Lead", plan.lead).add("Pitch", plan.pitch);
  constants.add("RowVectors", plan.row_vectors).add("PatchVectors", plan.patch_vectors);
  constants.add("PatchLoads", plan.patch_loads).add("PatchBytes", plan.patch_bytes);
  constants.add("WeightBytes", plan.weight_bytes).add("SmemWeightsAt", plan.smem_weights_at);
  return constants.text();
}

/// What copies input and weights, up to the loop over tiles.
std::string copies_source(const Plan& plan) {
  std::string text = kPatchPlacesText;
  text += plan.async ? kAsyncPatchText : kHeldPatchText;
  text += "  begin_patch(first_tile, 0);\n";
  if (plan.weights_in == WeightsIn::shared) text += plan.async ? kAsyncWeightsText : kCopyWeightsText;
  text += "  end_patch(0);\n";
  text += plan.weights_in == WeightsIn::shared ? kSharedWeightsText : kGlobalWeightsText;
  text += kReadWeightsText;
  return text + (plan.weights_in == WeightsIn::registers ? kHeldWeightsText : "  const auto& load_b = read_b;\n");
}

}  // namespace

KernelSource emit_kernel(const Workload& workload, const Config& config, const Target&) {
  const Plan plan(workload, config);
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = product_arguments(workload);
  kernel.launch.grid = {static_cast<uint32_t>(plan.ctas), 1, 1};
  kernel.launch.block = {static_cast<uint32_t>(plan.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + shape_constants(workload, plan) + plan_constants(plan);
  text += output_constants(workload, plan.store_lanes);
  text += mma::multiply_source(plan.instruction, workload.inputs[0].dtype, workload.weight_dtype);
  if (plan.async) {
    text += mma::load_matrices_source();
    text += mma::copy_async_source();
  }
  text += guarded_load_source();
  text += vector_access_source();
  text += requantizer_source(workload);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads, plan.ctas_per_sm);
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch);
  text += fill_source(workload) + requantizer_of_arguments(workload);
  text += kPlacesText;
  text += copies_source(plan);
  text += kTapsText;
  text += kMultiplyText;
  text += finish_source(workload) + zero_points_source(workload);
  text += kStoreText;
  text += kTilesText;
  text += "}\n";
  return kernel;
}

}  // namespace warpwright::mma_stem
