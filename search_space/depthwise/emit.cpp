// CUDA C++ of one depthwise kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include "search_space/depthwise/plan.h"
#include "search_space/depthwise/text.h"
#include "search_space/mma/instructions.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"

namespace warpwright::depthwise {

namespace {

constexpr char kEntry[] = "depthwise";

int64_t other_pads(const Workload& workload, const Plan& plan) {
  return pad_lanes(workload) > 0 ? workload.output.pixel_stride - plan.covered_lanes : 0;
}

std::string shape_constants(const Workload& workload, const Plan& plan) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  SourceConstants constants;
  constants.add("H", x.h).add("W", x.w).add("C", x.c).add("P", y.h).add("Q", y.w).add("Images", y.n);
  constants.add("KernelH", window.kernel_h).add("KernelW", window.kernel_w);
  constants.add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left);
  constants.add("XStride", x.pixel_stride).add("XOffset", x.channel_offset);
  constants.add("OtherPads", other_pads(workload, plan));
  constants.add("HasBias", has_bias_argument(workload) ? 1 : 0);
  constants.add("HasMultiplier", gives_accumulators(workload) ? 0 : 1);
  constants.add("WeightZeroPoint", workload.weight_zero_point != ZeroPointForm::zero ? 1 : 0);
  return constants.text();
}

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("Threads", plan.threads).add("Channels", plan.channels).add("Words", plan.channels / 4);
  constants.add("RunW", plan.run_w).add("RunH", plan.run_h);
  constants.add("BlockC", plan.block_c).add("BlockW", plan.block_w).add("BlockH", plan.block_h);
  constants.add("ThreadWStep", plan.rows_first ? plan.block_c * plan.block_h : plan.block_c);
  constants.add("ThreadHStep", plan.rows_first ? plan.block_c : plan.block_c * plan.block_w);
  constants.add("CBlocks", plan.c_blocks).add("WBlocks", plan.w_blocks).add("HBlocks", plan.h_blocks);
  const int64_t pixel_blocks = plan.ctas / plan.parts / plan.c_blocks, w_step = plan.channels_last ? 1 : plan.c_blocks;
  constants.add("CBlockStep", plan.channels_last ? pixel_blocks : 1).add("WBlockStep", w_step);
  constants.add("HBlockStep", w_step * plan.w_blocks).add("ImageStep", w_step * plan.w_blocks * plan.h_blocks);
  constants.add("TileChannels", plan.tile_channels).add("TileCols", plan.tile_cols).add("TileRows", plan.tile_rows);
  constants.add("StepW", plan.step_w).add("StepH", plan.step_h);
  constants.add("PhasePitch", plan.phase_pitch).add("RowPitch", plan.row_pitch).add("CopyVector", plan.copy_vector);
  constants.add("InCols", plan.in_cols).add("InRows", plan.in_rows);
  constants.add("Multiplier", plan.multiplier).add("Part", plan.part).add("Lanes", plan.channels * plan.part);
  constants.add("Group", plan.group).add("Groups", plan.groups).add("Quads", plan.quads);
  constants.add("RowVectors", plan.row_vectors).add("PaddedChannels", plan.padded_channels);
  constants.add("UsedChannels", plan.vectors * plan.channels).add("CoveredLanes", plan.covered_lanes);
  constants.add("ConstantsKept", plan.constants_kept ? 1 : 0);
  return constants.text();
}

/// The CTA's tile in shared memory.
std::string staging_source(const Plan& plan, LaunchShape& launch) {
  if (plan.staging == Staging::none) return "";
  return shared_memory_declaration(plan.smem_bytes, launch) + kCopyTileText +
         (plan.staging == Staging::copies ? kCopyAsyncText : kLoadTileText);
}

std::string rows_source(const Workload& workload, const Plan& plan) {
  if (plan.rows_kept()) return kRowsKeptText;
  if (plan.filter_rows_first()) return kFilterRowsFirstText;
  if (plan.run_h > 1) return kSumsKeptText;
  return fmt::format(fmt::runtime(kFilterRowsText), plan.is_unrolled() ? workload.window.kernel_h : 1);
}

}  // namespace

KernelSource emit_kernel(const Workload& workload, const Config& config, const Target& target) {
  const Plan plan(workload, config);
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = product_arguments(workload);
  kernel.launch.grid = {static_cast<uint32_t>(plan.ctas), 1, 1};
  kernel.launch.block = {static_cast<uint32_t>(plan.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + shape_constants(workload, plan) + plan_constants(plan);
  text += output_constants(workload, plan.store_lanes);
  text += dot_source(workload.inputs[0].dtype, workload.weight_dtype);
  text += guarded_load_source();
  text += vector_access_source();
  text += requantizer_source(workload);
  if (plan.staging == Staging::copies) {
    text += mma::load_matrices_source();
    text += mma::copy_async_source();
  }
  text += plan.transposed ? kTransposedFormsText : kMaskedFormsText;
  text += kHelpersText;
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads, plan.ctas_per_sm(target));
  text += fill_source(workload);
  text += requantizer_of_arguments(workload);
  text += finish_source(workload) + zero_points_source(workload);
  text += kPlacesText;
  text +=
      fmt::format("  const int* const bias_at = {};\n", has_bias_argument(workload) ? "bias + position" : "nullptr");
  text += fmt::format("  const float* const multiplier_at = {};\n",
                      gives_accumulators(workload) ? "nullptr" : "multiplier + position");
  if (other_pads(workload, plan) > 0) text += kOtherPadsText;
  text += staging_source(plan, kernel.launch);
  text += kIdleThreadsText;
  text += plan.staging == Staging::none ? kGlobalSourceText : kSharedSourceText;
  text += plan.transposed ? kTransposedTapsText : kMaskedTapsText;
  text += plan.constants_kept ? kKeptConstantsText : kReadConstantsText;
  text += kEndRowText;
  text += rows_source(workload, plan);
  text += "}\n";
  return kernel;
}

}  // namespace warpwright::depthwise
