// CUDA C++ of one real_gemm kernel: constants of the plan in front of a fixed text.
#include <fmt/format.h>

#include "search_space/mma/instructions.h"
#include "search_space/real_gemm/plan.h"
#include "search_space/real_gemm/text.h"
#include "search_space/source_text.h"

namespace warpwright::real_gemm {

namespace {

constexpr char kEntry[] = "real_gemm";

using Role = KernelArgument::Role;

/// How the text of one operand is put together.
struct OperandText {
  std::string letter, capital;  // `a`, `A`
  std::string places;           // declarations before the loop
  std::string row;              // statements for copies number r, i = 0, 1, ...
  std::string guard;            // whether the copy (r, i) belongs to this thread
  std::string from, to, valid;  // of that copy; `valid` is empty where all are
  std::string advance;          // to the next tile
};

bool has_masks(const Plan& plan) { return plan.shape.may_leave_image && plan.shape.taps <= 32; }
bool has_coordinates(const Plan& plan) { return plan.shape.may_leave_image && plan.shape.taps > 32; }

std::string shape_constants(const Workload& workload, const Plan& plan) {
  const Shape& shape = plan.shape;
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  SourceConstants constants;
  constants.add("Matrices", shape.matrices).add("Rows", shape.rows).add("Columns", shape.columns);
  constants.add("Depth", shape.depth);
  // y is [block][matrix][row][column of the block]: blocks are the images of a convolution.
  constants.add("BlockColumns", shape.convolution ? y.h * y.w : shape.columns);
  if (!shape.convolution) return constants.add("KStride", shape.columns).text();
  const Window& window = workload.window;
  constants.add("H", x.h).add("W", x.w).add("P", y.h).add("Q", y.w).add("KStride", x.h * x.w);
  constants.add("GroupChannels", x.c / workload.groups);
  constants.add("KernelH", window.kernel_h).add("KernelW", window.kernel_w).add("Taps", shape.taps);
  constants.add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  return constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left).text();
}

void add_operand(SourceConstants& constants, const std::string& capital, const OperandTile& tile, int64_t place) {
  constants.add(capital + "Place", place).add(capital + "TileBytes", tile.bytes).add(capital + "Stride", tile.stride);
  constants.add(capital + "Units", tile.units).add(capital + "UnitLoads", tile.unit_loads);
  constants.add(capital + "Lanes", tile.lanes).add(capital + "Step", tile.step).add(capital + "Loads", tile.loads);
  constants.add(capital + "Words", tile.words);
}

std::string plan_constants(const Plan& plan) {
  SourceConstants constants;
  constants.add("Threads", plan.threads).add("ThreadM", plan.thread_m).add("ThreadN", plan.thread_n);
  constants.add("LanesM", plan.lanes_m).add("LanesN", plan.lanes_n).add("WarpsM", plan.warps_m);
  constants.add("ThreadsM", plan.threads_m).add("ThreadsN", plan.threads_n);
  constants.add("TileM", plan.tile_m).add("TileN", plan.tile_n).add("TileK", plan.tile_k);
  constants.add("MTiles", plan.m_tiles).add("NTiles", plan.n_tiles).add("KTiles", plan.k_tiles);
  constants.add("FullTiles", plan.shape.depth / plan.tile_k).add("Tail", plan.tail);
  constants.add("RunM", plan.run_m).add("RunN", plan.run_n).add("RunK", plan.run_k).add("StoreLanes", plan.store_lanes);
  constants.add("Stages", plan.stages).add("StageBytes", plan.stage_bytes);
  add_operand(constants, "A", plan.a, 0);
  add_operand(constants, "B", plan.b, plan.a.bytes);
  return constants.text();
}

OperandText packed_operand(const std::string& letter, const std::string& capital) {
  const bool is_a = letter == "a";
  OperandText text;
  text.letter = letter, text.capital = capital;
  text.places = fmt::format(fmt::runtime(kPackedText), letter, capital, is_a ? "M" : "N", is_a ? "m" : "n");
  text.guard = fmt::format("k{0}Units % kThreads == 0 || threadIdx.x + r * kThreads < k{0}Units", capital);
  text.from = letter + "_at + r * (kThreads * 16)";
  text.to = letter + "_to + stage + r * (kThreads * 16)";
  text.advance = fmt::format("    {}_at += k{}TileBytes;\n", letter, capital);
  return text;
}

OperandText row_operand(const std::string& letter, const std::string& capital, const Plan& plan) {
  const bool is_a = letter == "a";
  const char* const tile = is_a ? "M" : "N";
  OperandText text;
  text.letter = letter, text.capital = capital;
  text.places = fmt::format(fmt::runtime(kRowsText), letter, capital, is_a ? "x" : "residual", is_a ? "m" : "n", tile,
                            is_a ? "kRows" : "kColumns");
  text.guard = fmt::format("kTile{0} % k{2}Step == 0 || {1}_row + r * k{2}Step < kTile{0}", tile, letter, capital);
  text.from = fmt::format("{0}_at[r] + i * (k{1}Lanes * k{1}Words * 4)", letter, capital);
  text.to = fmt::format("{0}_to + stage + float_at<k{1}Stride>(i * k{1}Lanes * k{1}Words, r * k{1}Step) * 4", letter,
                        capital);
  if (plan.tail != 0) {
    text.valid = fmt::format("k_tile * kTileK + {}_k + i * k{}Lanes * k{}Words < kDepth", letter, capital, capital);
  }
  text.advance = fmt::format("#pragma unroll\n    for (int r = 0; r < k{1}Loads; ++r) {0}_at[r] += kTileK * 4;\n",
                             letter, capital);
  return text;
}

/// Statements that give `offset`, from a column to its float of k, and what tells validity.
std::string place_in_k(const Plan& plan) {
  std::string text = "      const unsigned k = k_tile * kTileK + b_k + r * kBStep;\n";
  if (plan.shape.taps == 1) {
    text += "      const int offset = k * kKStride;\n";
    if (has_masks(plan)) text += "      constexpr unsigned tap = 0;\n";
  } else {
    text +=
        "      const unsigned c = k / kTaps, tap = k - c * kTaps;\n"
        "      const int tap_h = tap / kKernelW * kDilationH, tap_w = tap % kKernelW * kDilationW;\n"
        "      const int offset = c * kKStride + tap_h * kW + tap_w;\n";
  }
  if (plan.tail != 0) text += "      const unsigned within = k < kDepth;\n";
  if (has_masks(plan)) text += fmt::format("      const unsigned bit = {} << tap;\n", plan.tail != 0 ? "within" : "1u");
  return text;
}

std::string column_validity(const Plan& plan) {
  if (has_masks(plan)) return "column_taps[i] & bit";
  if (!has_coordinates(plan)) return plan.tail != 0 ? "within" : "";
  const std::string inside =
      "(static_cast<unsigned>(column_h[i] + tap_h) < kH) & (static_cast<unsigned>(column_w[i] + tap_w) < kW)";
  return plan.tail != 0 ? "within & " + inside : inside;
}

OperandText column_operand(const std::string& letter, const std::string& capital, const Plan& plan) {
  OperandText text;
  text.letter = letter, text.capital = capital;
  if (plan.shape.convolution) {
    if (has_masks(plan)) text.places += "  unsigned column_taps[kBUnitLoads];\n";
    if (has_coordinates(plan)) text.places += "  int column_h[kBUnitLoads], column_w[kBUnitLoads];\n";
    text.places += kPixelColumnsText;
    if (has_masks(plan)) text.places += tap_masks_source("column_taps");
    if (has_coordinates(plan)) text.places += kPixelCoordinatesText;
    text.places += "  }\n";
  } else {
    text.places += kMatrixColumnsText;
  }
  text.row = place_in_k(plan);
  text.guard += "kTileK % kBStep == 0 || b_k + r * kBStep < kTileK";
  text.from += "b_at[i] + static_cast<long long>(offset) * 4";
  text.to += "b_to + stage + float_at<kBStride>(r * kBStep, i * kBLanes * kBWords) * 4";
  text.valid = column_validity(plan);
  return text;
}

OperandText operand_text(Source source, const std::string& letter, const std::string& capital, const Plan& plan) {
  if (source == Source::packed) return packed_operand(letter, capital);
  if (source == Source::rows) return row_operand(letter, capital, plan);
  return column_operand(letter, capital, plan);
}

std::string nest(const OperandText& text, const std::string& row, const std::string& copy) {
  return fmt::format(fmt::runtime(kCopiesText), text.capital, row, text.guard, copy);
}

/// copy_tile, or load_tile and store_tile.
std::string copies(const Plan& plan) {
  const OperandText operands[] = {operand_text(plan.shape.a, "a", "A", plan),
                                  operand_text(plan.shape.b, "b", "B", plan)};
  std::string places, held, copy, load, store, advance;
  for (const OperandText& text : operands) {
    places += text.places;
    advance += text.advance;
    const std::string valid = text.valid.empty() ? "" : ", " + text.valid;
    copy += nest(text, text.row,
                 fmt::format("copy_async<k{}Words * 4>({}, {}{});", text.capital, text.to, text.from, valid));
    const std::string slot = text.letter + "_held[r][i]";
    held += fmt::format("  int {0}_held[k{1}Loads][k{1}UnitLoads][k{1}Words];\n", text.letter, text.capital);
    load += nest(text, text.row,
                 fmt::format("for (int w = 0; w < k{0}Words; ++w) {1}[w] = 0;\n          load_words({1}, {2}, {3});",
                             text.capital, slot, text.from, text.valid.empty() ? "1" : text.valid));
    store += nest(text, "", fmt::format("store_words({}, {});", text.to, slot));
  }
  advance += "    ++k_tile;\n";
  if (plan.async != 0) return places + "  auto copy_tile = [&](unsigned stage) {" + copy + advance + "  };\n";
  return places + held + "  auto load_tile = [&]() {" + load + advance + "  };\n" +
         "  auto store_tile = [&](unsigned stage) {" + store + "  };\n";
}

std::string tile_order(const Plan& plan) {
  const bool columns_first = plan.columns_first != 0;
  return fmt::format(
      "  const int {0}_tile = blockIdx.x % k{1}Tiles, {2}_tile = blockIdx.x / k{1}Tiles % k{3}Tiles;\n"
      "  const int matrix = blockIdx.x / (kMTiles * kNTiles);\n",
      columns_first ? "n" : "m", columns_first ? "N" : "M", columns_first ? "m" : "n", columns_first ? "M" : "N");
}

std::string epilogue(const Plan& plan) {
  std::string of_rows, of_columns, output = "sums[i][j + l]";
  if (plan.shape.bias && plan.shape.convolution) {
    of_rows =
        "  float bias_of[kThreadM];\n#pragma unroll\n"
        "  for (int i = 0; i < kThreadM; i += kRunM) {\n"
        "    load_floats<kRunM>(bias_of + i, bias + (matrix * kMTiles + m_tile) * kTileM + i * kThreadsM + thread_m * "
        "kRunM);\n  }\n";
    output = "__fadd_rn(sums[i][j + l], bias_of[i])";
  } else if (plan.shape.bias) {
    of_columns =
        "      float bias_of[kStoreLanes];\n"
        "      load_floats<kStoreLanes>(bias_of, bias + column);\n";
    output = "__fadd_rn(sums[i][j + l], bias_of[l])";
  }
  return fmt::format(fmt::runtime(kEpilogueText), of_rows, of_columns, output);
}

std::vector<KernelArgument> arguments_of(const Workload& workload) {
  std::vector<KernelArgument> arguments;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    arguments.push_back({Role::input, static_cast<int>(i), "", DType::f32});
  }
  if (workload.inputs.size() == 1) arguments.push_back({Role::constant, 0, "weights", DType::f32});
  if (workload.epilogue.bias) arguments.push_back({Role::constant, 0, "bias", DType::f32});
  arguments.push_back({Role::output, 0, "", DType::f32});
  return arguments;
}

}  // namespace

KernelSource emit_kernel(const Workload& workload, const Config& config) {
  const Plan plan(Shape(workload), knobs_of(config));
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = arguments_of(workload);
  kernel.launch.grid = {static_cast<uint32_t>(plan.ctas), 1, 1};
  kernel.launch.block = {static_cast<uint32_t>(plan.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + shape_constants(workload, plan) + plan_constants(plan);
  text += mma::load_matrices_source();
  text += plan.async != 0 ? mma::copy_async_source() : std::string_view();
  text += guarded_load_source();
  text += kFunctionsText;
  text += fmt::format(fmt::runtime(plan.run_k == 1 ? kMultiplyText : kMultiplyRunsText), plan.unroll / plan.run_k);
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads, plan.ctas_per_sm);
  text += shared_memory_declaration(plan.smem_bytes, kernel.launch);
  text += tile_order(plan) + kPlacesText + copies(plan);
  text += plan.async != 0 ? kAsyncLoopText : plan.stages == 1 ? kSingleStageLoopText : kDoubleStageLoopText;
  text += epilogue(plan) + "}\n";
  return kernel;
}

}  // namespace warpwright::real_gemm
