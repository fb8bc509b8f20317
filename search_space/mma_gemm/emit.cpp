// CUDA C++ of one mma_gemm kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma/split_sums.h"
#include "search_space/mma/warp_tile.h"
#include "search_space/mma_gemm/plan.h"
#include "search_space/mma_gemm/text.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"

namespace warpwright::mma_gemm {

namespace {

constexpr char kEntry[] = "mma_gemm";

/// Furthest byte offset between two taps of a window, and what a CTA goes along the channels.
int64_t tap_span(const Workload& workload) {
  const TensorForm& x = workload.inputs[0];
  const Window& window = workload.window;
  const int64_t pixels = (window.kernel_h - 1) * window.dilation_h * x.w + (window.kernel_w - 1) * window.dilation_w;
  return (pixels + 1) * x.pixel_stride;
}

/// A bit mask tells which taps lie inside the image; else their coordinates do.
bool has_masks(const Plan& plan) { return plan.shape.may_leave_image && plan.shape.taps <= 32; }
bool has_coordinates(const Plan& plan) { return plan.shape.may_leave_image && plan.shape.taps > 32; }

std::string shape_constants(const Workload& workload, const Plan& plan) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  const Shape& shape = plan.shape;
  SourceConstants constants;
  constants.add("H", x.h).add("W", x.w).add("P", y.h).add("Q", y.w);
  constants.add("Rows", shape.rows).add("Columns", shape.columns).add("StoredColumns", shape.stored_columns);
  constants.add("GroupChannels", shape.group_channels).add("LaneChannels", shape.lane_channels);
  constants.add("KernelH", window.kernel_h).add("KernelW", window.kernel_w).add("Taps", shape.taps);
  constants.add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left);
  constants.add("XStride", x.pixel_stride).add("XOffset", x.channel_offset).add("Vector", shape.vector);
  constants.add("Reduction", shape.reduction);
  constants.add("OtherPads", shape.tiles_write_pads ? 0 : pad_lanes(workload));
  constants.add("RowSums", shape.has_row_sums ? 1 : 0);
  return constants.text();
}

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("Threads", plan.threads).add("WarpM", plan.warp_m).add("WarpN", plan.warp_n);
  constants.add("WarpsM", plan.warps_m).add("WarpsN", plan.warps_n).add("Slices", plan.warps_k);
  constants.add("TileM", plan.tile_m).add("TileN", plan.tile_n).add("TileK", plan.tile_k);
  constants.add("MTiles", plan.m_tiles).add("NTiles", plan.n_tiles).add("KTiles", plan.k_tiles);
  constants.add("Splits", plan.split_k).add("SplitTiles", plan.split_tiles).add("Steps", plan.steps);
  constants.add("Stages", plan.stages).add("StageBytes", plan.stage_bytes).add("XTileBytes", plan.x_tile_bytes);
  constants.add("RowVectors", plan.tile_k / plan.shape.vector).add("RowStep", plan.row_step);
  constants.add("XLoads", plan.x_loads).add("WeightLoads", plan.weight_loads);
  constants.add("WeightChunks", plan.tile_n * plan.tile_k / kChunkBytes);
  constants.add("WholeTaps", plan.whole_taps() ? 1 : 0).add("TapsInner", plan.taps_inner);
  constants.add("FragmentBuffers", plan.fragment_buffers).add("Run", plan.run);
  if (plan.staged_epilogue != 0) constants.add("StagedStride", plan.staged_stride);
  return constants.text();
}

