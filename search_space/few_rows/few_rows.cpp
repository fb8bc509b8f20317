// What the families for products with few rows share.
#include "search_space/few_rows/few_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "search_space/arithmetic.h"
#include "search_space/product_epilogue.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::few_rows {

namespace {

constexpr int64_t kMostIndex = std::numeric_limits<int32_t>::max();

}  // namespace

Shape::Shape(const Workload& workload)
    : rows(workload.output.pixels()),
      columns(workload.output.c),
      stored_columns(owns_pad_lanes(workload.output) ? workload.output.pixel_stride : workload.output.c),
      channels(workload.inputs[0].c),
      lane_channels(round_up(channels, kVectorBytes)),
      taps(workload.window.kernel_h * workload.window.kernel_w),
      reduction(taps * lane_channels),
      widest_vector(readable_vector(workload.inputs[0], kVectorBytes)) {
  if (widest_vector < 4) widest_vector = 1;
  const Window& window = workload.window;
  plain = taps == 1 && window.stride_h == 1 && window.stride_w == 1 && window.pad_top == 0 && window.pad_left == 0 &&
          window.pad_bottom == 0 && window.pad_right == 0;
  readable = plain && widest_vector == kVectorBytes;
}

std::optional<std::string> why_unsupported(const Workload& workload, const Target& target, int64_t held_rows) {
  if (workload.kind != OpKind::conv2d && workload.kind != OpKind::dense) return "it is no conv2d or dense";
  if (workload.groups != 1) return "a group has its own rows of x: only one group is taken";
  const Shape shape(workload);
  if (shape.rows > kMostRows) return fmt::format("{} rows are more than {}", shape.rows, kMostRows);
  if (shape.columns > kMostIndex / 4) return "more than 2^29 output channels";
  if (shape.reduction > kMostIndex / 4) return "the reduction exceeds 2^29 bytes";
  if (!shape.readable && held_rows * (shape.reduction + 128) > target.smem_per_block_bytes) {
    return fmt::format("{} rows of {} bytes do not fit shared memory, nor can they be read where they lie", held_rows,
                       shape.reduction);
  }
  return std::nullopt;
}

int64_t partial_sum_bytes(const Cut& cut) { return cut.parts * cut.tile_m * cut.reduce_stride * 4; }

int64_t store_lanes(const Workload& workload, const Shape& shape, int64_t tile_m, int64_t tile_n, int64_t threads) {
  const int64_t most = std::clamp<int64_t>(power_of_two_above(ceil_div(tile_m * tile_n, threads)), 4, 16);
  const TensorForm& y = workload.output;
  const int64_t lanes = common_power_of_two(most, tile_n, y.pixel_stride, y.channel_offset, shape.stored_columns);
  return lanes < 4 ? 1 : lanes;
}

std::string constants(const Workload& workload, const Shape& shape, const Cut& cut) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  SourceConstants constants;
  constants.add("H", x.h).add("W", x.w).add("P", y.h).add("Q", y.w);
  constants.add("Rows", shape.rows).add("StoredColumns", shape.stored_columns);
  constants.add("Channels", shape.channels).add("LaneChannels", shape.lane_channels).add("Reduction", shape.reduction);
  constants.add("KernelW", window.kernel_w).add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left);
  constants.add("Plain", shape.plain ? 1 : 0).add("Vector", shape.widest_vector);
  constants.add("XStride", x.pixel_stride).add("XOffset", x.channel_offset);
  constants.add("Threads", cut.threads).add("TileM", cut.tile_m).add("TileN", cut.tile_n);
  constants.add("MTiles", cut.m_tiles).add("NTiles", cut.n_tiles).add("Parts", cut.parts);
  constants.add("XRowVectors", cut.x_bytes / kVectorBytes).add("XRowBytes", cut.x_row_bytes);
  constants.add("ReduceStride", cut.reduce_stride);
  return constants.text() + output_constants(workload, cut.store_lanes);
}

std::string switches(const Workload& workload, int64_t weight_bytes) {
  return fmt::format("constexpr bool kWeightZeroPoint = {};\ntypedef {} WeightOffset;\n",
                     workload.weight_zero_point != ZeroPointForm::zero,
                     weight_bytes > std::numeric_limits<int32_t>::max() ? "long long" : "int");
}

const char* const kLoadWeightsText = R"(
  auto load_weights = [&](int4 (&to)[kDepth][kWeightVectors], int step) {
    const unsigned char* const from = weights_from + static_cast<WeightOffset>(step) * (kWarpsK * kWarpBytes);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      if (kSteps % kDepth == 0 || step + d < kSteps) {
#pragma unroll
        for (int j = 0; j < kWeightVectors; ++j) {
          to[d][j] = *reinterpret_cast<const int4*>(from + (d * (kWarpsK * kWarpBytes) + j * 512));
        }
      }
    }
  };
)";

const char* const kTilesText = R"(
  const int m_tile = blockIdx.x % kMTiles, n_tile = blockIdx.x / kMTiles;
)";

