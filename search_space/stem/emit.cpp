// CUDA C++ of one stem kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"
#include "search_space/stem/plan.h"
#include "search_space/stem/text.h"

namespace warpwright::stem {

namespace {

constexpr char kEntry[] = "stem";

std::string constants_source(const Workload& workload, const Plan& plan) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  SourceConstants constants;
  constants.add("H", x.h).add("W", x.w).add("P", y.h).add("Q", y.w);
  constants.add("KernelH", window.kernel_h).add("KernelW", window.kernel_w);
  constants.add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left);
  constants.add("WeightZeroPoint", workload.weight_zero_point != ZeroPointForm::zero ? 1 : 0);
  constants.add("CoveredLanes", plan.covered_lanes);
  constants.add("Threads", plan.threads).add("Channels", plan.channels).add("RunW", plan.run_w);
  constants.add("BlockC", plan.block_c).add("BlockW", plan.block_w).add("BlockH", plan.block_h);
  constants.add("CBlocks", plan.c_blocks).add("WBlocks", plan.w_blocks).add("HBlocks", plan.h_blocks);
  constants.add("TileChannels", plan.tile_channels).add("InCols", plan.in_cols).add("WordVector", plan.word_vector);
  constants.add("TileRows", plan.tile_rows).add("TileCols", plan.tile_cols);
  constants.add("TileBytes", plan.tile_bytes).add("WeightBytes", plan.weight_bytes);
  return constants.text() + output_constants(workload, plan.store_lanes);
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
  text = "// " + workload.summary() + "\n" + constants_source(workload, plan);
  text += dot_source(workload.inputs[0].dtype, workload.weight_dtype);
  text += guarded_load_source();
  text += vector_access_source();
  text += requantizer_source(workload);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads,
                           resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target));
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch);
  text += fill_source(workload) + requantizer_of_arguments(workload);
  text += kPlacesText;
  text += kCopyTileText;
  if (!plan.direct_weights) text += kCopyWeightsText;
  text += "  __syncthreads();\n";
  text += plan.direct_weights ? kDirectWeightsText : kSharedWeightsText;
  text += fmt::format(fmt::runtime(kRowLoopText), plan.unrolled ? workload.window.kernel_h : 1);
  text += finish_source(workload) + zero_points_source(workload);
  text += kEpilogueText;
  text += "}\n";
  return kernel;
}

}  // namespace warpwright::stem