/// m_tile and n_tile of blockIdx.x: bands of raster_group tiles along the outer axis, the inner axis within a band.
std::string tile_order(const Plan& plan) {
  const char* const inner = plan.columns_first != 0 ? "n_tile" : "m_tile";
  const char* const outer = plan.columns_first != 0 ? "m_tile" : "n_tile";
  const int64_t inner_tiles = plan.columns_first != 0 ? plan.n_tiles : plan.m_tiles;
  const int64_t outer_tiles = plan.columns_first != 0 ? plan.m_tiles : plan.n_tiles;
  if (plan.raster_group == 1) {
    return fmt::format("  const int {} = blockIdx.x % {}u, {} = blockIdx.x / {}u;\n", inner, inner_tiles, outer,
                       inner_tiles);
  }
  const int64_t band = plan.raster_group * inner_tiles, rest = outer_tiles % plan.raster_group;
  std::string text = fmt::format("  const unsigned band = blockIdx.x / {}u, in_band = blockIdx.x % {}u;\n", band, band);
  const std::string width =
      rest == 0 ? fmt::format("{}u", plan.raster_group)
                : fmt::format("(band == {}u ? {}u : {}u)", outer_tiles / plan.raster_group, rest, plan.raster_group);
  return text + fmt::format("  const int {} = in_band / {}, {} = band * {}u + in_band % {};\n", inner, width, outer,
                            plan.raster_group, width);
}

/// Statements that give `offset`, from a row's address to its bytes in this K tile, and what tells validity.
std::string place_in_k(const Plan& plan) {
  std::string text;
  if (plan.whole_taps() && plan.shape.taps == 1) {
    text = "    const TapOffset offset = static_cast<TapOffset>(k_tile) * kTileK;\n";
    if (has_masks(plan)) text += "    constexpr unsigned tap = 0;\n";
  } else {
    if (!plan.whole_taps()) {
      text =
          "    const unsigned k = k_tile * kTileK + copy_column, tap = k / kLaneChannels, c = k - tap * "
          "kLaneChannels;\n";
    } else if (plan.taps_inner != 0) {
      text = "    const unsigned tap = k_tile % kTaps, c = k_tile / kTaps * kTileK;\n";
    } else {
      text =
          "    constexpr unsigned kTapTiles = kLaneChannels / kTileK;\n"
          "    const unsigned tap = k_tile / kTapTiles, c = k_tile % kTapTiles * kTileK;\n";
    }
    text +=
        "    const unsigned r = tap / kKernelW, s = tap - r * kKernelW;\n"
        "    const TapOffset offset = (static_cast<TapOffset>(r) * (kDilationH * kW) + s * kDilationW) * kXStride + "
        "c;\n";
  }
  if (plan.has_tail()) text += "    const unsigned within = k < kReduction;\n";
  if (has_masks(plan)) {
    text +=
        plan.has_tail() ? "    const unsigned bit = within << (tap & 31);\n" : "    const unsigned bit = 1u << tap;\n";
  }
  return text;
}

/// Empty where every position is valid.
std::string validity(const Plan& plan) {
  if (has_masks(plan)) return "row_taps[i] & bit";
  if (!has_coordinates(plan)) return plan.has_tail() ? "within" : "";
  const std::string inside =
      "(static_cast<unsigned>(row_h[i] + r * kDilationH) < kH) & "
      "(static_cast<unsigned>(row_w[i] + s * kDilationW) < kW)";
  return plan.has_tail() ? "within & " + inside : inside;
}

std::string rows(const Plan& plan) {
  std::string text;
  if (has_masks(plan)) text += "  unsigned row_taps[kXLoads];\n";
  if (has_coordinates(plan)) text += "  int row_h[kXLoads], row_w[kXLoads];\n";
  text += kRowsText;
  if (has_masks(plan)) text += tap_masks_source("row_taps");
  if (has_coordinates(plan)) text += kRowCoordinatesText;
  return text + "  }\n";
}

