// CUDA C++ of one mma_matmul kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include "search_space/arithmetic.h"
#include "search_space/mma/instructions.h"
#include "search_space/mma/split_sums.h"
#include "search_space/mma/warp_tile.h"
#include "search_space/mma_matmul/plan.h"
#include "search_space/mma_matmul/text.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"

namespace warpwright::mma_matmul {

namespace {

constexpr char kEntry[] = "mma_matmul";

using Role = KernelArgument::Role;

std::string shape_constants(const Workload& workload, const Plan& plan) {
  const TensorForm &a = workload.inputs[0], &b = workload.inputs[1];
  const Shape& shape = plan.shape;
  SourceConstants constants;
  constants.add("Rows", shape.rows).add("Columns", shape.columns).add("Depth", shape.depth);
  constants.add("StoredColumns", shape.stored_columns);
  constants.add("AStride", a.pixel_stride).add("AOffset", a.channel_offset).add("AVector", shape.a.vector);
  constants.add("BStride", b.pixel_stride).add("BOffset", b.channel_offset);
  constants.add("RowSums", shape.has_row_sums ? 1 : 0).add("ColumnSums", shape.has_column_sums ? 1 : 0);
  constants.add("HasTail", plan.has_tail() ? 1 : 0);
  return constants.text();
}

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("Threads", plan.threads).add("WarpM", plan.warp_m).add("WarpN", plan.warp_n);
  constants.add("WarpsM", plan.warps_m).add("WarpsN", plan.warps_n);
  constants.add("TileM", plan.tile_m).add("TileN", plan.tile_n).add("TileK", plan.tile_k);
  constants.add("KTiles", plan.k_tiles).add("SplitTiles", plan.split_tiles).add("Splits", plan.split_k);
  constants.add("Steps", plan.steps).add("Stages", plan.stages).add("StageBytes", plan.stage_bytes);
  constants.add("APlace", 0).add("BPlace", plan.a_tile_bytes).add("ALoads", plan.a_loads).add("BLoads", plan.b_loads);
  constants.add("ARowVectors", plan.tile_k / plan.shape.a.vector).add("ARowStep", plan.a_row_step);
  if (plan.a_is_held()) constants.add("ABytewise", plan.shape.a.bytewise ? 1 : 0);
  if (plan.shape.transposed) {
    constants.add("BVector", plan.shape.b.vector);
    constants.add("BRowVectors", plan.tile_k / plan.shape.b.vector).add("BRowStep", plan.b_row_step);
    if (plan.b_is_held()) constants.add("BBytewise", plan.shape.b.bytewise ? 1 : 0);
  } else {
    constants.add("BUnits", plan.b_units()).add("BytewiseColumns", plan.shape.bytewise_columns ? 1 : 0);
  }
  constants.add("FragmentBuffers", plan.fragment_buffers).add("Run", plan.run);
  if (plan.staged_epilogue != 0) constants.add("StagedStride", plan.staged_stride);
  return constants.text();
}

/// m_tile and n_tile of blockIdx.x: bands of raster_group tiles along the outer axis, the inner axis within a band.
std::string tile_order(const Plan& plan) {
  const bool columns_first = plan.columns_first != 0;
  const char* const inner = columns_first ? "n_tile" : "m_tile";
  const char* const outer = columns_first ? "m_tile" : "n_tile";
  const int64_t inner_tiles = columns_first ? plan.n_tiles : plan.m_tiles;
  const int64_t outer_tiles = columns_first ? plan.m_tiles : plan.n_tiles;
  const int64_t band = plan.raster_group * inner_tiles;
  return fmt::format(
      "  const unsigned band = blockIdx.x / {0}u, in_band = blockIdx.x % {0}u;\n"
      "  const unsigned band_width = min({1}u, {2}u - band * {1}u);\n"
      "  const int {3} = in_band / band_width, {4} = band * {1}u + in_band % band_width;\n",
      band, plan.raster_group, outer_tiles, inner, outer);
}

std::string copies(const Plan& plan) {
  const char* const a_row = "first_pixel + min(m_tile * kTileM + row, kRows - 1)";
  const char* const b_row = "batch * kColumns + min(n_tile * kTileN + column_of<kRun>(row), kColumns - 1)";
  std::string text = fmt::format(fmt::runtime(kRowsText), "a", "A", "x", a_row, "M");
  text += fmt::format(fmt::runtime(plan.a_is_held() ? kRowsHeldText : kRowsAsyncText), "a", "A");
  if (!plan.shape.transposed) return text + kColumnsText;
  text += fmt::format(fmt::runtime(kRowsText), "b", "B", "b", b_row, "N");
  return text + fmt::format(fmt::runtime(plan.b_is_held() ? kRowsHeldText : kRowsAsyncText), "b", "B");
}

std::string loop(const Plan& plan) {
  std::string async, loads, stores;
  const auto add = [&](bool held, const char* operand) {
    if (held) {
      loads += fmt::format("load_{}(); ", operand);
      stores += fmt::format("store_{}(stage); ", operand);
    } else {
      async += fmt::format("copy_{}(stage); ", operand);
    }
  };
  add(plan.a_is_held(), "a");
  add(plan.b_is_held(), "b");
  return fmt::format(fmt::runtime(kLoopText), async, loads, stores, plan.async != 0 ? "commit_copies();" : "",
                     plan.async != 0 ? "wait_copies<kStages - 2>();" : "");
}

std::string functions(const Workload& workload, const Plan& plan) {
  std::string text = mma::multiply_source(plan.depth, workload.inputs[0].dtype, workload.inputs[1].dtype);
  text += mma::load_matrices_source();
  if (plan.async != 0) text += mma::copy_async_source();
  text += mma::warp_tile_source();
  text += guarded_load_source();
  if (plan.split_k > 1) text += mma::split_sums_source();
  text += vector_access_source();
  return text + kFunctionsText + requantizer_source(epilogue_of(workload));
}

std::string epilogue(const Workload& workload, const Plan& plan) {
  std::string text;
  const auto subtract = [&](const char* product) { text += fmt::format(fmt::runtime(kZeroPointsText), product); };
  if (plan.shape.has_row_sums) subtract("b_zero_point * row_sums[i][e / 2 * 2]");
  if (plan.shape.has_column_sums) subtract("a_zero_point * column_sums[j][e % 2]");
  if (plan.split_k > 1) {
    text += "  const int tile_index = blockIdx.y * gridDim.x + blockIdx.x;\n";
    text += mma::add_splits_source();
  }
  text += finish_source(epilogue_of(workload));
  return text +
         (plan.staged_epilogue != 0 ? mma::staged_epilogue_source(false) : std::string(mma::direct_epilogue_source()));
}

}  // namespace

