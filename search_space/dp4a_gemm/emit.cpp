// CUDA C++ of one dp4a_gemm kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/dp4a_gemm/plan.h"
#include "search_space/dp4a_gemm/text.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::dp4a_gemm {

namespace {

constexpr char kEntry[] = "dp4a_gemm";

/// Furthest byte offset between two taps of a window.
int64_t tap_span(const Workload& workload) {
  const TensorForm& x = workload.inputs[0];
  const Window& window = workload.window;
  const int64_t pixels = (window.kernel_h - 1) * window.dilation_h * x.w + (window.kernel_w - 1) * window.dilation_w;
  return (pixels + 1) * x.pixel_stride;
}

std::string shape_constants(const Workload& workload, const Plan& plan) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  SourceConstants constants;
  constants.add("H", x.h).add("W", x.w).add("P", y.h).add("Q", y.w);
  constants.add("Rows", plan.shape.rows).add("Columns", plan.shape.columns);
  constants.add("StoredColumns", plan.shape.stored_columns).add("Groups", plan.shape.groups);
  constants.add("GroupChannels", plan.shape.group_channels).add("LaneChannels", plan.lane_channels);
  constants.add("KernelH", window.kernel_h).add("KernelW", window.kernel_w).add("Taps", plan.shape.taps);
  constants.add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left);
  constants.add("MayLeaveImage", plan.shape.may_leave_image ? 1 : 0);
  constants.add("XStride", x.pixel_stride).add("XOffset", x.channel_offset);
  constants.add("OtherPads", plan.shape.tiles_write_pads ? 0 : pad_lanes(workload));
  return constants.text();
}

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("Threads", plan.threads).add("ThreadM", plan.thread_m).add("ThreadN", plan.thread_n);
  constants.add("LanesM", plan.lanes_m).add("LanesN", plan.lanes_n).add("LanesK", plan.lanes_k);
  constants.add("WarpsM", plan.warps_m).add("WarpsN", plan.warps_n);
  constants.add("ThreadsM", plan.threads_m).add("ThreadsN", plan.threads_n).add("Slices", plan.slices);
  constants.add("TileM", plan.tile_m).add("TileN", plan.tile_n).add("TileK", plan.tile_k);
  constants.add("MTiles", plan.m_tiles).add("NTiles", plan.n_tiles).add("KTiles", plan.k_tiles);
  constants.add("Reduction", plan.reduction).add("Chunks", plan.chunks).add("Stages", plan.stages);
  constants.add("Vector", plan.word_vector).add("VectorWords", plan.word_vector / 4);
  constants.add("Gather", plan.vector == 1 ? 1 : 0);
  constants.add("RowVectors", plan.tile_k / plan.word_vector);
  constants.add("RowStep", plan.threads / (plan.tile_k / plan.word_vector));
  constants.add("XLoads", plan.x_loads).add("WeightLoads", plan.weight_loads);
  constants.add("WeightVectors", plan.tile_n * plan.tile_k / kChunkBytes).add("RowChunks", plan.tile_k / kChunkBytes);
  constants.add("RowBytes", plan.row_bytes).add("XTileBytes", plan.x_tile_bytes);
  constants.add("StageBytes", plan.x_tile_bytes + plan.weight_tile_bytes);
  constants.add("ReduceStride", plan.reduce_stride);
  return constants.text();
}

std::string tile_order(const Plan& plan) {
  std::string text = "  const unsigned tile = blockIdx.x;\n";
  const char* inner = plan.columns_first ? "kNTiles" : "kMTiles";
  const char* outer = plan.columns_first ? "kMTiles" : "kNTiles";
  text += fmt::format("  const int {} = tile % {};\n", plan.columns_first ? "n_tile" : "m_tile", inner);
  text += fmt::format("  const int {} = tile / {} % {};\n", plan.columns_first ? "m_tile" : "n_tile", inner, outer);
  return text + "  const int group = tile / (kMTiles * kNTiles);\n";
}

std::string switches(const Workload& workload, const Plan& plan) {
  auto flag = [](const char* name, bool value) {
    return fmt::format("constexpr bool k{} = {};\n", name, value ? "true" : "false");
  };
  const bool zero_point = workload.weight_zero_point != ZeroPointForm::zero;
  return flag("DirectWeights", plan.direct_weights) + flag("WeightZeroPoint", zero_point) +
         (tap_span(workload) > std::numeric_limits<int32_t>::max() ? "typedef long long TapOffset;\n"
                                                                   : "typedef int TapOffset;\n");
}

std::string zero_point_source(const Workload& workload) {
  switch (workload.weight_zero_point) {
    case ZeroPointForm::zero:
      return "";
    case ZeroPointForm::scalar:
      return "#pragma unroll\n  for (int i = 0; i < kThreadM; ++i) {\n#pragma unroll\n"
             "    for (int j = 0; j < kThreadN; ++j) sums[i][j] -= weight_zero_point * x_sums[i];\n  }\n";
    case ZeroPointForm::per_channel:
      return "#pragma unroll\n  for (int j = 0; j < kThreadN; ++j) {\n"
             "    const int zero_point = weight_zero_point[packed_column + j];\n#pragma unroll\n"
             "    for (int i = 0; i < kThreadM; ++i) sums[i][j] -= zero_point * x_sums[i];\n  }\n";
  }
  throw InternalError("unknown form of a zero point");
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
  text += switches(workload, plan);
  text += dot_source(workload.inputs[0].dtype, workload.weight_dtype);
  text += guarded_load_source();
  text += vector_access_source();
  text += requantizer_source(workload);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads,
                           resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target));
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch);
  text += tile_order(plan) + fill_source(workload) + requantizer_of_arguments(workload);
  text += kPlacesText;
  text += plan.shape.taps <= 32 ? kMaskText : kCoordinatesText;
  text += kLoadTileText;
  text += plan.shape.taps <= 32 ? kValidByMaskText : kValidByCoordinatesText;
  text += kLoadTileTailText;
  text += kStoreTileText;
  text += fmt::format(fmt::runtime(kMultiplyText), plan.unroll);
  text += plan.stages == 1 ? kSingleStageText : kDoubleStageText;
  text += zero_point_source(workload);
  text += finish_source(workload);
  text += plan.staged_epilogue ? kStagedEpilogueText : kDirectEpilogueText;
  if (pad_lanes(workload) > 0 && !plan.shape.tiles_write_pads) text += kOtherPadsText;
  text += "}\n";
  return kernel;
}

}  // namespace warpwright::dp4a_gemm