std::string copies(const Plan& plan) {
  const std::string valid = validity(plan);
  constexpr char kFrom[] = "row_at[i] + static_cast<long long>(offset)";
  if (plan.async == 0) {
    return fmt::format(fmt::runtime(kHeldCopiesText), place_in_k(plan),
                       fmt::format("load_words(x_held[i], {}, {});", kFrom, valid.empty() ? "1" : valid));
  }
  std::string copy = fmt::format("copy_async<kVector>(to, {});", kFrom);
  if (!valid.empty()) {
    copy = plan.shape.fills ? fmt::format("copy_or_fill<kVector>(to, {}, {}, fill);", kFrom, valid)
                            : fmt::format("copy_async<kVector>(to, {}, {});", kFrom, valid);
  }
  return fmt::format(fmt::runtime(kAsyncCopiesText), place_in_k(plan), copy);
}

std::string loop(const Plan& plan) {
  const char* const text = plan.async == 0 ? (plan.stages == 1 ? kSingleStageLoopText : kDoubleStageLoopText)
                                           : (plan.fragment_buffers == 2 ? kAsyncDoubleLoopText : kAsyncLoopText);
  return fmt::format(fmt::runtime(text), plan.unroll);
}

std::string functions(const Workload& workload, const Plan& plan) {
  std::string text = mma::multiply_source(plan.depth, workload.inputs[0].dtype, workload.weight_dtype);
  text += mma::load_matrices_source();
  if (plan.async != 0) text += mma::copy_async_source();
  text += mma::warp_tile_source();
  text += guarded_load_source();
  if (plan.split_k > 1) text += mma::split_sums_source();
  text += vector_access_source();
  return text + requantizer_source(workload);
}

std::string epilogue(const Workload& workload, const Plan& plan) {
  std::string text;
  if (plan.shape.has_row_sums) text += zero_points_source(workload) + std::string(mma::subtract_zero_points_source());
  if (plan.warps_k > 1) text += mma::add_slices_source();
  if (plan.split_k > 1) {
    text += "  const int tile_index = blockIdx.y * gridDim.x + blockIdx.x;\n";
    text += mma::add_splits_source();
  }
  text += finish_source(workload);
  text += plan.staged_epilogue != 0 ? mma::staged_epilogue_source(plan.shape.has_residual)
                                    : std::string(mma::direct_epilogue_source());
  if (pad_lanes(workload) > 0 && !plan.shape.tiles_write_pads) text += kOtherPadsText;
  return text;
}

}  // namespace

std::vector<KernelArgument> arguments_of(const Workload& workload, const Plan& plan) {
  std::vector<KernelArgument> arguments = product_arguments(workload);
  if (plan.split_k > 1) {
    KernelArgument workspace{KernelArgument::Role::workspace, 0, "", DType::s32};
    workspace.bytes = mma::workspace_bytes(plan.tiles, plan.split_k, plan.tile_m, plan.tile_n);
    KernelArgument counters{KernelArgument::Role::counters, 0, "", DType::s32};
    counters.bytes = mma::counter_bytes(plan.tiles);
    arguments.push_back(workspace);
    arguments.push_back(counters);
  }
  return arguments;
}

KernelSource emit_kernel(const Workload& workload, const Config& config) {
  const Plan plan(Shape(workload), knobs_of(config));
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = arguments_of(workload, plan);
  kernel.launch.grid = {static_cast<uint32_t>(plan.m_tiles * plan.n_tiles), static_cast<uint32_t>(plan.shape.groups),
                        static_cast<uint32_t>(plan.split_k)};
  kernel.launch.block = {static_cast<uint32_t>(plan.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + shape_constants(workload, plan) + plan_constants(plan);
  text += output_constants(workload, plan.store_lanes);
  text += tap_span(workload) > std::numeric_limits<int32_t>::max() ? "typedef long long TapOffset;\n"
                                                                   : "typedef int TapOffset;\n";
  text += functions(workload, plan);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads, plan.ctas_per_sm);
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch, 128);
  text += tile_order(plan) + fill_source(workload) + requantizer_of_arguments(workload);
  text += kPlacesText + rows(plan) + kDestinationsText + copies(plan) + kMultiplyText + loop(plan);
  text += epilogue(workload, plan) + "}\n";
  return kernel;
}

}  // namespace warpwright::mma_gemm