std::vector<KernelArgument> arguments_of(const Workload& workload, const Plan& plan) {
  std::vector<KernelArgument> arguments{{Role::input, 0, "", workload.inputs[0].dtype},
                                        {Role::input, 1, "", workload.inputs[1].dtype}};
  if (plan.shape.has_column_sums) arguments.push_back({Role::scalar, 0, "a_zero_point", DType::s32});
  if (plan.shape.has_row_sums) arguments.push_back({Role::scalar, 0, "b_zero_point", DType::s32});
  for (const KernelArgument& argument : product_arguments(epilogue_of(workload))) {
    if (argument.role != Role::input && argument.name != "weights") arguments.push_back(argument);
  }
  if (plan.split_k > 1) {
    arguments.push_back(
        {Role::workspace, 0, "", DType::s32, mma::workspace_bytes(plan.tiles, plan.split_k, plan.tile_m, plan.tile_n)});
    arguments.push_back({Role::counters, 0, "", DType::s32, mma::counter_bytes(plan.tiles)});
  }
  return arguments;
}

KernelSource emit_kernel(const Workload& workload, const Config& config) {
  const Plan plan(Shape(workload), knobs_of(config));
  const Workload dense = epilogue_of(workload);
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = arguments_of(workload, plan);
  kernel.launch.grid = {static_cast<uint32_t>(plan.m_tiles * plan.n_tiles), static_cast<uint32_t>(plan.shape.batch),
                        static_cast<uint32_t>(plan.split_k)};
  kernel.launch.block = {static_cast<uint32_t>(plan.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + shape_constants(workload, plan) + plan_constants(plan);
  text += output_constants(dense, plan.store_lanes);
  text += functions(workload, plan);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads, plan.ctas_per_sm);
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch, 128);
  text += "  const unsigned char* const b = residual;\n";  // as kernel_signature calls the second input
  text += tile_order(plan) + requantizer_of_arguments(dense);
  text += kPlacesText + copies(plan) + kMultiplyText + loop(plan);
  text += epilogue(workload, plan) + "}\n";
  return kernel;
}

}  // namespace warpwright::mma_matmul