const char* const kRowVectorText = R"(
  auto row_vector = [&](int (&words)[4], int m, int k) {
    const int tap = k / kLaneChannels, c = k - tap * kLaneChannels;
    int inside = (m < kRows) & (k < kReduction);
    long long pixel = m;
    if constexpr (!kPlain) {
      const int q = m % kQ, p = m / kQ % kP, n = m / (kP * kQ);
      const int h = p * kStrideH - kPadTop + tap / kKernelW * kDilationH;
      const int w = q * kStrideW - kPadLeft + tap % kKernelW * kDilationW;
      inside &= (static_cast<unsigned>(h) < kH) & (static_cast<unsigned>(w) < kW);
      pixel = (static_cast<long long>(n) * kH + h) * kW + w;
    }
    const unsigned long long at = global_address(x) + (pixel * kXStride + (kXOffset + c));
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = fill;
    if constexpr (kVector == 16) {
      load_words(words, at, inside);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (kVector >= 4) {
          int word[1] = {fill};
          load_words(word, at + 4 * i, inside & (c + 4 * i < kChannels));
          words[i] = word[0];
        } else {
          int bytes[4] = {fill & 255, fill & 255, fill & 255, fill & 255};
#pragma unroll
          for (int j = 0; j < 4; ++j) load_byte(bytes[j], at + (4 * i + j), inside & (c + 4 * i + j < kChannels));
          words[i] = pack_codes(bytes[0], bytes[1], bytes[2], bytes[3]);
        }
      }
    }
  };
)";

const char* const kStageRowsText = R"(
  auto stage_rows = [&](unsigned char* to, int first) {
    constexpr int kVectors = kTileM * kXRowVectors, kEach = (kVectors + kThreads - 1) / kThreads;
    constexpr int kBatch = kEach < 4 ? kEach : 4;
#pragma unroll 1
    for (int start = threadIdx.x; start < kVectors; start += kBatch * kThreads) {
      int held[kBatch][4];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int vector = start + i * kThreads, row = vector / kXRowVectors;
        // Beyond the last row of the tile it reads nothing.
        row_vector(held[i], row < kTileM ? m_tile * kTileM + row : kRows, first + vector % kXRowVectors * 16);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int vector = start + i * kThreads;
        if (kVectors % (kBatch * kThreads) == 0 || vector < kVectors) {
          *reinterpret_cast<int4*>(to + vector / kXRowVectors * kXRowBytes + vector % kXRowVectors * 16) =
              make_int4(held[i][0], held[i][1], held[i][2], held[i][3]);
        }
      }
    }
  };
)";

const char* const kSumOfPartsText = R"(
  auto sum_of_parts = [&](int (&total)[kStoreLanes], int row, int column) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      int some[kStoreLanes];
      load_values(some, parts + (part * kTileM + row) * kReduceStride + column);
#pragma unroll
      for (int i = 0; i < kStoreLanes; ++i) total[i] += some[i];
    }
  };
  // Calls each(row, column) for what this thread stores of the tile: kStoreLanes columns from `column` on.
  auto for_each_unit = [&](auto each) {
    constexpr int kRowUnits = kTileN / kStoreLanes;
#pragma unroll 1
    for (int unit = threadIdx.x; unit < kTileM * kRowUnits; unit += kThreads) {
      const int row = unit / kRowUnits, column = unit % kRowUnits * kStoreLanes;
      if (m_tile * kTileM + row < kRows && n_tile * kTileN + column < kStoredColumns) each(row, column);
    }
  };
  auto finish_unit = [&](const int (&total)[kStoreLanes], int row, int column) {
    const int n = n_tile * kTileN + column;
    int bias_of[kStoreLanes];
    float multiplier_of[kStoreLanes];
    load_bias(bias_of, n);
    load_multipliers(multiplier_of, n);
    finish(total, bias_of, multiplier_of, m_tile * kTileM + row, n);
  };
  __syncthreads();
)";

const char* const kFinishPartsText = R"(
  for_each_unit([&](int row, int column) {
    int total[kStoreLanes] = {};
    sum_of_parts(total, row, column);
    finish_unit(total, row, column);
  });
)";

void copy_weights(const Workload& workload, const Shape& shape, const Values& values, int64_t channel, int64_t first,
                  std::byte* to) {
  if (channel < 0 || channel >= shape.columns) return;
  const auto found = values.find("weights");
  if (found == values.end()) throw InternalError("value 'weights' is missing");
  const auto pad = static_cast<std::byte>(weight_zero_point_of(workload, values, channel));
  const int64_t tap = first / shape.lane_channels, c = first % shape.lane_channels;
  const int64_t real = tap < shape.taps ? std::min(kVectorBytes, shape.channels - c) : 0;
  std::fill(to, to + kVectorBytes, pad);
  if (real > 0) std::copy_n(found->second.bytes.data() + (channel * shape.taps + tap) * shape.channels + c, real, to);
}

}  // namespace warpwright::few_rows
