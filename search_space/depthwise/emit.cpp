// CUDA C++ of one depthwise kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include "search_space/depthwise/plan.h"
#include "search_space/depthwise/text.h"
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
  return constants.text();
}

std::string plan_constants(const Workload& workload, const Plan& plan) {
  SourceConstants constants;
  constants.add("Threads", plan.threads).add("Channels", plan.channels).add("Words", plan.channels / 4);
  constants.add("RunW", plan.run_w).add("RunH", plan.run_h);
  constants.add("BlockC", plan.block_c).add("BlockW", plan.block_w).add("BlockH", plan.block_h);
  constants.add("CBlocks", plan.c_blocks).add("WBlocks", plan.w_blocks).add("HBlocks", plan.h_blocks);
  constants.add("TileChannels", plan.tile_channels).add("TileCols", plan.tile_cols).add("TileRows", plan.tile_rows);
  constants.add("InCols", plan.in_cols).add("InRows", plan.in_rows).add("CopyVector", plan.copy_vector);
  constants.add("Multiplier", plan.multiplier).add("Part", plan.part).add("WeightVectors", plan.weight_vectors);
  constants.add("Group", plan.transposed ? plan.group : 1).add("Quads", plan.quads);
  constants.add("CoveredLanes", plan.covered_lanes);
  constants.add("WeightZeroPoint", workload.weight_zero_point != ZeroPointForm::zero ? 1 : 0);
  return constants.text();
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
  text = "// " + workload.summary() + "\n" + shape_constants(workload, plan) + plan_constants(workload, plan);
  text += output_constants(workload, plan.store_lanes);
  text += dot_source(workload.inputs[0].dtype, workload.weight_dtype);
  text += guarded_load_source();
  text += vector_access_source();
  text += requantizer_source(workload);
  text += kHelpersText;
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads,
                           resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target));
  if (plan.shared_tile) text += shared_memory_declaration(plan.smem_bytes, kernel.launch);
  text += fill_source(workload);
  text += requantizer_of_arguments(workload);
  text += kPlacesText;
  if (plan.shared_tile) text += kCopyTileText;
  text += plan.shared_tile ? kSharedSourceText : kGlobalSourceText;
  text += plan.transposed ? kTransposedTapsText : kMaskedTapsText;
  const int64_t steps = plan.run_h == 1 ? workload.window.kernel_h : plan.in_rows;
  text +=
      fmt::format(fmt::runtime(kRowLoopText), plan.unrolled ? steps : 1, plan.transposed ? "transpose_row(words);" : "",
                  plan.transposed ? "multiply_quads(" : "multiply_row(words, ");
  text += finish_source(workload) + zero_points_source(workload);
  text += plan.part == plan.multiplier ? kEpilogueText : kPartEpilogueText;
  if (other_pads(workload, plan) > 0) text += kOtherPadsText;
  text += "}\n";
  return kernel;
}

}  // namespace warpwright::depthwise
